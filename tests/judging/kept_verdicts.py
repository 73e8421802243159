"""What every evaluator says of many trajectories, some of which do not record everything."""

from __future__ import annotations

import json
from random import Random
from typing import Any

from msgspec.structs import replace
from tests.cases.verdicts.removal import Rule, compiled
from tests.cases.verdicts.removal_search import rules_of
from tests.snapshots import digest, line

from rightcall import CriteriaError, EvaluationResult, ToolCall, Trajectory
from rightcall.values.trajectory import Usage

FILE = "verdicts.txt"
_GROUPS = 12
_TRAJECTORIES = 10
_RULES = 26
_MILLISECOND = 1_000_000


def groups() -> list[str]:
    """What trajectories are grouped by: a number, so that a test takes a part of them."""
    return [f"{number:02}" for number in range(_GROUPS)]


def outcomes(group: str) -> dict[str, str]:
    """A line for each trajectory of a group and each expectation about it."""
    found = {}
    for number in range(_TRAJECTORIES):
        random = Random(f"{group} {number}")
        made = some_trajectory(random)
        for place, rule in enumerate(rules_of(made, random, _RULES)):
            found[f"{group}.{number} {place:02} {rule[0]}"] = _line(made, rule)
    return found


def _line(made: Trajectory, rule: Rule) -> str:
    return judged_line(list(rule), compiled(*rule)[0].evaluate(made, compiled(*rule)[1]))


def judged_line(given: list[Any], result: EvaluationResult) -> str:
    """A line about what was judged, JSON values, and the result."""
    words = [result.verdict, *[finding.message for finding in result.findings[:1]]]
    everything = json.loads(result.to_json()) | {"evaluation_time": 0}
    return f"{digest(json.dumps([*given, everything]).encode())} {' '.join(words)}"


def some_trajectory(random: Random) -> Trajectory:
    """A small run with whatever a trace can record, and without some of it."""
    turns = random.choice((1, 1, 2, 3))
    has_times = random.random() < 0.8
    calls: list[ToolCall] = []
    clock = 0
    for turn in range(turns):
        for batch in range(random.randint(0, 3)):
            for _ in range(random.choice((1, 1, 2, 3))):
                times = (clock, clock + random.randint(1, 9) * _MILLISECOND) if has_times else (None, None)
                group = f"g{turn}.{batch}" if random.random() < 0.9 else None
                calls.append(_call(random, turn if turns > 1 else None, group, times))
                clock += random.choice((0, 1, 5)) * _MILLISECOND
            clock += 10 * _MILLISECOND
    usage = Usage(duration_ns=clock, input_tokens=random.choice((None, 7)), output_tokens=random.choice((None, 3)))
    answers = tuple([random.choice(("done", "booked it", {"ok": True})) for _ in range(turns)])
    return Trajectory(
        calls=tuple(calls),
        input="Book a trip.",
        output=answers[-1],
        turn_inputs=("Book a trip.",) * turns if turns > 1 else (),
        turn_outputs=answers if turns > 1 else (),
        usage=usage if random.random() < 0.7 else None,
        calls_recorded=random.random() < 0.9,
    )


def told(evaluator: Any, made: Trajectory, criteria: dict[str, Any]) -> str:
    """A line about what an evaluator says of a run by criteria, or why it does not take them."""
    try:
        compiled = evaluator.criteria(criteria)
        evaluator.plan(compiled)
    except CriteriaError as problem:
        return line(json.dumps(criteria), str(problem), str(problem)[:160].replace("\n", " "))
    written = [item for key, item in compiled.model_dump().items() if key in criteria]
    also = [evaluator.tools_to_miss(compiled), evaluator.without_effect(compiled), written]
    return judged_line([criteria, json.dumps(also, default=str)], evaluator.evaluate(made, compiled))


def entangled(random: Random, made: Trajectory) -> Trajectory:
    """The run with calls that others made, some of them by one another, and without some ends and orders."""
    spans = [f"s{place}" for place in range(len(made.calls))]
    calls = []
    for place, (call, span) in enumerate(zip(made.calls, spans, strict=True)):
        lost = [part for part in ("group", "parent_id") if random.random() < 0.05]
        found: dict[str, Any] = {
            "span_id": random.choice((None, span, span, span, span)),
            "parent_id": random.choice((None, None, None, "elsewhere", *spans[max(0, place - 2) : place + 2])),
            "end_ns": random.choice((None, *[call.end_ns] * 6)),
            "args": call.args and {**call.args, "id": random.choice((1, 1.0, True, "1", None, [1], {"a": 1}))},
        }
        calls.append(replace(call, **{**found, **dict.fromkeys(lost)}, unrecorded=call.unrecorded | {*lost}))
    first = random.randint(0, len(calls))
    unordered = ((first, first + 3),) if first + 3 <= len(calls) and random.random() < 0.5 else ()
    return replace(made, calls=tuple(calls), unordered=unordered)


def _call(random: Random, turn: int | None, group: str | None, times: tuple[int | None, int | None]) -> ToolCall:
    args: dict[str, Any] = {"city": random.choice(("Rome", "Oslo")), "n": random.randint(0, 2)}
    given: dict[str, Any] = {"output": random.choice(("ok", {"id": 7}, None, "Error: no")), "args": args}
    is_failed = random.random() < 0.15
    lost = [name for name in given if random.random() < 0.07]
    return ToolCall(
        name=random.choice(("search", "book", "pay", "pay_later")),
        error="boom" if is_failed else None,
        turn=turn,
        group=group,
        agent=random.choice(("planner", "booker", None)),
        start_ns=times[0],
        end_ns=times[1],
        source=random.choice(("span", "message")),
        suspected_error=not is_failed and random.random() < 0.05,
        **{name: value for name, value in given.items() if name not in lost and not (is_failed and name == "output")},
    )
