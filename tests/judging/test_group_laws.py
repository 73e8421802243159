"""Laws of expected calls in groups: what is not recorded lies within the bounds, and columns say what rows say."""

from __future__ import annotations

from itertools import product
from random import Random
from typing import Any

import msgspec
from hypothesis import given, strategies as st
from tests.builders import judge
from tests.sampling import examples

from rightcall import EvaluationResult, ToolCall, Trajectory

SEEDS = st.integers(min_value=0, max_value=2**32)
BATCH = 20
"""Expectations that are made of one seed: drawing each of them takes longer than judging it."""


def leaf(random: Random) -> Any:
    name = random.choice("abc")
    parts: list[dict[str, Any]] = [
        {"agent": random.choice("AB")},
        {"status": "ok"},
        {"args": {"k": random.randrange(2)}},
        {},
        {},
    ]
    return {"name": name, **random.choice(parts)}


def step(random: Random, depth: int) -> Any:
    word = random.choice(["any_order", "one_of", "steps", "optional", "repeat", ""])
    if depth == 0 or not word:
        return leaf(random)
    if word in ("optional", "repeat"):
        return {word: step(random, depth - 1)}
    return {word: [step(random, depth - 1) for _ in range(random.choice([1, 2, 2, 3]))]}


def known_call(random: Random) -> ToolCall:
    error = random.choice([None, None, "boom"])
    return ToolCall(random.choice("abcx"), {"k": random.randrange(2)}, None, agent=random.choice("AB"), error=error)


def with_part(call: ToolCall, part: str, value: Any, *, recorded: bool) -> ToolCall:
    unrecorded = frozenset() if recorded else frozenset({part})
    return msgspec.structs.replace(call, **{part: value}, unrecorded=unrecorded)


def fillings(call: ToolCall, part: str) -> list[ToolCall]:
    """What a call may have been of which a part was not recorded."""
    values: dict[str, list[Any]] = {
        "args": [{"k": 0}, {"k": 1}, {}],
        "agent": ["A", "B", "C"],
        "error": [None, "boom"],
    }
    return [with_part(call, part, value, recorded=True) for value in values[part]]


def judged(calls: list[ToolCall], steps: list[Any], match: str, credit: Any, extra: str | None) -> EvaluationResult:
    criteria = {"expected": steps, **({} if extra is None else {"extra": extra})}
    return judge("tool-trajectory", Trajectory(calls=tuple(calls)), criteria, match_type=match, partial_credit=credit)


@examples(20)
@given(SEEDS)
def test_every_filling_of_what_was_not_recorded_agrees_with_what_was_said_without_it(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        steps = [step(random, 2) for _ in range(random.choice([1, 2]))]
        match = random.choice(["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"])
        settings = (match, random.choice([True, "f1", False]), random.choice([None, "allow", "forbid", "others"]))
        calls = [known_call(random) for _ in range(random.randrange(1, 5))]
        places = random.sample(range(len(calls)), min(2, len(calls)))
        parts = {place: random.choice(["args", "agent", "error"]) for place in places}

        said = judged(
            [
                with_part(call, parts[place], None, recorded=False) if place in parts else call
                for place, call in enumerate(calls)
            ],
            steps,
            *settings,
        )

        for chosen in product(*[fillings(calls[place], parts[place]) for place in places]):
            filled = [dict(zip(places, chosen, strict=True)).get(place, call) for place, call in enumerate(calls)]
            truth = judged(filled, steps, *settings)
            assert said.verdict in ("not_measured", truth.verdict), (steps, settings, calls)
            if said.verdict == "failed" and said.score is not None and truth.score is not None:
                assert said.score <= truth.score
