"""The table that is printed: one line per figure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

HEADER = ("figure", "details", "ours", "peer or limit", "ratio", "target", "")
_RIGHT_ALIGNED = (2, 3, 4)


@dataclass(frozen=True)
class Line:
    """One figure. `ratio` is judged against `bound`; without a bound the line only informs."""

    figure: str
    details: Literal["read", "unread", "–"]
    ours: str
    other: str
    ratio: float | None = None
    target: str = ""
    bound: float | None = None
    sense: Literal["at least", "at most"] = "at most"

    @property
    def missed(self) -> bool:
        if self.ratio is None or self.bound is None:
            return False
        return self.ratio < self.bound if self.sense == "at least" else self.ratio > self.bound

    def cells(self) -> tuple[str, ...]:
        verdict = "" if self.bound is None else "MISSED" if self.missed else "ok"
        ratio = "" if self.ratio is None else number(self.ratio)
        return (self.figure, self.details, self.ours, self.other, ratio, self.target, verdict)


def faster(figure: str, read: bool, ours: float, peer: float, times: float) -> Line:
    """A peer that we beat by a factor; the ratio says how many times faster we are."""
    return Line(
        figure,
        _word(read),
        seconds(ours),
        seconds(peer),
        peer / ours,
        f"≥ {number(times)} ×",
        times,
        "at least",
    )


def within(figure: str, read: bool, ours: float, other: float, times: float) -> Line:
    """Something we may take so many times as long as; the ratio is our time over its."""
    return Line(figure, _word(read), seconds(ours), seconds(other), ours / other, f"≤ {number(times)} ×", times)


def under(figure: str, read: bool | None, ours: float, limit: float) -> Line:
    """A limit in seconds; the ratio is the share of it that we use."""
    text = seconds(limit)
    return Line(figure, "–" if read is None else _word(read), seconds(ours), text, ours / limit, f"≤ {text}", 1.0)


def seconds(value: float) -> str:
    """A time in the unit in which it has one to three digits before the point."""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("µs", 1e-6)):
        if value >= size:
            return f"{number(value / size)} {unit}"
    return f"{number(value / 1e-9)} ns"


def number(value: float) -> str:
    """A number with three significant digits, or all digits before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def render(lines: Sequence[Line]) -> str:
    """The lines as plain text in columns."""
    rows = [HEADER, *(line.cells() for line in lines)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADER))]
    ruler = tuple("-" * width for width in widths)
    return "\n".join(_row(row, widths) for row in [rows[0], ruler, *rows[1:]])


def _row(cells: Iterable[str], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column in _RIGHT_ALIGNED else cell.ljust(width)
        for column, (cell, width) in enumerate(zip(cells, widths, strict=True))
    )
    return "  ".join(padded).rstrip()


def _word(read: bool) -> Literal["read", "unread"]:
    return "read" if read else "unread"
