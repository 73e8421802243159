"""The paths behind a result: how expected calls line up with actual ones, and the problems found in that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from rightcall.values.results import (
    Alignment,
    CaseResult,
    EvaluationResult,
    PlacedFinding,
    Source,
    Step,
    ToolCallOrderEvaluatorJustification,
    ToolTrajectoryEvaluatorJustification,
)

_IN_ORDER = ("EXACT", "IN_ORDER")
_BY_WEIGHT = ("RC101", "RC104", "RC106", "RC103", "RC102", "RC301")
"""The order in which problems of one path are reported."""
_AROUND = 2
_MOST_STEPS = 40


class ExpectedPath(msgspec.Struct, frozen=True):
    """One list of expected calls, lined up with the actual ones; with its problems, the worst first."""

    alignment: Alignment
    place: str
    """Which part of the criteria lists the expected calls, such as `expected`; empty where that is not known."""
    sources: tuple[Source, ...]
    heeds_order: bool
    shows_extras: bool
    problems: tuple[PlacedFinding, ...]

    def kind(self, step: Step) -> str:
        """Return the kind of a step: a call that is only out of place is a match where order does not matter.

        A mismatch without a difference was not measured: what decides it was not recorded.
        """
        if step.kind == "mismatch" and not step.differences:
            return "not_measured"
        return "match" if step.kind == "moved" and not self.heeds_order else step.kind

    def source(self, step: Step) -> Source | None:
        """Where what a step expects is written, if that is known."""
        known = step.expected is not None and step.expected < len(self.sources)
        return self.sources[step.expected] if known and step.expected is not None else None

    def is_reported(self, step: Step) -> bool:
        """Return whether a problem is about the call of a step."""
        named = [placed.finding.actual for placed in self.problems]
        return any(call is not None and call.position == step.actual for call in named)

    def is_alone(self, source: Source) -> bool:
        """Return whether no other call is written on the same line."""
        return sum(each.line == source.line for each in self.sources) == 1

    def shown_steps(self) -> tuple[list[Step], list[int]]:
        """The steps that matter, and the places among them of those to show: the wrong ones, with some around."""
        every = self.alignment.steps
        steps = [step for step in every if step.kind != "extra" or self.shows_extras or self.is_reported(step)]
        telling = [place for place, step in enumerate(steps) if self.kind(step) != "match"]
        near = sorted({place + by for place in telling for by in range(-_AROUND, _AROUND + 1)})
        shown = [place for place in near if 0 <= place < len(steps)]
        return steps, (shown or list(range(len(steps))))[:_MOST_STEPS]

    @property
    def matched(self) -> tuple[int, int] | None:
        """Return how many of the expected calls match, and of how many; `None` if that is not known for all of them."""
        kinds = [self.kind(step) for step in self.alignment.steps if step.expected is not None]
        if self.alignment.left_out or "not_measured" in kinds:
            return None
        return kinds.count("match"), len(kinds)


def paths_of(result: CaseResult, one: EvaluationResult) -> Iterator[ExpectedPath]:
    """The paths of an evaluator's result, turn by turn; none where it compares no calls."""
    details = one.details
    heeds_order = isinstance(details, ToolCallOrderEvaluatorJustification)
    is_trajectory = isinstance(details, ToolTrajectoryEvaluatorJustification)
    if is_trajectory:
        heeds_order = details.match_type in _IN_ORDER
        aligned = [(turn.turn, turn.alignment) for turn in details.turns]
    else:
        alignment = getattr(details, "alignment", None)
        aligned = [(0, alignment)] if isinstance(alignment, Alignment) else []
    written = {each.path: each.sources for each in result.written if each.expectation == one.evaluator}
    by_turn = any(path.startswith("expected_turns") for path in written) or len(aligned) > 1
    placed = [each for each in result.findings if each.expectation == one.evaluator]
    for turn, alignment in aligned:
        path = f"expected_turns[{turn}]" if by_turn else next(iter(written), "")
        problems = [each for each in placed if _is_about(each, path, alignment)]
        problems.sort(key=lambda each: _weight(each.finding.code))
        yield ExpectedPath(alignment, path, written.get(path, ()), heeds_order, is_trajectory, tuple(problems))


def _is_about(placed: PlacedFinding, path: str, alignment: Alignment) -> bool:
    finding = placed.finding
    if finding.path is not None:
        return bool(path) and finding.path.startswith(f"{path}[")
    return finding.actual is not None and _has(alignment.steps, finding.actual.position)


def _has(steps: Sequence[Step], position: int) -> bool:
    return any(step.actual == position for step in steps)


def _weight(code: str) -> int:
    return _BY_WEIGHT.index(code) if code in _BY_WEIGHT else len(_BY_WEIGHT)
