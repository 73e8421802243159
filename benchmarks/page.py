"""The figures as a page of the documents, section by section, and their ratios as data."""

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from .environments import ROOT
from .rounds import Pace
from .table import Line

PAGE = ROOT / "docs" / "explanation" / "speed.md"
_HEADER = ("figure", "details", "ours", "peer or limit", "ratio", "target", "")
_QUIET = 0.5
"""The load, for each core, up to which a machine is quiet: then times say something, too, and not only ratios."""


def write_page(sections: Mapping[str, Sequence[Line]], versions: Sequence[str], pace: Pace) -> None:
    """Replace the tables of these sections; those of others stay as they were measured last."""
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in sections.items():
        table = "\n".join([_measured(versions, pace), "", *_rows(lines)])
        begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
        block = f"{begin}\n{table}\n{end}"
        before, found, rest = text.partition(begin)
        text = before + block + rest.partition(end)[2] if found else f"{text.rstrip()}\n\n## {name}\n\n{block}\n"
    PAGE.write_text(text, encoding="utf-8")


def ratios_of(sections: Mapping[str, Sequence[Line]]) -> dict[str, list[object]]:
    """The ratio of each figure that has a target, and whether more of it is better."""
    return {
        f"{name}: {line.figure.strip()}, {line.details}": [line.ratio, line.sense]
        for name, lines in sections.items()
        for line in lines
        if line.ratio is not None and line.bound is not None
    }


def _measured(versions: Sequence[str], pace: Pace) -> str:
    load = os.getloadavg()[0] / (os.cpu_count() or 1)
    machine = "a quiet machine" if load <= _QUIET else "a busy machine, so only ratios count"
    day = datetime.now(UTC).date().isoformat()
    return f"{day}, {machine}, median of {pace.rounds} rounds: {', '.join(versions)}."


def _rows(lines: Sequence[Line]) -> list[str]:
    rows = [_HEADER, tuple(["---"] * len(_HEADER)), *[line.cells() for line in lines]]
    return [f"| {' | '.join([cell.strip().replace('|', '/') for cell in row])} |" for row in rows]
