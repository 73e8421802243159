"""The summary of many scores, as lines for people."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from rightcall.reporting.reports import Line, Paper, printable, seconds_text
from rightcall.scale.lake import ExampleRow, Summary
from rightcall.values.redaction import redacted_text

_BAR = 30
_NAME = 40
_WIDTH = 100


def summary_lines(
    summary: Summary, out: str, before: int, seconds: float, run_id: str, paper: Paper | None
) -> Iterator[Line]:
    """A summary: shares, scores, what failures have in common, evaluators, the slowest, examples, and the totals.

    Args:
        summary: The summary.
        out: Where the scores are.
        before: How many rows an earlier command had scored.
        seconds: How long this one took.
        run_id: The id of the run that was saved, if one was.
        paper: What it is written on; plain text by default.
    """
    paper = paper or Paper(width=_WIDTH)
    yield from _scores(summary, paper)
    yield from _rules(summary)
    yield from _evaluators(summary)
    if summary.slowest:
        yield from _titled("slowest", [f"{seconds_text(slow.seconds):>9}  {slow.id}" for slow in summary.slowest])
    yield from _titled("in error, for example", _examples(summary.errors))
    yield from _titled("not measured, for example", _examples(summary.not_measured))
    if summary.unmet_cases:
        noun = "case" if summary.unmet_cases == 1 else "cases"
        more = f" and {summary.unmet_cases - len(summary.unmet):,} more" * (summary.unmet_cases > len(summary.unmet))
        yield from _titled(f"no row belongs to {summary.unmet_cases:,} {noun}", [", ".join(summary.unmet) + more])
    yield from _ending(summary, out, before, seconds, run_id)


def redacted_summary(summary: Summary) -> Summary:
    """A summary without secrets, in names and texts of others."""
    return replace(
        summary,
        groups=tuple([replace(group, tool=redacted_text(group.tool)) for group in summary.groups]),
        slowest=tuple([replace(slow, id=redacted_text(slow.id)) for slow in summary.slowest]),
        errors=_redacted(summary.errors),
        not_measured=_redacted(summary.not_measured),
    )


def _redacted(examples: Sequence[ExampleRow]) -> tuple[ExampleRow, ...]:
    return tuple([ExampleRow(redacted_text(each.id), redacted_text(each.why)) for each in examples])


def _scores(summary: Summary, paper: Paper) -> Iterator[Line]:
    if summary.mean_score is None:
        return
    yield ((f"scores, {summary.mean_score:.3f} on average", "bold"),)
    most = max(summary.scores)
    full = "#" if paper.plain else "█"
    for number, rows in enumerate(summary.scores):
        bar = full * (rows * _BAR // most or (1 if rows else 0))
        yield (f"  {number / 10:.1f} to {(number + 1) / 10:.1f}  {bar:<{_BAR}}  {rows:,}".rstrip(" "),)
    yield ()


def _rules(summary: Summary) -> Iterator[Line]:
    width = max([len(f"{group.rows:,}") for group in summary.groups], default=0)
    lines = [f"{group.rows:>{width},}  {group.words} ({group.code})" for group in summary.groups]
    more = [f"and {summary.more_groups:,} more kinds of failure"] if summary.more_groups else []
    return _titled("failures, by rule and tool", [*lines, *more])


def _evaluators(summary: Summary) -> Iterator[Line]:
    if not summary.evaluators:
        return
    names = [name[:_NAME] for name in summary.evaluators]
    width = max(map(len, names))
    lines = []
    for name, totals in zip(names, summary.evaluators.values(), strict=True):
        counts = ((totals.passed, "passed"), (totals.failed, "failed"), (totals.error, "in error"))
        told = [f"{count:,} {what}" for count, what in (*counts, (totals.not_measured, "not measured")) if count]
        mean = f", {totals.mean_score:.3f} on average" if totals.mean_score is not None else ""
        lines.append(f"{name:<{width}}  {', '.join(told)}{mean}")
    yield from _titled("evaluators", lines)


def _examples(examples: Sequence[ExampleRow]) -> list[str]:
    return [f"{each.id}: {each.why}" for each in examples]


def _titled(title: str, lines: Sequence[str]) -> Iterator[Line]:
    if lines:
        yield ((title, "bold"),)
        yield from ((f"  {printable(line, one_line=True)}",) for line in lines)
        yield ()


def _ending(summary: Summary, out: str, before: int, seconds: float, run_id: str) -> Iterator[Line]:
    if summary.failed_parts:
        yield (
            (f"{summary.failed_parts:,} parts of the input are missing, because they could not be scored", "yellow"),
        )
    already = f", {before:,} of them scored before" if before else ""
    yield (f"{summary.rows:,} rows in {out}{already}{f'; run {run_id}' if run_id else ''}",)
    rate = f" ({summary.pass_rate:.1%} passed)" if summary.pass_rate is not None else ""
    yield (f"{summary.totals}{rate} in {seconds_text(seconds)}",)
