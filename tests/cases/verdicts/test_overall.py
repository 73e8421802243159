"""Evaluators of all cases together, and the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rightcall import DocumentError, Trajectory, load_eval_set
from rightcall.cases.evalsets import load_eval_set_with_code
from rightcall.cases.verdicts import Overall, judge, judge_outcome, not_measured_result
from rightcall.values.results import Outcome

WRITTEN = """\
overall:
  kinds: {type: classification, config: {threshold: 0.6}}
  own: {type: "checks.py:own", config: {timeout: 5}}
cases:
  - {id: a, input: x, metadata: {class: spam}, expect: {output: spam}}
  - {id: b, input: x, metadata: {class: ham}, expect: {output: ham}}
"""


def loaded(folder: Path, code: str) -> Any:
    (folder / "rightcall.toml").touch()
    (folder / "checks.py").write_text(code)
    (folder / "shop.yaml").write_text(WRITTEN)
    return load_eval_set_with_code(folder / "shop.yaml")


def results(folder: Path, code: str) -> Any:
    eval_set = loaded(folder, code)
    overall = Overall(eval_set.overall)
    for case, output in zip(eval_set.cases, ("spam", "spam"), strict=True):
        overall.add(overall.see(case, judge(case, Trajectory.of(["look"], output=output))))
    return overall.results()


def test_each_evaluator_says_one_thing_of_all_cases_with_its_place(tmp_path: Path) -> None:
    kinds, own = results(tmp_path, "def own(rows): return [row.case_id for row in rows] == ['a', 'b']")

    assert (kinds.evaluator, kinds.verdict, kinds.score) == ("kinds", "failed", 0.5)
    assert kinds.reason == "accuracy 0.5 over 2 cases, and 0.6 is needed"
    assert (kinds.source.line, own.source.line) == (2, 3)
    assert (own.verdict, own.score) == ("passed", 1.0)


def test_where_nothing_is_said_of_all_cases_nothing_is_seen_of_one(tmp_path: Path) -> None:
    (tmp_path / "shop.yaml").write_text("cases: [{id: a, expect: {order: [look]}}]")
    [case] = load_eval_set(tmp_path / "shop.yaml").cases
    overall = Overall(())

    overall.add(overall.see(case, judge(case, Trajectory.of(["look"]))))

    assert overall.results() == ()


def test_a_row_has_what_is_known_of_a_case(tmp_path: Path) -> None:
    code = """
def own(rows):
    a, b = rows
    assert (a.verdict, a.score, a.scores, a.output, a.tools) == ("passed", 1.0, {"output": 1.0}, "spam", ("look",))
    assert (b.verdict, b.metadata) == ("failed", {"class": "ham"})
    return True
"""
    assert results(tmp_path, code)[1].verdict == "passed"


@pytest.mark.parametrize(
    ("code", "verdict", "reason"),
    [
        ("def own(rows): raise ValueError('no')", "error", "ValueError while judging: no"),
        ("def own(rows): return None", "error", "'own' returned None; "),
        ("def own(rows): return float('nan')", "error", "'own' returned nan; "),
        ("async def own(rows): return 0.5", "failed", "scored 0.5 over 2 cases"),
        ("from rightcall import Judgement\ndef own(rows): return Judgement(None, 'why')", "not_measured", "why"),
    ],
)
def test_what_breaks_is_never_a_score(tmp_path: Path, code: str, verdict: str, reason: str) -> None:
    [_, own] = results(tmp_path, code)

    assert own.verdict == verdict
    assert own.reason.startswith(reason)


def test_a_case_without_an_answer_leaves_the_figure_unmeasured(tmp_path: Path) -> None:
    eval_set = loaded(tmp_path, "def own(rows): return all(not row.is_measured for row in rows)")
    overall = Overall(eval_set.overall)
    first, second = eval_set.cases
    outcome = Outcome(cause="raised", error="no")
    for case, result in (
        (first, judge_outcome(first, outcome, Trajectory.of([], output="spam"))),
        (second, not_measured_result(second, "RC303", "no trace")),
    ):
        overall.add(overall.see(case, result))

    assert [each.verdict for each in overall.results()] == ["not_measured", "passed"]


def test_code_is_imported_with_code_only(tmp_path: Path) -> None:
    loaded(tmp_path, "def own(rows): return True")
    overall = Overall(load_eval_set(tmp_path / "shop.yaml").overall)

    assert [each.verdict for each in overall.results()] == ["not_measured", "error"]


@pytest.mark.parametrize(
    ("type", "message"),
    [
        ("clasification", r"shop.yaml:3:9: no evaluator of all cases .* did you mean 'classification'\?"),
        ("checks.py:other", r"shop.yaml:3:9: checks.py:other does not take 'rows'"),
        ("checks.py:Kind", r"shop.yaml:3:9: checks.py:Kind is not a function"),
    ],
)
def test_what_cannot_judge_all_cases_is_refused_at_its_place(tmp_path: Path, type: str, message: str) -> None:
    loaded(tmp_path, "def own(rows): pass\ndef other(output): pass\nclass Kind: pass")
    path = tmp_path / "shop.yaml"
    path.write_text(WRITTEN.replace("checks.py:own", type))

    with pytest.raises(DocumentError, match=message):
        load_eval_set_with_code(path)
