"""The verdicts in a journal, without the results: of many runs, in little time."""

from __future__ import annotations

from pathlib import Path
from typing import Any, get_args

from rightcall.errors import InputError, StoreError
from rightcall.values.decoding import load_json
from rightcall.values.results import Verdict

from ._journal import damage_reported_last, sealed_lines
from ._summaries import JOURNAL_FILE, line_head

_VERDICTS: dict[str, Verdict] = {verdict: verdict for verdict in get_args(Verdict)}


def read_verdicts(folder: Path) -> dict[tuple[str, int], Verdict]:
    """Return the verdict of each case and repeat. The last line of each counts, and only sealed lines.

    Raises:
        StoreError: the journal cannot be read, a line in it is not a result, or another program has changed it.
    """
    found: dict[tuple[str, int], Verdict] = {}
    lines = sealed_lines(folder)
    for number, line in enumerate(lines, start=1):
        with damage_reported_last(lines):
            case_id, repeat, verdict = _quickly_read(line) or _decoded(line, f"{folder / JOURNAL_FILE}:{number}")
        found[case_id, repeat] = verdict
    return found


def _quickly_read(line: bytes) -> tuple[str, int, Verdict] | None:
    head = line_head(line)
    if head is None or head[2] not in _VERDICTS:
        return None
    return head[0], head[1], _VERDICTS[head[2]]


def _decoded(line: bytes, where: str) -> tuple[str, int, Verdict]:
    try:
        fields: Any = load_json(line)
        case_id, repeat, verdict = fields["case_id"], fields["repeat"], _VERDICTS[fields["verdict"]]
        if not isinstance(case_id, str) or not isinstance(repeat, int):
            raise InputError("not a line of a run's journal")
    except (InputError, LookupError, TypeError) as problem:
        raise StoreError(f"{where}: this line is damaged ({problem}); remove it, and its case is run again") from None
    return case_id, repeat, verdict
