"""The verdicts in a journal, without the results: of many runs, in little time."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, get_args

from rightcall.errors import InputError, StoreError
from rightcall.values.decoding import load_json
from rightcall.values.results import Verdict

from ._journal import FILE, damage_told_last, sealed_lines

_HEAD = re.compile(
    rb'\{"digest": "[^"\\]*", "case_id": "([^"\\]*)((?:\\.[^"\\]*)*)", "repeat": (\d{1,9}), "verdict": "(\w+)"'
)
"""How every line begins that Rightcall wrote: what is wanted stands before the result, which may be long."""
_VERDICTS: dict[str, Verdict] = {verdict: verdict for verdict in get_args(Verdict)}


def read_verdicts(folder: Path) -> dict[tuple[str, int], Verdict]:
    """The verdict of each case and repeat. Of several lines the last one counts, and what is not sealed is left out.

    Raises:
        StoreError: the journal cannot be read, a line in it is not a result, or another program has changed it.
    """
    found: dict[tuple[str, int], Verdict] = {}
    lines = sealed_lines(folder)
    for number, line in enumerate(lines, start=1):
        with damage_told_last(lines):
            case_id, repeat, verdict = _told(line) or _decoded(line, f"{folder / FILE}:{number}")
        found[case_id, repeat] = verdict
    return found


def _told(line: bytes) -> tuple[str, int, Verdict] | None:
    """What the beginning of a line says, where it is as we write it and without escapes."""
    head = _HEAD.match(line)
    if head is None or head[2] or not head[1].isascii() or (verdict := head[4].decode()) not in _VERDICTS:
        return None
    return head[1].decode(), int(head[3]), _VERDICTS[verdict]


def _decoded(line: bytes, where: str) -> tuple[str, int, Verdict]:
    try:
        fields: Any = load_json(line)
        case_id, repeat, verdict = fields["case_id"], fields["repeat"], _VERDICTS[fields["verdict"]]
        if not isinstance(case_id, str) or not isinstance(repeat, int):
            raise InputError("not a line of a run's journal")
    except (InputError, LookupError, TypeError) as problem:
        raise StoreError(
            f"{where}: this line is damaged ({problem}); take it out, and what it told is run again"
        ) from None
    return case_id, repeat, verdict
