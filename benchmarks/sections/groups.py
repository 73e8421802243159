"""Whether steps in groups are read in milliseconds, and refused in seconds where that would take too long."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from time import process_time
from typing import Any

from benchmarks.figures import Figure
from benchmarks.rounds import Pace
from benchmarks.table import Line, under, within
from benchmarks.workers import Workers

Steps = list[Any]
_TOOLS = [f"tool_{number}" for number in range(100)]
_SIZES: list[tuple[str, int, int, float]] = [
    ("mixed", 10, 10, 0.0003),
    ("mixed", 50, 100, 0.004),
    ("mixed", 200, 1_000, 0.060),
    ("groups of 5", 200, 1_000, 0.030),
    ("branches of 3", 50, 100, 0.030),
]
_TOO_LONG = 6.0
_RUNS = 9


def groups(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """CPU time of one evaluation of steps in groups, a tenth of the calls dropped and others put in between."""
    del workers
    for shape, steps, calls, limit in _SIZES:
        yield partial(_shape, pace, shape, steps, calls, limit)
    yield partial(_one_group, pace)
    yield _too_long


def _shape(pace: Pace, shape: str, size: int, calls: int, limit: float) -> Iterator[Line]:
    random = Random(f"{shape} {size}")
    times = []
    for _ in range(_RUNS):
        steps = _SHAPES[shape](size, random)
        times.append(_seconds(steps, _noisy(steps, calls, random), pace))
    yield under(f"{shape}, {size} steps, {calls:,} calls", False, sorted(times)[_RUNS // 2], limit)


def _one_group(pace: Pace) -> Iterator[Line]:
    random = Random("one group")
    expected, made = random.choices(_TOOLS, k=200), random.choices(_TOOLS, k=1_000)
    grouped = _seconds([{"any_order": expected}], made, pace, match_type="UNORDERED")
    flat = _seconds(expected, made, pace, match_type="UNORDERED")
    yield within("one group of 200, 1,000 calls: the same as a list", False, grouped, flat, 2)


def _too_long() -> Iterator[Line]:
    random = Random("too long")
    steps = [{"any_order": [random.choices("abc", k=4) for _ in range(10)]}]
    began = process_time()
    result = _evaluate(steps, random.choices("abc", k=100))()
    assert result.verdict == "error", result
    yield under("10 branches of 4, 100 calls, until RC401", False, process_time() - began, _TOO_LONG)


def _evaluate(steps: Steps, made: Sequence[str], match_type: str = "IN_ORDER") -> Callable[[], Any]:
    from rightcall import ToolTrajectoryEvaluator, Trajectory

    evaluator = ToolTrajectoryEvaluator(config={"match_type": match_type, "partial_credit": True})
    criteria, trajectory = evaluator.criteria({"expected": steps}), Trajectory.of(made)
    return partial(evaluator.evaluate, trajectory, criteria)


def _seconds(steps: Steps, made: Sequence[str], pace: Pace, match_type: str = "IN_ORDER") -> float:
    evaluate, times = _evaluate(steps, made, match_type), []
    for _ in range(pace.rounds):
        began = process_time()
        result = evaluate()
        times.append(process_time() - began)
        assert result.score is not None
    return min(times)


def _mixed(size: int, random: Random) -> Steps:
    made: list[tuple[int, Callable[[], Any]]] = [
        (1, lambda: tool()),
        (1, lambda: tool()),
        (3, lambda: {"any_order": [tool(), tool(), tool()]}),
        (1, lambda: {"optional": tool()}),
        (3, lambda: {"one_of": [tool(), [tool(), tool()]]}),
        (1, lambda: {"repeat": tool()}),
        (2, lambda: {"repeat": [tool(), tool()], "at_most": 3}),
    ]

    def tool() -> str:
        return random.choice(_TOOLS)

    steps, used = [], 0
    while used < size:
        count, make = random.choice(made)
        steps.append(make())
        used += count
    return steps


def _groups_of_5(size: int, random: Random) -> Steps:
    return [{"any_order": random.choices(_TOOLS, k=5)} for _ in range(size // 5)]


def _branches_of_3(size: int, random: Random) -> Steps:
    steps: Steps = []
    for _ in range(size // 10):
        steps += [{"any_order": [random.choices(_TOOLS, k=3) for _ in range(3)]}, random.choice(_TOOLS)]
    return steps


_SHAPES = {"mixed": _mixed, "groups of 5": _groups_of_5, "branches of 3": _branches_of_3}


def _noisy(steps: Steps, calls: int, random: Random) -> list[str]:
    """Calls that follow the steps, a tenth of them dropped, and others put in between."""
    made = [name for step in steps for name in _followed(step, random) if random.random() > 0.1]
    while len(made) < calls:
        made.insert(random.randint(0, len(made)), random.choice(_TOOLS))
    return made[:calls]


def _followed(step: Any, random: Random) -> list[str]:
    if isinstance(step, str):
        return [step]
    if isinstance(step, list):
        return [name for item in step for name in _followed(item, random)]
    [(word, inside), *_] = step.items()
    if word == "one_of":
        return _followed(random.choice(inside), random)
    if word == "any_order":
        branches = [_followed(item, random) for item in inside]
        turns = random.sample([place for place, branch in enumerate(branches) for _ in branch], sum(map(len, branches)))
        return [branches[place].pop(0) for place in turns]
    times = random.randint(0, 1) if word == "optional" else random.randint(1, 3)
    return [name for _ in range(times) for name in _followed(inside, random)]
