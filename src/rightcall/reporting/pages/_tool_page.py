"""The page of one tool in one run: every call of it, what went wrong, and how long it took."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rightcall.reporting.reports import duration_text
from rightcall.values.decoding import dump_json
from rightcall.values.results import Verdict
from rightcall.values.trajectory import ToolCall

from ._case_page import CALLS_A_PAGE
from ._runs_page import RunLine
from ._templates import Crumb, Links, render
from ._texts import ShownText, shown_text

_BARS = 20
_MOST = 1_200
# Durations of one tool differ by orders of magnitude, so the scale is logarithmic.
_STEP = 10 ** (1 / 4)
"""Bars of a histogram are a quarter of a power of ten wide."""


class CallLine(msgspec.Struct, frozen=True, kw_only=True):
    """One call of the tool. What was not recorded is `None`."""

    case_id: str
    key: str
    """Of its case."""
    verdict: Verdict
    """Of its case."""
    position: int
    """Which call of the case it is, from 1."""
    arguments: ShownText | None
    output: ShownText | None
    error: ShownText | None
    is_suspected: bool = False
    took: str = ""

    @property
    def page(self) -> int:
        """Which page of its case's calls it is on; 0 for the first, which is where a case is."""
        number = (self.position - 1) // CALLS_A_PAGE + 1
        return number if number > 1 else 0


class Bar(msgspec.Struct, frozen=True):
    """One bar of a histogram: a range of durations, the number of calls, and the height in percent."""

    begin: str
    end: str
    count: int
    height: float


class ToolPage(msgspec.Struct, frozen=True, kw_only=True):
    """Calls of one tool, in figures and one by one."""

    run: RunLine
    tool: str
    lines: tuple[CallLine, ...]
    calls: int
    cases: int
    errors: int
    median: str = ""
    slow: str = ""
    """The 95th percentile of the durations."""
    bars: tuple[Bar, ...] = ()
    only_errors: bool = False
    slowest_first: bool = False
    number: int = 1
    of: int = 1
    previous: str = ""
    next: str = ""
    title: str = ""
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


def call_line(call: ToolCall, position: int, case_id: str, key: str, verdict: Verdict) -> CallLine:
    """Return a call as a line. Values are JSON, cut in the middle if they are long."""
    took = ""
    if call.start_ns is not None and call.end_ns is not None and call.end_ns >= call.start_ns:
        took = duration_text(call.end_ns - call.start_ns)
    return CallLine(
        case_id=case_id,
        key=key,
        verdict=verdict,
        position=position,
        arguments=None if "args" in call.unrecorded else _shown(call.args),
        output=None if "output" in call.unrecorded else _shown(call.output),
        error=shown_text(call.error, _MOST) if call.error is not None else None,
        is_suspected=call.suspected_error,
        took=took,
    )


def quantile(times: Sequence[int], share: float) -> str:
    """Return a quantile of sorted durations; empty if there are none."""
    return duration_text(times[min(len(times) - 1, int(share * len(times)))]) if times else ""


def histogram(times: Sequence[int]) -> tuple[Bar, ...]:
    """Return a histogram of sorted durations, on a scale where each step is 1.8 times the one before."""
    if not times:
        return ()
    begin = max(1, times[0])
    edges = [begin]
    while edges[-1] < times[-1] and len(edges) < _BARS:
        edges.append(max(edges[-1] + 1, round(edges[-1] * _STEP)))
    counts = [0] * max(1, len(edges) - 1)
    place = 0
    for time in times:
        while place < len(counts) - 1 and time >= edges[place + 1]:
            place += 1
        counts[place] += 1
    ends = [*edges[1:-1], max(times[-1], begin)]
    most = max(counts)
    bounds = zip(edges, ends, counts, strict=False)
    return tuple([Bar(duration_text(a), duration_text(b), count, 100 * count / most) for a, b, count in bounds])


def tool_html(page: ToolPage, links: Links) -> str:
    """Render the page of a tool. Raises `MissingExtraError`."""
    return render("tool.html", page, links)


def _shown(value: object) -> ShownText:
    return shown_text(dump_json(value), _MOST)
