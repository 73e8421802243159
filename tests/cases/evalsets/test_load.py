"""Eval sets in the native format."""

import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from rightcall import DocumentError, InputError, Trajectory
from rightcall.cases.evalsets import EvalSet, load_eval_set, load_expectation, parse_eval_set
from rightcall.cases.verdicts import judge
from rightcall.values.trajectory import Usage

SHOP = """\
agent: shop/agent.py:answer
defaults: {match: in_order, args: subset, threshold: 1.0, timeout: 30}
cases:
  - id: laptop_search
    input: {query: Find me a laptop}
    tags: [smoke]
    expect:
      calls:
        - search_products: {query: laptop}
        - get_product_details: {product_id: {$regex: "^P\\\\d+$"}}
        - check_inventory
      order: [search_products, check_inventory]
      counts: {search_products: "<= 2", check_inventory: 1}
      args: [{check_inventory: {product_id: P001}}]
      outputs: [{check_inventory: {in_stock: true}}]
      never: [delete_order]
      output: {$contains: laptop}
    mocks: {check_inventory: {returns: {in_stock: true}}}
"""


def load(tmp_path: Path, text: str, name: str = "shop.yaml") -> EvalSet:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return load_eval_set(path)


def problem(tmp_path: Path, text: str, name: str = "shop.yaml") -> str:
    with pytest.raises(DocumentError) as caught:
        load(tmp_path, text, name)
    return str(caught.value).removeprefix(f"{tmp_path / name}:")


def made(**changes: Any) -> Trajectory:
    calls = [
        {"name": "search_products", "args": {"query": "laptop", "limit": 5}, "output": []},
        {"name": "get_product_details", "args": {"product_id": "P001"}, "output": {}},
        {"name": "check_inventory", "args": {"product_id": "P001"}, "output": {"in_stock": True}},
    ]
    return Trajectory.of(calls, output="a fine laptop", **changes)


def test_every_shorthand_of_an_expectation_is_understood(tmp_path: Path) -> None:
    [case] = load(tmp_path, SHOP).cases

    result = judge(case, made())

    assert [check.key for check in case.checks] == ["calls", "order", "counts", "args", "outputs", "never", "output"]
    assert [each.verdict for each in result.results] == ["passed"] * 7
    assert (result.verdict, result.score) == ("passed", 1.0)


def test_what_else_a_case_says_is_kept(tmp_path: Path) -> None:
    eval_set = load(tmp_path, SHOP)
    [case] = eval_set.cases

    assert (eval_set.agent, eval_set.timeout, eval_set.name) == ("shop/agent.py:answer", 30, "shop")
    assert case.input == {"query": "Find me a laptop"}
    assert case.tags == ("smoke",)
    assert case.mocks == {"check_inventory": {"returns": {"in_stock": True}}}


def test_json_is_as_good_as_yaml(tmp_path: Path) -> None:
    document = {"$schema": "x", "cases": [{"id": "a", "expect": {"calls": [{"search": {"q": "\U0001f600"}}]}}]}

    [case] = load(tmp_path, json.dumps(document, indent="\t"), "set.json").cases

    assert judge(case, Trajectory.of([{"name": "search", "args": {"q": "\U0001f600"}}])).passed


def test_yaml_is_read_by_the_rules_of_version_1_2(tmp_path: Path) -> None:
    text = "cases:\n  - id: a\n    input: [NO, 12:30, 2026-01-01, yes, 0o17, 010, 1e3, ~, .inf, -.INF, on]\n"

    [case] = load(tmp_path, text).cases

    assert case.input == ["NO", "12:30", "2026-01-01", "yes", 15, 10, 1000.0, None, float("inf"), -float("inf"), "on"]


def test_without_defaults_calls_are_exact_with_subset_arguments(tmp_path: Path) -> None:
    [case] = load(tmp_path, "cases: [{id: a, expect: {calls: [{search: {q: 1}}]}}]").cases

    assert judge(case, Trajectory.of([{"name": "search", "args": {"q": 1, "n": 2}}])).passed
    assert not judge(case, Trajectory.of([{"name": "search", "args": {"q": 1}}, "more"])).passed


