"""What one run has of each case, and of all."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b

import msgspec

from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult, Source, Tally, Verdict

from ._paths import Called, called


class Side(msgspec.Struct, frozen=True, kw_only=True):
    """What one run has of one case: its verdict and, over all repeats, the mean of its scores.

    The path and the answer are those of the first repeat that has the verdict of the case.
    """

    verdict: Verdict
    score: float | None
    scores: Mapping[str, float | None]
    """By the id of the evaluator."""
    path: tuple[Called, ...]
    answer: bytes
    """A digest of what the agent gave back."""
    is_recorded: bool
    """Whether there is a path at all: an agent that broke has none."""
    source: Source

    @property
    def passed(self) -> bool:
        """Whether the verdict is `passed`, and nothing else."""
        return self.verdict == "passed"


class Overview(msgspec.Struct, frozen=True):
    """What a run comes to: cases, how many passed, mean scores by evaluator, and calls a case."""

    cases: int
    passed: int
    scores: Mapping[str, float | None]
    calls: float | None


def sides_of(results: Iterable[CaseResult], needed: int | None = None) -> dict[str, Side]:
    """What a run has of each case, by its id; `needed` is how many repeats must pass, all by default.

    Of each result only its path is kept in memory, not what tools gave back.
    """
    tally = Tally(needed)
    repeats: dict[str, list[Side]] = {}
    for result in results:
        tally.add(result)
        repeats.setdefault(result.case_id, []).append(_side(result))
    return {case_id: _merged(sides, tally.verdict(case_id)) for case_id, sides in repeats.items()}


def overview(sides: Mapping[str, Side]) -> Overview:
    """What the cases of a run come to."""
    evaluators = dict.fromkeys(evaluator for side in sides.values() for evaluator in side.scores)
    means = {name: mean(side.scores.get(name) for side in sides.values()) for name in evaluators}
    calls = mean(float(len(side.path)) for side in sides.values() if side.is_recorded)
    return Overview(len(sides), sum(side.passed for side in sides.values()), means, calls)


def mean(scores: Iterable[float | None]) -> float | None:
    """The mean of the scores that there are; `None` where there is none."""
    given = [score for score in scores if score is not None]
    return sum(given) / len(given) if given else None


def _side(result: CaseResult) -> Side:
    trajectory = result.trajectory
    answer = dump_json(trajectory.output) if trajectory is not None else ""
    return Side(
        verdict=result.verdict,
        score=result.score,
        scores={evaluation.evaluator: evaluation.score for evaluation in result.results},
        path=called(trajectory),
        answer=blake2b(answer.encode(errors="surrogatepass"), digest_size=16).digest(),
        is_recorded=trajectory is not None,
        source=result.source,
    )


def _merged(repeats: list[Side], verdict: Verdict) -> Side:
    shown = next((side for side in repeats if side.verdict == verdict), repeats[0])
    evaluators = dict.fromkeys(evaluator for side in repeats for evaluator in side.scores)
    return msgspec.structs.replace(
        shown,
        verdict=verdict,
        score=mean(side.score for side in repeats),
        scores={name: mean(side.scores.get(name) for side in repeats) for name in evaluators},
    )
