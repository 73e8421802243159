"""Did the agent's tools work: few errors, and few attempts?"""

from __future__ import annotations

import math
from collections.abc import Iterator

from rightcall.judging.core import WHOLE, Config, Criteria, Measurement, Selection, Shorthand, Threshold
from rightcall.values.results import Finding, end_text, error_type
from rightcall.values.trajectory import has_failed

from ._budgets import AtMost, BudgetEvaluator, BudgetPlan, Figure, Spent, named, pair_findings
from ._repeats import Repeats, has_unknown_places, most_retries, retries

_LONGEST_ERROR = 200


class RetriesConfig(Config):
    """How retries are counted."""

    name: str = "Retries"


class Retries(BudgetEvaluator[RetriesConfig, AtMost]):
    """Whether the agent tried again after errors no more often than it may: 1.0 if so, else allowed / actual.

    A call is a retry if its tool had failed when the same agent called it last in the same turn, whatever the
    arguments, and whatever else was called in between. Nothing called, and nothing failed, is 1.0.
    """

    type_id = "retries"
    shorthand = Shorthand("retries", "at_most", schema=WHOLE)
    code = "RC113"
    config_type = RetriesConfig
    criteria_type = AtMost

    def spent(self, selection: Selection, criteria: AtMost) -> Spent:
        found, high = _retries(selection)
        low = len(found.sure)
        told = f"{low:,} {'retry' if low == 1 else 'retries'} after errors, at most {criteria.at_most:,} allowed"
        unknown = "whether calls are retries depends on what was not recorded, or on results that only read like errors"
        figure = Figure("at_most", "retries", criteria.at_most, low, high, told, unknown)
        return Spent([figure], lambda: _tried_again(selection, found))


class ToolErrorRateCriteria(Criteria):
    """The share of calls that may fail, from 0 to 1."""

    at_most: Threshold


class ToolErrorRateConfig(Config):
    """How errors are counted."""

    name: str = "ToolErrorRate"


class ToolErrorRate(BudgetEvaluator[ToolErrorRateConfig, ToolErrorRateCriteria]):
    """Whether no larger share of calls failed than may: 1.0 if so, else the share allowed divided by the actual one.

    The share is the number of calls that failed, divided by that of all calls; a call that fails twice counts twice.
    Nothing called is a share of 0, and 1.0.
    """

    type_id = "tool-error-rate"
    shorthand = Shorthand("error_rate", "at_most", schema={"type": "number", "minimum": 0, "maximum": 1})
    code = "RC114"
    config_type = ToolErrorRateConfig
    criteria_type = ToolErrorRateCriteria

    def bound(self, selection: Selection, plan: BudgetPlan) -> Measurement:
        return self.measure(selection, plan)

    def spent(self, selection: Selection, criteria: ToolErrorRateCriteria) -> Spent:
        outcomes = [has_failed(call) for call in selection.calls]
        low, high = _share_of_failures(selection, outcomes)
        made = f"{outcomes.count(True):,} of {len(outcomes):,} calls failed ({low:.4g})"
        told = f"{made}, at most {criteria.at_most:.4g} allowed"
        unknown = "whether calls failed was not recorded, or their results only read like errors"
        figure = Figure("at_most", "share of calls that failed", criteria.at_most, low, high, told, unknown)
        return Spent([figure], lambda: _failures(selection, outcomes))


def _retries(selection: Selection) -> tuple[Repeats, float]:
    """The retries that there surely are, and how many there are at the most."""
    calls, doubts = selection.calls, selection.doubts
    if doubts is not None:
        # More calls never make for fewer retries, but another order may.
        sure = Repeats([], []) if doubts.unordered else retries(selection.sure().calls)
        return Repeats(sure.sure, []), math.inf if doubts.missing else most_retries(calls)
    found = retries(calls)
    return found, most_retries(calls) if has_unknown_places(calls) else len(found.sure) + len(found.undecided)


def _share_of_failures(selection: Selection, outcomes: list[bool | None]) -> tuple[float, float]:
    """The share of calls that failed: at least, and at most."""
    doubts = selection.doubts
    if doubts is not None and doubts.missing:
        return 0.0, 1.0
    members = doubts.members if doubts is not None else frozenset()
    sure = [outcome for index, outcome in enumerate(outcomes) if index not in members]
    unsure = [outcomes[index] for index in members]
    well, badly = (len(unsure) - unsure.count(which) for which in (True, False))
    failed, perhaps = sure.count(True), sure.count(None)
    # The share is lowest with all further calls that may have gone well, and highest with all that may have failed.
    low, high = failed / max(1, len(sure) + well), (failed + perhaps + badly) / max(1, len(sure) + badly)
    return low, high


def _tried_again(selection: Selection, found: Repeats) -> Iterator[Finding]:
    yield from pair_findings(
        selection, found.sure, "RC113", lambda call, earlier: f"`{call}` is a retry of {earlier}, which failed"
    )
    yield from pair_findings(
        selection,
        found.undecided,
        "RC301",
        lambda call, earlier: f"`{call}`: whether {earlier} failed before was not recorded",
    )


def _failures(selection: Selection, outcomes: list[bool | None]) -> Iterator[Finding]:
    for index, failed in enumerate(outcomes):
        call = named(selection, index)
        if failed:
            error = (selection.calls[index].error or "")[:_LONGEST_ERROR]
            verb = "raised " if error_type(error) else "failed: "
            said, how = f"`{call.text}` {verb}{error}", end_text(error)
            yield Finding("RC114", said, actual=call, path="at_most", ended=how)
        elif failed is None:
            yield Finding("RC301", f"`{call.text}`: whether it failed was not recorded", actual=call, path="at_most")