def test_the_long_form_sets_threshold_weight_and_configuration(tmp_path: Path) -> None:
    text = """
cases:
  - id: a
    expect:
      calls: {criteria: [search, book], match: any_order, weight: 3}
      order: {criteria: [search, book], threshold: 0.5, strict: false}
      tool-f1: {expected: [search]}
"""
    [case] = load(tmp_path, text).cases

    result = judge(case, Trajectory.of(["search"]))

    assert [each.verdict for each in result.results] == ["failed", "passed", "passed"]
    assert result.score == pytest.approx((3 * 0 + 0.5 + 1.0) / 5)


def test_own_evaluators_can_be_used_by_their_ids(tmp_path: Path) -> None:
    text = """
evaluators:
  loose: {type: tool-trajectory, config: {match_type: any_order}}
  strict_order: {type: uipath-tool-call-order, config: {strict: true}}
cases:
  - id: a
    expect: {loose: [b, a], strict_order: [a, b]}
"""
    [case] = load(tmp_path, text).cases

    assert judge(case, Trajectory.of(["a", "b"])).passed


def test_turns_expect_calls_each_for_itself(tmp_path: Path) -> None:
    text = """
cases:
  - id: talk
    turns:
      - {input: find, expect: {calls: [search]}}
      - input: book it
        expect:
          calls:
            - book: {id: 1}
"""
    [case] = load(tmp_path, text).cases
    calls = [{"name": "search", "args": {}, "turn": 0}, {"name": "book", "args": {"id": 2}, "turn": 1}]

    result = judge(case, Trajectory.of(calls))

    assert case.turns == ("find", "book it")
    assert result.score == 0.5
    assert [(placed.source.line, placed.source.column) for placed in result.findings] == [(9, 15)]


def test_turns_expect_answers_each_for_itself(tmp_path: Path) -> None:
    text = """
evaluators:
  words: {type: response-match, config: {threshold: 0.5}, weight: 3}
cases:
  - id: talk
    turns:
      - {input: stock?, expect: {output: {$contains: stock}, words: It is in stock}}
      - {input: wait}
      - input: reserve it
        expect:
          words: It is reserved
"""
    [case] = load(tmp_path, text).cases

    result = judge(case, Trajectory.of([], turn_outputs=["It is in stock", "Yes?", "Sorry, no"]))

    assert [(check.key, check.weight) for check in case.checks] == [("output", 1.0), ("words", 3.0)]
    assert [each.score for each in result.results] == [1.0, 0.5]
    assert result.verdict == "passed"
    assert str(case.checks[1].source("expected_turns[2]")).endswith(":11:11")


def test_a_turn_says_one_thing_in_one_place_and_nothing_of_the_whole(tmp_path: Path) -> None:
    twice = "cases: [{id: a, expect: {output: x}, turns: [{input: 1, expect: {output: y}}]}]"
    time = "cases: [{id: a, turns: [{input: 1, expect: {seconds: 1}}]}]"
    wrong = "cases: [{id: a, turns: [{input: 1, expect: {calls: [{a: 5}]}}]}]"

    assert problem(tmp_path, twice).startswith("1:66: 'output' is expected of the case, too")
    assert problem(tmp_path, time).startswith("1:45: 'seconds' belongs to the case: it is about a whole run")
    assert problem(tmp_path, wrong).startswith("1:54: criteria of 'calls': expected_turns[0][0].args: arguments are")


def test_null_stands_for_the_default_of_an_evaluator_of_the_file(tmp_path: Path) -> None:
    text = """
evaluators:
  order:
    type: tool-call-order
    config:
      default_evaluation_criteria:
        tool_calls_order: [a, b]
  bare: {type: tool-call-order}
cases:
  - {id: a, expect: {order: null}}
"""
    [case] = load(tmp_path, text).cases

    assert judge(case, Trajectory.of(["a", "b"])).passed
    assert case.checks[0].source("tool_calls_order[1]").line == 7
    assert "10:22: 'bare' was given no criteria" in problem(tmp_path, text.replace("order: null", "bare: null"))


def test_weights_count_in_the_score_and_may_be_nothing(tmp_path: Path) -> None:
    text = """
evaluators:
  heavy: {type: tool-call-order, weight: 3}
  light: {type: tool-call-order, weight: 0}
cases:
  - {id: a, expect: {heavy: [a, b], light: [x], order: [a]}}
  - {id: b, expect: {light: [x, a]}}
"""
    both, nothing = load(tmp_path, text).cases

    assert judge(both, Trajectory.of(["a"])).score == pytest.approx((3 * 0.5 + 1.0) / 4)
    assert judge(nothing, Trajectory.of(["a"])).score == 0.5


