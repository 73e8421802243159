"""All mistakes of an eval set are reported at once, each where it is, and none that is not one."""

from __future__ import annotations

from pathlib import Path

import pytest

from rightcall import DocumentError
from rightcall.cases.evalsets import eval_set_mistakes, load_eval_set

WRONG = """\
defaults: {matsh: EXACT}
evaluators:
  tone: {type: llm-judge-outputs}
rules:
  - {never: 5}
cases:
  - id: one
    expects: {calls: [a]}
  - id: two
    expect:
      calls:
        - search: {query: {$regx: "a"}}
        - book
        - pay: {amount: {$between: [1]}}
      ordr: [a, b]
      order: []
  - id: two
    expect: {never: refund}
    repeat: 2
    min_repeat_pass: 3
    tagz: [a]
  - expect: {calls: 5}
  - id: talk
    turns:
      - {input: hi, expect: {calls: [{a: {x: {$gtt: 1}}}]}}
  - id: mocked
    mocks: {pay: {return: 1}}
    expect: {calls: [pay]}
"""


def reported(tmp_path: Path, text: str) -> list[str]:
    (tmp_path / "wrong.yaml").write_text(text, encoding="utf-8")
    return [
        str(problem).removeprefix(f"{tmp_path}/wrong.yaml:") for problem in eval_set_mistakes(tmp_path / "wrong.yaml")
    ]


def test_every_mistake_is_reported_at_its_place_in_the_order_of_the_lines(tmp_path: Path) -> None:
    lines = reported(tmp_path, WRONG)

    places = [1, 3, 5, 8, 12, 14, 15, 16, 17, 18, 20, 21, 22, 22, 25, 27]
    assert [int(line.split(":", 1)[0]) for line in lines] == places
    assert lines[5].startswith("14:11: expected[2].args.amount: unknown matcher '$between'")
    assert lines[8] == "17:5: the id 'two' is already used by the case in line 9"
    assert lines[13] == "22:14: a list of calls is expected, not 5"


@pytest.mark.parametrize("text", ["cases: [", "- a", "cases: []", "{}", "cases: {a: 1}", "cases: [{id: a}, 5]"])
def test_a_file_that_is_wrong_as_a_whole_has_the_mistake_that_loading_it_has(tmp_path: Path, text: str) -> None:
    lines = reported(tmp_path, text)
    with pytest.raises(DocumentError) as first:
        load_eval_set(tmp_path / "wrong.yaml")

    assert str(first.value).removeprefix(f"{tmp_path}/wrong.yaml:") in lines


def test_what_one_call_binds_and_another_uses_is_not_a_mistake_beside_one(tmp_path: Path) -> None:
    calls = "[{a: {id: {$bind: s}}}, {b: {id: {$ref: s}}}, {c: {x: {$gtt: 1}}}]"

    [line] = reported(tmp_path, f"cases:\n- id: one\n  expect: {{calls: {calls}}}\n")

    assert "unknown matcher '$gtt'" in line


def test_an_eval_set_without_mistakes_has_none(tmp_path: Path) -> None:
    assert reported(tmp_path, "cases:\n- {id: a, expect: {calls: [a, {b: {x: 1}}], never: [c]}}\n") == []


def test_mistakes_without_end_are_cut(tmp_path: Path) -> None:
    cases = "".join(f"- {{id: c{number}, expects: 1}}\n" for number in range(300))

    assert len(reported(tmp_path, f"cases:\n{cases}")) == 100
