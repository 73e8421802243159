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
    assert lines[5].startswith("14:17: calls[2].args.amount: unknown matcher '$between'")
    assert lines[8] == "17:5: the id 'two' is already used by the case on line 9"
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


def test_each_of_several_mistakes_in_one_object_has_its_place(tmp_path: Path) -> None:
    text = """\
cases:
- id: one
  expect:
    calls: [{b: {}}, {name: a, argz: {}, outputt: 1}]
    rules: [{call: a, only_aftr: b, direcly: true}]
    counts: {a: x, b: '<< 3'}
"""

    lines = reported(tmp_path, text)

    wrong = [(4, "argz"), (4, "outputt"), (5, "only_aftr"), (5, "direcly"), (6, "a: x"), (6, "b: '")]
    assert [line.split(": ", 1)[0] for line in lines] == [place_of(text, *each) for each in wrong]
    assert lines[0].endswith("unknown key 'calls[1].argz'; did you mean 'args'?")
    assert lines[5].endswith("counts.b: unknown operator '<<'; known: =, ==, !=, >, <, >=, <=")


def test_each_expected_value_with_a_mistake_has_its_place(tmp_path: Path) -> None:
    calls = "[{a: {x: {$gtt: 1}, y: 2, z: {$regx: b}}}, {name: b, args: {u: {$lenght: 1}}}]"
    text = f"cases:\n- id: one\n  expect: {{calls: {calls}}}\n"

    lines = reported(tmp_path, text)

    assert [line.split(": ", 1)[0] for line in lines] == [place_of(text, 3, key) for key in ("x: {", "z: {", "u: {")]
    assert ["'$gtt'" in lines[0], "'$regx'" in lines[1], "'$lenght'" in lines[2]] == [True] * 3


def place_of(text: str, line: int, part: str) -> str:
    return f"{line}:{text.splitlines()[line - 1].index(part) + 1}"


def test_a_value_bound_in_an_argument_with_a_mistake_is_not_a_second_mistake(tmp_path: Path) -> None:
    calls = "[{a: {x: {$allOf: [{$bind: s}, {$gtt: 1}]}, y: {$ref: s}}}]"

    [line] = reported(tmp_path, f"cases:\n- id: one\n  expect: {{calls: {calls}}}\n")

    assert "unknown matcher '$gtt'" in line


def test_an_eval_set_without_mistakes_has_none(tmp_path: Path) -> None:
    assert reported(tmp_path, "cases:\n- {id: a, expect: {calls: [a, {b: {x: 1}}], never: [c]}}\n") == []


def test_mistakes_without_end_are_cut(tmp_path: Path) -> None:
    cases = "".join(f"- {{id: c{number}, expects: 1}}\n" for number in range(300))

    assert len(reported(tmp_path, f"cases:\n{cases}")) == 100


def test_an_unknown_key_hides_the_key_that_it_may_be_and_no_wrong_value(tmp_path: Path) -> None:
    lines = reported(tmp_path, "cases:\n- {ids: a, tags: smoke, repeat: many, expect: {calls: [a]}}\n")

    assert [line.split(": ", 1)[1].split(";")[0] for line in lines] == [
        "unknown key 'cases[0].ids'",
        "cases[0].tags: a list is expected, not 'smoke'",
        "cases[0].repeat: a whole number is expected, not 'many'",
    ]
