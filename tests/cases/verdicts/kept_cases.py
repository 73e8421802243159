"""What is said of the cases of many eval sets: which run belongs to which, its result, and what all of them show."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from msgspec.structs import replace
from tests.judging.kept_verdicts import some_trajectory
from tests.snapshots import Drawn, drawn, line

from rightcall import CaseResult, RightcallError
from rightcall.cases.evalsets import parse_eval_set
from rightcall.cases.verdicts import (
    AllCases,
    CaseFinder,
    Seen,
    join_rule,
    judge,
    judge_outcome,
    recorded_repeat,
    rule_uses,
)
from rightcall.values.results import Outcome
from rightcall.values.trajectory import Trajectory

FILE = "cases.txt"
_TOOLS = ("search", "book", "pay", "pay_later", "serch", "Book", "refund", "pay*", "*", "re*", "PAY")
_JOINS = ("auto", "auto", "attribute", "trace", "key=ticket", "file={case}/{repeat}.json", "file={case}*.json", "order")
_WRONG_JOINS = (
    "traces",
    "key=",
    "key",
    "trace=1",
    "file=",
    "file={case}{case}",
    "file={cas}",
    "file={repeat}.json",
    "",
)
_PATHS = (
    "a/1.json",
    "runs/b/12.json",
    "c\\3.json",
    "d-long.json",
    "a.json",
    "b/x.json",
    "/b/3.json.gz",
    "",
    "a/1234567890.json",
)


def groups() -> list[str]:
    """What eval sets are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each eval set."""
    return drawn(_GROUPS, group)


def _eval_set(random: Random) -> str:
    """Some cases, and runs that belong to one, to several or to none of them."""
    cases = [_case(random, name) for name in "abcd"[: random.randint(1, 4)]]
    if random.random() < 0.2:
        rules = _rules(random)
        cases = [{**case, "expect": {"rules": rules}} for case in cases]
    written: dict[str, Any] = {"cases": cases}
    if random.random() < 0.3:
        written["overall"] = {"kinds": {"type": "classification", "config": {"threshold": random.choice((0.5, 1.0))}}}
    eval_set = parse_eval_set(json.dumps(written, indent=1), "shop.json")
    every = random.choice((None, None, eval_set.cases[0]))
    finder = CaseFinder(eval_set.cases, random.choice(_JOINS), every=every)
    together = AllCases(eval_set.cases, eval_set.overall)
    found = [_judged(random, finder, together, number) for number in range(random.randint(1, 6))]
    notes = [*together.notes()]
    results = [(each.evaluator, each.verdict, each.score, each.reason, each.details) for each in together.results()]
    told = [result["verdict"] for results in found for _, result in results]
    return line(written, (found, notes, results), *told, *notes[:1], *[each[1] for each in results])


def _judged(random: Random, finder: CaseFinder, together: AllCases, number: int) -> list[Any]:
    run = _run(random, number)
    file = random.choice((None, *_PATHS))
    run = finder.named_by_file(run, file) if finder.is_by_file else run
    found = []
    for match in finder.matches(run):
        outcome = random.choice(
            (None, None, Outcome(seconds=1.5), Outcome(seconds=2.0, error="it broke", cause="raised"))
        )
        if outcome is None:
            result = judge(match.case, run)
        else:
            left = random.choice((run, None)) if outcome.error else run
            result = judge_outcome(match.case, outcome, left, number)
        together.add(together.see(match.case, result, run, counts=random.random() < 0.8), match.case.id)
        found.append(((match.case.id, match.doubt, rule_uses(result)), _plain(result)))
    if not found:
        together.add(Seen(tools=together.tools_in(run)))
    return found


def _plain(result: CaseResult) -> Any:
    plain = json.loads(result.to_json())
    plain.pop("trajectory", None)
    plain["evaluations"] = [each | {"evaluation_time": 0} for each in plain["evaluations"]]
    return plain


def _run(random: Random, number: int) -> Trajectory:
    metadata = {
        "rightcall.case.id": random.choice((*"abcd", "e", None)),
        "ticket": random.choice(("a", "b", 7, None)),
        "channel": random.choice(("web", "app", None)),
        "repeat": random.choice((number, str(number), -1, "x", True, None)),
    }
    kept = {key: value for key, value in metadata.items() if value is not None}
    return replace(some_trajectory(random), trace_id=random.choice((f"t{number}", "b", None)), metadata=kept)


def _case(random: Random, name: str) -> dict[str, Any]:
    expect: dict[str, Any] = {}
    while not expect:
        if random.random() < 0.5:
            expect["calls"] = _calls(random)
        if random.random() < 0.5:
            expect["never"] = random.sample(_TOOLS, random.choice((1, 2, 9)))
        if random.random() < 0.4:
            expect["counts"] = {random.choice(_TOOLS[:7]): random.choice((0, 1, "<= 2"))}
        if random.random() < 0.5:
            expect["rules"] = _rules(random)
        if random.random() < 0.4:
            expect["output"] = random.choice(("done", {"$contains": "it"}))
    case: dict[str, Any] = {"id": name, "expect": expect, "metadata": {"class": random.choice(("done", "booked it"))}}
    case["metadata"] |= {"trace_id": f"t{random.randint(0, 3)}"} if random.random() < 0.3 else {}
    if random.random() < 0.3:
        case["when"] = random.choice(
            ({"calls": ["pay"]}, {"metadata": {"channel": "web"}}, {"input": {"$contains": "trip"}})
        )
    elif random.random() < 0.3:
        case["mocks"] = {"refund": {"returns": 1}}
    return case


def _calls(random: Random) -> Any:
    steps: Sequence[Any] = random.sample(_TOOLS[:5], random.randint(1, 3))
    steps = [*steps, {"optional": random.choice(_TOOLS[4:7])}] if random.random() < 0.4 else steps
    match = random.choice(("in_order", "any_order", "exact")) if isinstance(steps[-1], str) else "in_order"
    more = {"ignore_tools": [random.choice(("log", "refund_all"))]} if random.random() < 0.3 else {}
    weight = {"weight": random.choice((0, 2, 0.5))} if random.random() < 0.5 else {}
    return {"expected": steps, "match": match, **more, **weight, "partial_credit": random.random() < 0.5}


def _rules(random: Random) -> list[Any]:
    some = [{"call": random.choice(_TOOLS[:5]), "only_after": random.choice(_TOOLS[:5])} for _ in range(2)]
    return [*some, {"call": "refund", "only_after": "search"}][: random.randint(1, 3)]


def _join(random: Random) -> str:
    """A way to join, and what it reads from the names of files."""
    join = random.choice((*_JOINS, *_WRONG_JOINS))
    repeats = [
        recorded_repeat({"repeat": held}) for held in (0, "7", "x", "", -1, 10**9, 10**9 - 1, "٣", True, None, "1" * 10)
    ]
    try:
        rule = join_rule(join)
    except RightcallError as problem:
        return line(join, (str(problem), repeats), problem)
    said = [rule.read_path(path) for path in _PATHS]
    return line(join, (rule, said, repeats), join, said)


_GROUPS: Drawn = {"eval set": (_eval_set, 150), "join": (_join, 30)}
