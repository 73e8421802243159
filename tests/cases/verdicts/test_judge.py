"""The result of a case, and the positions of its findings."""

from pathlib import Path

import pytest
from tests.builders import calls

from rightcall import CaseResult, load_eval_set
from rightcall.cases.verdicts import judge

WRITTEN = """\
cases:
  - id: a
    turns:
      - input: one
        expect: {calls: [search, check]}
      - input: two
    expect:
      order: [search, book]
      counts: {search: 1}
"""


def judged(tmp_path: Path, *made: str) -> CaseResult:
    path = tmp_path / "shop.yaml"
    path.write_text(WRITTEN, encoding="utf-8")
    return judge(load_eval_set(path).cases[0], calls(*made))


def test_the_place_of_each_call_of_an_expectation_that_did_not_pass_is_given(tmp_path: Path) -> None:
    result = judged(tmp_path, "search", "check")

    places = {each.path: [(source.line, source.column) for source in each.sources] for each in result.written}
    assert places == {"tool_calls_order": [(8, 15), (8, 23)], "expected_turns[0]": [(5, 26), (5, 34)]}
    assert [each.expectation for each in result.written] == ["order", "calls"]
    assert CaseResult.from_json(result.to_json()) == result


def test_expectations_that_passed_have_no_places(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("cases: [{id: a, input: x, expect: {calls: [search]}}]", encoding="utf-8")

    result = judge(load_eval_set(path).cases[0], calls("search"))

    assert result.passed
    assert result.written == ()
    assert "written" not in result.to_plain()


def test_of_very_many_calls_the_first_places_are_given(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(f"cases: [{{id: a, input: x, expect: {{calls: [{'search, ' * 500}]}}}}]", encoding="utf-8")

    [written] = judge(load_eval_set(path).cases[0], calls("search")).written

    assert len(written.sources) == 200


BESIDE = """\
evaluators:
  mine: {type: "checks.py:broken"}
cases:
  - id: a
    input: x
    expect: {mine: {}, tokens: 5, order: [search, book]}
"""
BROKEN = """\
def broken(trajectory):
    raise ValueError("the judge is down")
"""


def test_a_rule_that_was_broken_is_a_failure_whatever_broke_or_was_not_recorded_beside_it(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").touch()
    (tmp_path / "checks.py").write_text(BROKEN, encoding="utf-8")
    path = tmp_path / "shop.yaml"
    path.write_text(BESIDE, encoding="utf-8")
    [case] = load_eval_set(path).cases

    failed, not_failed = judge(case, calls("search")), judge(case, calls("search", "book"))

    assert (failed.verdict, failed.score) == ("failed", None)
    assert [each.expectation for each in failed.findings] == ["order", "mine", "tokens"]
    assert (not_failed.verdict, not_failed.score) == ("error", None)


@pytest.mark.parametrize(
    ("weights", "score"),
    [((1, 1), 0.75), ((3, 1), 0.625), ((0, 1), 1.0), ((0, 0), 0.75), ((1, 0), 0.5)],
)
def test_the_score_of_a_case_is_the_weighted_mean_of_its_expectations(
    tmp_path: Path, weights: tuple[int, int], score: float
) -> None:
    half, full = (
        f"{{criteria: [{names}], weight: {weight}}}" for names, weight in zip(("a, b", "a"), weights, strict=True)
    )
    path = tmp_path / "shop.yaml"
    path.write_text(f"cases: [{{id: c, expect: {{order: {half}, calls: {full}}}}}]", encoding="utf-8")

    result = judge(load_eval_set(path).cases[0], calls("a"))

    assert [each.score for each in result.results] == [0.5, 1.0]
    assert result.score == score
    assert result.verdict == "failed"