@pytest.mark.parametrize(
    ("mocks", "message"),
    [
        ("{search: {retuns: 1}}", "1:34: mock of 'search': unknown key 'retuns'; did you mean 'returns'?"),
        ("{search: {when: {q: 1}}}", "1:25: mock of 'search': a mock has one of returns, sequence, raises, then"),
        ("{search: {returns: 1, raises: KeyError}}", "this one has returns and raises"),
        ("{search: {sequence: []}}", "1:34: mock of 'search': sequence"),
        ("{search: [{returns: 1}, {sequence: 1}]}", "1:49: mock of 'search': sequence: a list is expected, not 1"),
        ("{search: []}", "1:25: the mock of 'search' has no rules"),
        ("{search: 5}", "1:25: the mock of 'search' is an object such as {returns: 1}, not 5"),
        (
            "{search: {raises: {typ: KeyError}}}",
            "1:43: mock of 'search': unknown key 'raises.typ'; did you mean 'type'",
        ),
        ("{search: {when: [1], returns: 1}}", "1:34: mock of 'search': when: an object is expected, not [1]"),
        ("{search: {then: [{returns: 1, raises: A}]}}", "1:41: mock of 'search': then[0]: an answer needs either"),
        ("{search: {returns: 1, each: true}}", "1:25: mock of 'search': 'each' needs a list under 'returns'"),
        ("[search]", "1:17: cases[0].mocks: an object is expected"),
    ],
)
def test_a_mistake_in_a_mock_is_told_with_its_place(tmp_path: Path, mocks: str, message: str) -> None:
    assert message in problem(tmp_path, f"cases: [{{id: a, mocks: {mocks}}}]")


def test_mocks_are_kept_as_they_are_written(tmp_path: Path) -> None:
    text = """
cases:
  - id: a
    mocks:
      stock: {returns: null}
      price:
        - {when: {sku: {$regex: ^P}}, returns: 10}
        - {when: {sku: X}, raises: {type: KeyError, message: no X}}
        - {when: {sku: Y}, raises: KeyError}
        - {sequence: [1, null]}
        - {positional: [P1], then: [{returns: 1}, {raises: KeyError}]}
        - {returns: [1, 2], each: true}
"""
    [case] = load(tmp_path, text).cases

    assert case.mocks["stock"] == {"returns": None}
    assert [sorted(rule) for rule in case.mocks["price"]] == [
        ["returns", "when"],
        ["raises", "when"],
        ["raises", "when"],
        ["sequence"],
        ["positional", "then"],
        ["each", "returns"],
    ]


def test_a_mistake_in_criteria_is_told_where_it_stands(tmp_path: Path) -> None:
    text = """
cases:
  - id: a
    expect:
      args:
        - {search: {q: 1}}
        - {search: 5}
"""

    assert problem(tmp_path, text).startswith("7:12: args[1].args: arguments are an object")
    spelt = "cases: [{id: a, expect: {order: {toolCallsOrder: [1]}}}]"
    assert problem(tmp_path, spelt).startswith("1:51: criteria of 'order': tool_calls_order[0]: a string is expected")


def test_what_is_not_available_is_an_error_by_name_and_no_mistake(tmp_path: Path) -> None:
    text = """
evaluators: {judge: {type: uipath-llm-judge-trajectory-simulation, config: {model: x}}, mine: {type: "file://mine.py:Mine"}}
cases: [{id: a, expect: {judge: {expectedOutput: x}, mine: null, order: [b]}}]
"""
    [case] = load(tmp_path, text).cases

    result = judge(case, Trajectory.of(["a"], output="x"))

    assert (result.verdict, result.score) == ("failed", None)
    assert [(each.finding.code, each.expectation) for each in result.findings] == [
        ("RC101", "order"),
        ("RC403", "judge"),
        ("RC403", "mine"),
    ]
    assert "'judge' (uipath-llm-judge-trajectory-simulation) is not yet available" in result.findings[1].finding.message
    bare = "cases: [{id: a, expect: {binary-classification: x}}]"
    assert "1:26: the evaluator 'binary-classification' is not yet available" in problem(tmp_path, bare)


