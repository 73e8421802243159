"""Paths into JSON values: `$.flights[*].id`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

import msgspec

from rightcall.errors import ExpectationError, shown
from rightcall.limits import Limits

_STEP = re.compile(
    r"""\.\.(?P<below>[^.\[\]*\s"']+)
    | \.(?P<key>[^.\[\]*\s"']+)
    | \[\s*"(?P<double>[^"]*)"\s*\] | \[\s*'(?P<single>[^']*)'\s*\]
    | \[\s*(?P<index>[0-9]{1,9})\s*\]
    | (?P<every>\[\s*\*\s*\] | \.\*)""",
    re.VERBOSE,
)

Step: TypeAlias = tuple[Literal["key", "index", "every", "below"], Any]


class ValuePath(msgspec.Struct, frozen=True):
    """A path to some of the values inside of a JSON value."""

    written: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, written: Any, where: str, limits: Limits) -> ValuePath:
        """The path that a text says.

        Raises:
            ExpectationError: it is not a path, or too long.
        """
        if not isinstance(written, str) or not written.startswith("$"):
            raise ExpectationError(f"{where} takes a path such as $.flights[*].id, not {shown(written)}")
        if len(written) > limits.pattern_length:
            raise ExpectationError(f"{where}: a path of {len(written):,} characters; at most {limits.pattern_length:,}")
        steps: list[Step] = []
        place = 1
        while place < len(written):
            found = _STEP.match(written, place)
            if found is None:
                raise ExpectationError(
                    f"{where}: {shown(written[place:])} in the path {shown(written)} is not a step; "
                    'a step is .key, ["key"], [0], [*], .* or ..key'
                )
            steps.append(_step(found))
            place = found.end()
        return cls(written, tuple(steps))

    def values_in(self, value: Any) -> list[Any]:
        """The values at this path, in the order of the document."""
        found = [value]
        for kind, wanted in self.steps:
            if kind == "below":
                found = list(_below(found, wanted))
            elif kind == "every":
                found = [item for each in found for item in _children(each)]
            elif kind == "key":
                found = [each[wanted] for each in found if isinstance(each, dict) and wanted in each]
            else:
                found = [each[wanted] for each in found if isinstance(each, list) and wanted < len(each)]
        return found


def _step(found: re.Match[str]) -> Step:
    if found["below"] is not None:
        return "below", found["below"]
    if found["index"] is not None:
        return "index", int(found["index"])
    if found["every"] is not None:
        return "every", None
    return "key", next(found[name] for name in ("key", "double", "single") if found[name] is not None)


def _below(starts: list[Any], key: Any) -> Iterator[Any]:
    """The values that have a key, anywhere inside. Each part is walked once, even where one start is inside another."""
    seen: set[int] = set()
    waiting = list(reversed(starts))
    while waiting:
        value = waiting.pop()
        if not isinstance(value, (dict, list)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict) and key in value:
            yield value[key]
        waiting.extend(reversed(_children(value)))


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
