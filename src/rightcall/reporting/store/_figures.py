"""The figures of a run over its trials, without reading its results whole: verdicts, calls, times and tokens."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from rightcall.values.results import Totals, Verdict
from rightcall.values.statistics import Interval, cases_like_these, these_cases_again

from ._journal import damage_reported_last, sealed_lines
from ._summaries import JOURNAL_FILE

_P95 = 0.95


class RunFigures(msgspec.Struct, frozen=True, kw_only=True):
    """The figures of a run: the trials of each case, and figures by trial. `None` is not recorded."""

    trials: Mapping[str, Totals]
    interval: Interval | None = None
    """The interval of the pass rate for cases like these, or for these cases where there is only one."""
    failing: tuple[str, ...] = ()
    """The cases that failed in some trial."""
    calls: float | None = None
    """Mean calls of a trial."""
    errors: float | None = None
    """The share of calls that failed."""
    p95: float | None = None
    """Seconds that 95 of 100 trials stay below."""
    tokens: float | None = None
    """Mean tokens of a trial, in and out."""

    @property
    def weight(self) -> int:
        """How much memory it takes, in cases."""
        return 1 + len(self.trials)


class _Call(msgspec.Struct):
    error: str | None = None


class _Usage(msgspec.Struct):
    duration_ns: int | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class _Path(msgspec.Struct):
    calls: list[_Call] = []
    usage: _Usage | None = None


class _Outcome(msgspec.Struct):
    seconds: float = 0.0


class _Line(msgspec.Struct):
    case_id: str
    repeat: int
    verdict: Verdict
    trajectory: _Path | None = None
    outcome: _Outcome | None = None

    @property
    def seconds(self) -> float | None:
        if self.outcome is not None:
            return self.outcome.seconds
        usage = self.trajectory.usage if self.trajectory is not None else None
        return usage.duration_ns / 1e9 if usage is not None and usage.duration_ns is not None else None

    @property
    def tokens(self) -> int | None:
        usage = self.trajectory.usage if self.trajectory is not None else None
        known = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None] if usage else []
        return sum(known) if known else None


def read_figures(folder: Path, left_out: Mapping[str, object] | None = None) -> RunFigures:
    """Return the figures of a run; cases that are `left_out` are in none of them.

    Raises:
        StoreError: the journal cannot be read, or another program has changed it.
    """
    # Only these fields are decoded: of a journal with whole outputs that takes a fifth of the time of all of them.
    decoder = msgspec.json.Decoder(_Line)
    found: dict[tuple[str, int], _Line] = {}
    lines = sealed_lines(folder)
    for number, line in enumerate(lines, start=1):
        with damage_reported_last(lines):
            try:
                trial = decoder.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                from rightcall.errors import StoreError

                raise StoreError(f"{folder / JOURNAL_FILE}:{number}: this line is damaged ({problem})") from None
        if trial.case_id not in (left_out or {}):
            found[trial.case_id, trial.repeat] = trial
    return _figures(list(found.values()))


def _figures(trials: list[_Line]) -> RunFigures:
    verdicts: dict[str, list[Verdict]] = {}
    for trial in trials:
        verdicts.setdefault(trial.case_id, []).append(trial.verdict)
    paths = [trial.trajectory.calls for trial in trials if trial.trajectory is not None]
    calls = sum(map(len, paths))
    failed = sum([call.error is not None for path in paths for call in path])
    seconds = sorted([each for each in [trial.seconds for trial in trials] if each is not None])
    tokens = [each for each in [trial.tokens for trial in trials] if each is not None]
    counts = {case_id: Totals.of(found) for case_id, found in verdicts.items()}
    measured = [each.measured for each in counts.values()]
    return RunFigures(
        trials=counts,
        interval=cases_like_these(measured) or these_cases_again(measured),
        failing=tuple([case_id for case_id, each in counts.items() if each.failed]),
        calls=calls / len(paths) if paths else None,
        errors=failed / calls if calls else None,
        p95=seconds[min(len(seconds) - 1, int(_P95 * len(seconds)))] if seconds else None,
        tokens=sum(tokens) / len(tokens) if tokens else None,
    )