def test_limits_of_a_run_are_expected_by_their_figures(tmp_path: Path) -> None:
    limits = "{steps: 1, redundant: 0, loops: 1, retries: 0, error_rate: 0, seconds: 1, call_seconds: 1, tokens: 9}"
    [case] = load(tmp_path, f"cases:\n- id: a\n  expect: {limits}").cases
    asked = {"name": "a", "args": {}, "output": 0, "start_ns": 0, "end_ns": 2_000_000_000}
    broken = {"name": "b", "args": {}, "error": "no", "start_ns": 0, "end_ns": 1}
    used = Usage(duration_ns=3_000_000_000, input_tokens=8, output_tokens=2)

    result = judge(case, Trajectory.of([asked, asked, broken, broken], usage=used))

    codes = {each.expectation: each.finding.code for each in result.findings}
    assert [(one.evaluator, one.verdict) for one in result.results] == [(key, "failed") for key in codes]
    assert list(codes.values()) == ["RC115", "RC111", "RC112", "RC113", "RC114", "RC115", "RC115", "RC115"]
    assert {each.source.line for each in result.findings} == {3}


def test_limits_can_be_spelt_out_and_are_checked(tmp_path: Path) -> None:
    spelt = "cases: [{id: a, expect: {redundant: {at_most: 1, read_only: [a]}, tokens: {input_tokens: 5}}}]"

    assert [check.evaluator.type_id for check in load(tmp_path, spelt).cases[0].checks] == [
        "redundant-calls",
        "token-usage",
    ]
    wrong = "cases: [{id: a, expect: {steps: few}}]"
    assert "steps: a whole number is expected, and not less than 0, not 'few'" in problem(tmp_path, wrong)


def test_a_finding_points_at_the_line_it_is_about(tmp_path: Path) -> None:
    [case] = load(tmp_path, SHOP).cases
    made_wrong = Trajectory.of(
        [
            {"name": "search_products", "args": {"query": "laptop"}, "output": []},
            {"name": "search_products", "args": {"query": "laptop"}, "output": []},
            {"name": "search_products", "args": {"query": "laptop"}, "output": []},
            {"name": "check_inventory", "args": {"product_id": "P9"}, "output": {"in_stock": False}},
            {"name": "delete_order", "args": {}, "output": None},
        ],
        output="a phone",
    )

    placed = [(each.expectation, each.finding.code, each.source.line) for each in judge(case, made_wrong).findings]

    assert placed == [
        ("calls", "RC101", 10),
        ("counts", "RC105", 13),
        ("args", "RC104", 14),
        ("outputs", "RC106", 15),
        ("never", "RC107", 16),
        ("output", "RC108", 17),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: [{id: a, expct: {}}]", "1:17: unknown key 'cases[0].expct'; did you mean 'expect'?"),
        ("cases:\n- id: a\n  expect:\n    cals: []", "4:5: 'cals' names no evaluator; did you mean 'calls'?"),
        ("cases:\n- id: a\n- id: b\n- id: a", "4:3: the id 'a' is already used by the case on line 2"),
        ("cases: []", "1:1: 'cases' is empty; an eval set has at least one case"),
        ("{}", "1:1: 'cases' is missing"),
        ("- a", "1:1: an eval set is an object with the key 'cases', not ['a']"),
        ("cases: [{id: a, id: b}]", "1:17: the key 'id' occurs twice in one object"),
        ("cases: [{id: 5}]", "1:10: cases[0].id: a string is expected, not 5"),
        ("cases: [{id: ''}]", "1:10: cases[0].id: an id has 1 to 300 characters, this one 0"),
        (
            "cases: [{id: a, turns: [], expect: {}}]",
            "1:9: cases[0]: 'turns' is empty",
        ),
        ("cases: [{id: a, input: 1, turns: [{input: 2}]}]", "1:9: cases[0]: a case has 'input' or 'turns', not both"),
        (
            "cases: !!python/object:os.system x",
            "1:8: the tag 'tag:yaml.org,2002:python/object:os.system' is",
        ),
        ("cases: [\n  {id: a", "did not find expected ',' or '}'"),
        ("evaluators: {x: {type: tool-cal-order}}\ncases: [{id: a}]", "1:18: no evaluator has the type id"),
        ("cases: [{id: a, expect: {order: {criteria: [a], weight: -1}}}]", "1:26: the weight of 'order' is a number"),
        ("cases: [{id: a, expect: {order: {criteria: [a], strct: true}}}]", "did you mean 'strict'?"),
        (
            "cases: [{id: a, expect: {calls: [{a: 1, b: 2}]}}]",
            "1:34: calls[0]: a call is a name or an object with one key",
        ),
        ("cases: [{id: a, expect: {calls: search}}]", "1:26: a list of calls is expected, not 'search'"),
        ("cases: [{id: a, expect: {calls: [{a: {x: {$rgx: b}}}]}}]", "unknown matcher '$rgx'; did you mean '$regex'?"),
        ("defaults: {match: sideways}\ncases: [{id: a}]", "1:12: match: unknown"),
        ("case: []", "1:1: unknown key 'case'; did you mean 'cases'?"),
        ("defaults: {args: exct}\ncases: [{id: a}]", "1:12: args: unknown argument"),
        ("defaults: {timeout: -1}\ncases: [{id: a}]", "1:12: defaults.timeout"),
    ],
)
def test_a_mistake_is_told_with_line_column_and_what_would_be_right(tmp_path: Path, text: str, message: str) -> None:
    assert message in problem(tmp_path, text)


