"""Values changed in the text of a document: every other character stays as it was."""

import json
from typing import Any

import pytest
from hypothesis import assume, given, strategies as st

from rightcall.cases.evalsets import DocumentEditor, dump_yaml
from rightcall.errors import DocumentError
from rightcall.matching.matchers import equal
from rightcall.values.decoding import decode_document

BLOCK = """\
# about all
cases:
  - id: a   # the id
    expect:
      calls:   # the path
        - search: {q: "x", n: {$lte: 5}}  # first
        # about get
        - get:
            id: 1
        - check
      order: [search,  get, check]   # names
"""


def changed(text: str, *changes: tuple[tuple[str | int, ...], Any]) -> str:
    """A text after changes, which must say what was asked for, and nothing else."""
    editing = DocumentEditor(text)
    intended = json.loads(json.dumps(editing.value))
    for path, value in changes:
        editing.change(path, value)
        place = intended
        for step in path[:-1]:
            place = place[step]
        place[path[-1]] = value
    made = editing.text()
    assert equal(decode_document(made).value, intended)
    return made


CALLS = ("cases", 0, "expect", "calls")
ORDER = ("cases", 0, "expect", "order")


def test_one_argument_changes_alone() -> None:
    made = changed(BLOCK, ((*CALLS, 0), {"search": {"q": "z", "n": {"$lte": 5}}}))

    assert made == BLOCK.replace('q: "x"', "q: z")


def test_items_of_a_list_come_and_go_by_lines_and_comments_stay() -> None:
    made = changed(BLOCK, (CALLS, [{"search": {"q": "x", "n": {"$lte": 5}}}, "check", {"pay": {"sum": 1}}]))

    assert made == BLOCK.replace("        - get:\n            id: 1\n", "").replace(
        "- check\n", "- check\n        - pay: {sum: 1}\n"
    )


def test_an_item_that_moves_keeps_its_text() -> None:
    made = changed(BLOCK, (CALLS, ["check", {"search": {"q": "x", "n": {"$lte": 5}}}, {"get": {"id": 1}}]))

    assert made == BLOCK.replace("        - check\n", "").replace(
        "        - search", "        - check\n        - search"
    )


def test_an_item_in_the_place_of_another_keeps_the_comment_beside_it() -> None:
    made = changed(BLOCK, ((*CALLS, 0), {"find": {"q": "x"}}))

    assert made == BLOCK.replace('search: {q: "x", n: {$lte: 5}}', "find: {q: x}")


def test_items_in_brackets_come_and_go() -> None:
    made = changed(BLOCK, (ORDER, ["find", "get", "check", "pay"]))

    assert made == BLOCK.replace("[search,  get, check]", "[find,  get, check,  pay]")


def test_the_last_item_goes() -> None:
    made = changed(BLOCK, (CALLS, []), (ORDER, ["search"]))

    assert "calls:   # the path\n        []\n" in made
    assert "order: [search]   # names" in made


def test_an_object_gets_a_key() -> None:
    text = "cases:\n- id: a\n  input: hi\n- id: b # last"

    made = changed(
        text,
        (("cases", 0), {"id": "a", "input": "hi", "expect": {"calls": ["x", {"w": {"z": 1}}]}}),
        (("cases", 1), {"id": "b", "expect": {"calls": []}}),
    )

    assert made == (
        "cases:\n- id: a\n  input: hi\n  expect:\n    calls:\n      - x\n      - w: {z: 1}\n"
        "- id: b # last\n  expect: {calls: []}"
    )


def test_lines_keep_their_ends() -> None:
    text = BLOCK.replace("\n", "\r\n")

    made = changed(text, (CALLS, ["new", "check", {"pay": {"sum": 1}}]))

    assert made.replace("\r\n", "").count("\n") == 0
    assert made.startswith("# about all\r\n")


def test_json_keeps_its_indentation() -> None:
    value = {"cases": [{"id": "a", "expect": {"calls": [{"search": {"q": "x"}}, "check"]}}]}
    text = json.dumps(value, indent=4) + "\n"

    made = changed(text, (("cases", 0, "expect", "calls"), [{"search": {"q": "y"}}, "check", {"pay": {"sum": 1}}]))

    value["cases"][0]["expect"]["calls"] = [{"search": {"q": "y"}}, "check", {"pay": {"sum": 1}}]  # type: ignore[index]
    assert made == json.dumps(value, indent=4) + "\n"


def test_json_on_one_line_stays_on_one_line() -> None:
    made = changed('{"cases":[{"id":"a","expect":{"order":["x"]}}]}', (("cases", 0, "expect", "order"), ["x", "y"]))

    assert made == '{"cases":[{"id":"a","expect":{"order":["x","y"]}}]}'


def test_what_others_share_by_an_anchor_is_not_changed() -> None:
    text = "cases:\n  - id: a\n    expect: &e {calls: [x]}\n  - id: b\n    expect: *e\n"

    with pytest.raises(DocumentError, match="line 3 has an anchor"):
        DocumentEditor(text).change(("cases", 0, "expect", "calls"), ["z"])
    assert changed(text, (("cases", 1, "expect"), {"calls": ["z"]})).endswith("    expect:\n      calls: [z]\n")


keys = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(
    ["name", "a", "b", "$any", "- x"]
)
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | keys
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4), max_leaves=12
)


def as_block(value: Any, indent: int = 0) -> str:
    """YAML by indentation all the way down, with a comment wherever there can be one."""
    before = "\n" + " " * indent
    if isinstance(value, dict) and value:
        return "".join(f"{before}{json.dumps(key)}: {as_block(item, indent + 2)}" for key, item in value.items())
    if isinstance(value, list) and value:
        return "".join(f"{before}# an item{before}- {as_block(item, indent + 2)}" for item in value)
    return f"{json.dumps(value)}  # {type(value).__name__}"


def written(value: Any, style: str) -> str:
    holder = {"before": 1, "here": value, "after": [1]}
    if style == "block":
        return as_block(holder) + "\n"
    if style == "yaml":
        return dump_yaml(holder)
    return json.dumps(holder, indent=2 if style == "json" else None)


@given(values, values, st.sampled_from(["block", "yaml", "json", "line"]), st.sampled_from(["\n", "\r\n"]))
def test_any_value_can_take_the_place_of_any_other(old: Any, new: Any, style: str, newline: str) -> None:
    text = written(old, style).replace("\n", newline)
    try:
        assume(equal(decode_document(text).value["here"], old))
    except DocumentError:
        assume(False)

    made = changed(text, (("here",), new))

    before, after = text.index("here"), text.rindex("after")
    assert made[:before] == text[:before]
    assert made.endswith(text[after - 1 :].removeprefix('"'))
    assert newline == "\n" or made.count("\n") == made.count("\r\n")
    assert not equal(old, new) or made == text
