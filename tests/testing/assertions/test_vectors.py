"""4,000 expectations whose results were found by trying every reading, through eval sets and through Python."""

import gzip
import json
from collections.abc import Iterator
from fractions import Fraction
from itertools import cycle
from pathlib import Path
from typing import Any

from rightcall import CheckFailedError, ToolCall, Trajectory, calls, check
from rightcall.cases.evalsets import load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.steps import any_order, at_once, one_of, optional, repeat, steps

DATA = Path(__file__).parents[2] / "data"
FUNCTIONS: dict[str, Any] = {"any_order": any_order, "at_once": at_once, "one_of": one_of, "steps": steps}
METHODS = {"exact": "exactly", "in_order": "in_order"}
CREDITS: tuple[bool | str, ...] = (True, "f1", False)


def vectors(kind: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress((DATA / f"{kind}_vectors.jsonl.gz").read_bytes()).splitlines()]


def run(vector: dict[str, Any]) -> Trajectory:
    recorded = [{"args": {}, "output": None, "error": None, "group": None} | each for each in vector["calls"]]
    return Trajectory(calls=tuple([ToolCall(**each) for each in recorded]))


def scores(vector: dict[str, Any]) -> list[float]:
    """The score with `partial_credit` true, f1 and false."""
    return [float(Fraction(vector["share"])), float(Fraction(vector["f1"])), float(vector["met"])]


def by_functions(step: Any) -> Any:
    """A step as a test would write it, with the functions of `rightcall.steps`."""
    if isinstance(step, list):
        return [by_functions(item) for item in step]
    word = next((word for word in (*FUNCTIONS, "optional", "repeat") if word in step), None)
    if isinstance(step, str) or word is None:
        return step
    inside, beside = step[word], {key: value for key, value in step.items() if key != word}
    if word in FUNCTIONS:
        return FUNCTIONS[word](*[by_functions(item) for item in inside], **beside)
    items = [by_functions(item) for item in inside] if isinstance(inside, list) else [by_functions(inside)]
    return repeat(*items, **beside) if word == "repeat" else optional(*items)


def from_eval_set(expectations: list[dict[str, Any]], runs: list[Trajectory], folder: Path) -> Iterator[float | None]:
    """The score of each expectation, as cases of one eval set."""
    cases = [{"id": str(number), "expect": expected} for number, expected in enumerate(expectations)]
    path = folder / "vectors.json"
    path.write_text(json.dumps({"cases": cases}))
    for case, made in zip(load_eval_set(path).cases, runs, strict=True):
        [result] = judge(case, made).results
        assert result.passed == (result.score == 1.0)
        yield result.score


def test_every_path_has_its_score_in_an_eval_set(tmp_path: Path) -> None:
    # The evaluator itself is tried with all three (`tests/judging/test_steps.py`), so here they take turns.
    paths = list(zip(vectors("path"), cycle(CREDITS), strict=False))
    settings = {"parallel": "in_order"}
    expectations = [
        {"calls": {"expected": each["expected"], "match": each["match"], "partial_credit": credit, **settings}}
        for each, credit in paths
    ]

    found = list(from_eval_set(expectations, [run(each) for each, _ in paths], tmp_path))

    assert found == [scores(each)[CREDITS.index(credit)] for each, credit in paths]


def test_every_rule_holds_or_is_broken_in_an_eval_set(tmp_path: Path) -> None:
    rules = vectors("rule")

    found = list(from_eval_set([{"rules": [each["rule"]]} for each in rules], [run(each) for each in rules], tmp_path))

    assert found == [float(each["holds"]) for each in rules]


def test_every_path_has_its_score_in_check() -> None:
    wrong = []
    for vector, credit in zip(vectors("path"), cycle(CREDITS[1:] + CREDITS[:1]), strict=False):
        expected = [by_functions(step) for step in vector["expected"]]
        try:
            result: Any = check(
                run(vector), expected, match=vector["match"], partial_credit=credit, parallel="in_order"
            )
        except CheckFailedError as failure:
            [result] = failure.results
        if result.score != scores(vector)[CREDITS.index(credit)]:
            wrong.append((vector, credit, result.score))

    assert wrong == []


def test_every_path_and_rule_is_kept_or_raised_by_calls() -> None:
    wrong = []
    for vector in [*vectors("path"), *vectors("rule")]:
        made = calls(run(vector), parallel="in_order")
        try:
            if "rule" in vector:
                made.rule(**vector["rule"])
            else:
                getattr(made, METHODS[vector["match"]])(*[by_functions(step) for step in vector["expected"]])
        except CheckFailedError:
            holds = False
        else:
            holds = True
        if holds != vector.get("met", vector.get("holds")):
            wrong.append(vector)

    assert wrong == []