def test_a_mistake_in_json_is_told_as_json(tmp_path: Path) -> None:
    assert problem(tmp_path, '{"cases": [{"id": "a"}', "set.json").startswith("1:23: ',' is expected")
    assert problem(tmp_path, '{\n  "cases": "a\n}', "set.json").startswith("2:12: a string that does not end")


@pytest.mark.parametrize(
    "text",
    [
        "a: &x [*x]",
        "a: " + "[" * 300 + "]" * 300,
        "\x00",
        "a: &a [x]\n" + "b: [" + "*a," * 2_000 + "]",
        "",
        "# only a comment",
    ],
    ids=["endless", "deep", "control", "aliases", "empty", "comment"],
)
def test_hostile_files_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(DocumentError):
        load(tmp_path, text)


def test_a_file_that_is_not_utf_8_or_not_there_is_refused(tmp_path: Path) -> None:
    (tmp_path / "latin.yaml").write_bytes(b"cases:\n- id: caf\xe9\n")

    with pytest.raises(DocumentError, match=r"latin\.yaml:2:1: the text is not UTF-8"):
        load_eval_set(tmp_path / "latin.yaml")
    with pytest.raises(InputError, match=r"nowhere\.yaml: No such file"):
        load_eval_set(tmp_path / "nowhere.yaml")


def test_an_expectation_alone_makes_cases() -> None:
    case_of = load_expectation("calls: [search]\nnever: [delete]", "--expect")

    assert judge(case_of("trace 1"), Trajectory.of(["search"])).passed
    assert judge(case_of("trace 2"), Trajectory.of(["search", "delete"])).case_id == "trace 2"
    with pytest.raises(DocumentError, match="--expect:1:1: an expectation is an object"):
        load_expectation("[search]", "--expect")


def test_an_object_of_pretty_json_is_where_its_first_key_stands(tmp_path: Path) -> None:
    calls = [{"name": "search", "args": {"query": "laptop"}}, {"pay": {"amount": 2}}]
    path = tmp_path / "shop.json"
    path.write_text(json.dumps({"cases": [{"id": "laptop", "expect": {"calls": calls}}]}, indent=2))
    [case] = load_eval_set(path).cases

    result = judge(case, Trajectory.of([]))

    assert [(str(placed.source), placed.source.excerpt.strip()) for placed in result.findings] == [
        (f"{path}:8:13", '"name": "search", "args": {"query": "laptop"}'),
        (f"{path}:14:13", '"pay": {"amount": 2}'),
    ]


@pytest.mark.parametrize(
    ("calls", "quoted"),
    [
        ("\n      - pay:\n          amount: 2", '- pay: {"amount": 2}'),
        ("\n      - pay: {amount: 2}", "- pay: {amount: 2}"),
        ("\n      - name: pay\n        args: {amount: 2}", "- name: pay"),
        ("\n      - pay:\n" + "".join(f"          a{n}: 1\n" for n in range(60)), "- pay:"),
        ("\n      - pay:\n          note: " + "x" * 600, "- pay:"),
    ],
    ids=["begun", "whole", "named", "many", "long"],
)
def test_a_line_that_only_begins_a_small_call_is_quoted_with_the_rest_of_it(
    tmp_path: Path, calls: str, quoted: str
) -> None:
    (tmp_path / "shop.yaml").write_text(f"cases:\n  - id: a\n    expect:\n      calls:{calls}\n")
    [case] = load_eval_set(tmp_path / "shop.yaml").cases

    [placed] = judge(case, Trajectory.of([])).findings

    assert placed.source.excerpt.strip() == quoted


