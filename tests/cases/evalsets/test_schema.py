"""The JSON Schema of native eval sets."""

import re
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from tests.cases.evalsets import adk_files

from rightcall.cases.evalsets import convert_eval_set, eval_set_schema
from rightcall.judging import OTHER_NAMES, SHORTHANDS, STEP_WORDS
from rightcall.matching.matchers import MATCHERS
from rightcall.values.decoding import decode_document

ROOT = Path(__file__).parents[3]
BLOCKS = [
    (f"{page.relative_to(ROOT)}", block)
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    for block in re.findall(r"^```yaml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if "\ncases:" in f"\n{block}"
]
EXAMPLES = [path for path in sorted((ROOT / "docs" / "examples").glob("*.yaml")) if path.name != "mistake.yaml"]
VALIDATOR = Draft202012Validator(eval_set_schema())


def mistakes(text: str | bytes) -> list[str]:
    return [error.message for error in VALIDATOR.iter_errors(decode_document(text).value)]


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(eval_set_schema())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_every_example_is_valid(path: Path) -> None:
    assert mistakes(path.read_bytes()) == []


@pytest.mark.parametrize(("page", "block"), BLOCKS, ids=[page for page, _ in BLOCKS])
def test_every_eval_set_in_the_documents_is_valid(page: str, block: str) -> None:
    assert mistakes(block) == []


def test_converted_files_are_valid() -> None:
    assert mistakes(convert_eval_set(adk_files.DATA / "from_web.evalset.json")) == []


@pytest.mark.parametrize(
    "text",
    [
        "case: []",
        "cases: []",
        "cases: [{id: a, expct: {}}]",
        "cases: [{id: a, expect: {cuonts: {a: 1}}}]",
        "cases: [{id: a, expect: {calls: {expectd: []}}}]",
        "cases: [{id: a, expect: {order: {criteria: [a], strct: true}}}]",
        "cases: [{id: a, expect: {tool-f1: {expcted: []}}}]",
        "cases: [{id: a, turns: [{input: 1, expct: {}}]}]",
        "cases: [{id: a, input: 1, turns: [{input: 1}]}]",
        "cases: [{id: a, mocks: {t: {retuns: 1}}}]",
        "cases: [{id: a, mocks: {t: {returns: 1, sequence: [2]}}}]",
        "cases: [{id: a, mocks: {t: {raises: {typ: KeyError}}}}]",
        "cases: [{id: a, mocks: {t: {then: [{return: 1}]}}}]",
        "cases: [{id: 5}]",
        "{defaults: {mtch: EXACT}, cases: [{id: a}]}",
        "{evaluators: {x: {typ: contains}}, cases: [{id: a}]}",
        "{evaluators: {x: {type: contians}}, cases: [{id: a}]}",
        "{evaluators: {x: {type: contains}}, cases: [{id: a, expct: {}}]}",
    ],
)
def test_a_misspelt_key_is_refused(text: str) -> None:
    assert mistakes(text) != []


def completions(schema: Any, *path: str) -> set[str]:
    """The keys that an editor offers at a place."""
    for step in path:
        schema = schema["$defs"][step]
    return set(schema["properties"])


def test_an_editor_can_complete_the_keys() -> None:
    schema = eval_set_schema()

    assert {"cases", "defaults", "evaluators", "agent", "$schema"} <= set(schema["properties"])
    assert {"id", "input", "turns", "expect", "mocks", "tags"} <= completions(schema, "case_closed")
    assert {"calls", "order", "never", "output", "tool-f1", "contains"} <= completions(schema, "expect_closed")
    assert completions(schema, "mock") == {*("when", "positional", "returns", "each", "sequence", "raises", "then")}


def test_editors_have_something_to_say_of_every_key_that_is_written_often() -> None:
    definitions = eval_set_schema()["$defs"]
    keys = {
        **eval_set_schema()["properties"],
        **definitions["case_closed"]["properties"],
        **definitions["expect_closed"]["properties"],
        **definitions["mock"]["properties"],
    }

    silent = [key for key, schema in keys.items() if not schema.get("description") and "doNotSuggest" not in schema]

    assert set(silent) <= {"$schema", "name", "description"}
    assert definitions["expect_closed"]["properties"]["calls"]["description"].startswith("Whether the agent took")


def test_names_of_other_tools_are_allowed_but_not_proposed() -> None:
    keys = eval_set_schema()["$defs"]["expect_closed"]["properties"]

    assert {key for key, schema in keys.items() if schema.get("doNotSuggest")} == {
        *[key for key in keys if key.startswith("uipath-")],
        *(OTHER_NAMES.keys() - SHORTHANDS.keys()),
    }
    assert {"tool_trajectory_avg_score", "response_match_score", "final_response_match_v2"} <= keys.keys()


def test_what_init_writes_is_valid_and_names_the_schema_beside_it() -> None:
    text = (ROOT / "src/rightcall/cli/template/evals/shop.yaml").read_text(encoding="utf-8")

    assert text.startswith("# yaml-language-server: $schema=evalset.schema.json\n")
    assert mistakes(text) == []


@pytest.mark.parametrize(
    "calls",
    [
        "[search, {search: {q: 1}}, {search: null}, {name: search, args: {q: 1}, status: ok, agent: a, turn: 0}]",
        "[{any_order: [a, b, [c, d]]}, {at_once: [a, b]}, {optional: a}, {optional: [a, b]}, {one_of: [a, [b, c]]}]",
        "[{repeat: [edit, test], at_least: 1, at_most: 3}, {steps: [a, b], agent: billing}, [a, b]]",
        "[{any_order: [{optional: {repeat: {one_of: [a, {steps: [b, {at_once: [c, d]}]}]}}}, e]}]",
        "{expected: [a, {any_order: [b, c]}], match: in_order, args: exact, extra: others, parallel: overlap}",
        "{criteria: [a], failed: ignore, ignore_tools: [x], agent: b, top_level: true, partial_credit: f1}",
        "{criteria: {expected: [a], parallel: in_order}, match: exact, threshold: 0.8}",
        "[{name: optional}, {anyOrder: [a, b]}]",
    ],
)
def test_an_editor_accepts_every_step_and_setting(calls: str) -> None:
    assert mistakes(f"cases: [{{id: a, expect: {{calls: {calls}}}}}]") == []


@pytest.mark.parametrize(
    "calls",
    [
        "[{anyorder: [a, b]}]",
        "[{any_order: [a], one_of: [b]}]",
        "[{any_order: []}]",
        "[{optional: a, at_most: 2}]",
        "[{any_order: [a], agent: b}]",
        "[{repeat: a, at_most: 0}]",
        "[{name: {$in: [a, b]}}]",
        "[{name: a, optional: true}]",
        "[{name: a, staus: ok}]",
        "[{$in: [a, b]}]",
        "{expected: [a], parallel: sideways}",
        "{expected: [a], paralel: overlap}",
    ],
)
def test_an_editor_refuses_what_is_a_mistake(calls: str) -> None:
    assert mistakes(f"cases: [{{id: a, expect: {{calls: {calls}}}}}]") != []


def test_an_editor_completes_and_explains_every_word_of_steps_and_every_setting() -> None:
    definitions = eval_set_schema()["$defs"]
    settings = ("match", "args", "extra", "parallel", "failed", "ignore_tools", "agent", "top_level", "partial_credit")
    expected = {
        "group": (*STEP_WORDS, "at_least", "at_most", "agent"),
        "defaults": (*settings, "threshold", "weight", "timeout"),
        "criteria_tool-trajectory": ("criteria", "expected", "match", "args", "parallel", "partial_credit", "weight"),
        "criteria_tool-call-order": ("criteria", "expected", "parallel", "ignore_tools", "agent", "turn", "threshold"),
        "criteria_final-output": ("criteria", "turn", "threshold", "weight"),
    }

    for name, words in expected.items():
        properties = definitions[name]["properties"]

        assert [word for word in words if not properties.get(word, {}).get("description")] == [], name
    [_, whole, _] = definitions["call"]["anyOf"]
    assert {"name", "args", "output", "status", "agent", "turn", "nth"} <= whole["properties"].keys()
    assert all([part["description"] for part in whole["properties"].values()])


def test_editors_complete_matchers_in_the_arguments_of_a_step() -> None:
    definitions = eval_set_schema()["$defs"]

    assert set(MATCHERS) <= set(definitions["value"]["anyOf"][0]["properties"])
    whole, short = definitions["call"]["anyOf"][1:]
    assert whole["properties"]["args"]["additionalProperties"] == {"$ref": "#/$defs/value"}
    assert short["additionalProperties"]["additionalProperties"] == {"$ref": "#/$defs/value"}
