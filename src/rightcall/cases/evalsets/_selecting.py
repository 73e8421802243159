"""Which cases of an eval set are meant."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from rightcall.errors import InputError, nearest

from ._cases import Case


def selected(cases: Sequence[Case], globs: Sequence[str], tags: Sequence[str]) -> list[Case]:
    """The cases whose id matches one of the globs, if there are any, and that have one of the tags, likewise.

    Raises:
        InputError: a glob or a tag is nothing that any case has, or no case has both.
    """
    for glob in globs:
        if not any(fnmatchcase(case.id, glob) for case in cases):
            raise InputError(f"no case matches {glob!r:.200}; {nearest(glob, [case.id for case in cases[:50]])}")
    known = {tag for case in cases for tag in case.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(f"no case has the tag {tag!r:.200}; {nearest(tag, sorted(known))}")
    chosen = [
        case
        for case in cases
        if (not globs or any(fnmatchcase(case.id, glob) for glob in globs)) and (not tags or set(tags) & set(case.tags))
    ]
    if not chosen:
        raise InputError(f"no case matches {', '.join((*globs, *tags))} together")
    return chosen