def test_names_with_a_star_are_mistakes_at_their_place_where_they_are_turned_off(tmp_path: Path) -> None:
    head = "defaults: {wildcards: false}\ncases:\n- id: a\n"
    never = problem(tmp_path, head + '  expect: {never: ["delete_*"]}')
    mocked = problem(tmp_path, head + '  expect: {never: [a]}\n  mocks: {"delete_*": {returns: 1}}')

    for reported, place in ((never, "4:20:"), (mocked, "5:11:")):
        assert place in reported
        assert "'delete_*' has a '*', but names are exact here" in reported


def test_a_key_like_none_that_is_known_lists_each_known_key_once(tmp_path: Path) -> None:
    said = problem(tmp_path, "cases:\n- id: a\n  expect:\n    zzz: []")

    keys = said.partition("known: ")[2].split(", ")
    assert "calls" in keys
    assert len(keys) == len(set(keys))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cases: [{id: a, repeat: 2, min_repeat_pass: 3}]", "1:28: min_repeat_pass 3 is more than repeat 2"),
        ("{defaults: {min_repeat_pass: 3}, cases: [{id: a, repeat: 2}]}", "min_repeat_pass 3 is more than repeat 2"),
        ("cases: [{id: a, repeat: 0}]", "repeat"),
    ],
)
def test_repeats_that_cannot_be_are_told_at_their_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(text)

    with pytest.raises(DocumentError) as raised:
        load_eval_set(path)

    assert message in str(raised.value)


def test_a_case_takes_its_repeats_from_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("defaults: {repeat: 5, min_repeat_pass: 4}\ncases: [{id: a}, {id: b, repeat: 4}]")

    cases = load_eval_set(path).cases

    assert [(case.repeat, case.min_repeat_pass) for case in cases] == [(5, 4), (4, 4)]


_PLAIN = [{"name": "search", "args": {"to": "Paris", "people": 1}}, "book"]


def test_calls_without_matchers_are_compiled_when_they_are_first_used() -> None:
    [check] = _expecting({"calls": _PLAIN}).cases[0].checks
    assert check.evaluator not in check.criteria.plans

    calls: list[Any] = [{"name": "search", "args": {"to": "Paris", "people": True}}, "book"]
    result = check.evaluator.evaluate(calls, check.criteria)

    assert check.evaluator in check.criteria.plans
    assert not result.passed  # true is not 1
    eager = type(check.evaluator)(check.evaluator.id, check.evaluator.config)
    assert result.findings == eager.evaluate(calls, {"expected": _PLAIN, "parallel": "recorded"}).findings


@pytest.mark.parametrize(
    ("expect", "reason"),
    [
        ({"calls": [{"name": "search", "args": {"to": {"$regex": "("}}}]}, "regex"),
        ({"calls": [{"name": "search", "nth": 0}]}, "nth"),
        ({"calls": [{"name": "search", "id": "a"}]}, "tool_names"),
        ({"calls": {"expected": ["search"], "ignore_tools": ["search"]}}, "both expected and ignored"),
        ({"calls": [{"any_order": []}]}, "any_order"),
    ],
    ids=["matcher", "nth", "id", "ignored", "group"],
)
def test_what_only_compiling_finds_is_found_when_an_eval_set_is_loaded(expect: Any, reason: str) -> None:
    with pytest.raises(DocumentError, match=reason):
        _expecting(expect)


def _expecting(expect: Any) -> EvalSet:
    return parse_eval_set(json.dumps({"cases": [{"id": "a", "input": "x", "expect": expect}]}), "a.json")


@pytest.fixture
def collector_on() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    gc.collect()  # what was made while it was off counts as new until then
    yield
    if not was_on:
        gc.disable()


@pytest.mark.usefixtures("collector_on")
def test_what_is_frozen_is_counted_for_large_eval_sets_only(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Mock(return_value=1)
    monkeypatch.setattr(gc, "get_freeze_count", counted)
    large = [{"id": f"{each}", "expect": {"calls": [{"search": {"page": each}}]}} for each in range(1_000)]

    parse_eval_set(SHOP, "shop.yaml")
    counted.assert_not_called()
    parse_eval_set(json.dumps({"cases": large}), "shop.json")

    counted.assert_called_once()
