"""Where the parts of a document are written."""

from __future__ import annotations

import base64
import gzip
import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.walls import for_each

from rightcall.errors import DocumentError
from rightcall.limits import Limits
from rightcall.values.decoding import Path, decode_document, decode_yaml

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=20,
)
documents = st.lists(values, max_size=4) | st.dictionaries(st.text(max_size=4), values, max_size=4)
layouts = st.sampled_from([{}, {"indent": 2}, {"indent": 0}, {"separators": (",", ":")}, {"ensure_ascii": False}])

TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+')


def offsets(text: str) -> dict[Path, int]:
    """Where each part of a JSON text is written, by reading it token after token."""
    tokens = list(TOKEN.finditer(text))
    found: dict[Path, int] = {}

    def part(number: int, path: Path, at: int | None = None) -> int:
        found[path] = tokens[number].start() if at is None else at
        opener = tokens[number][0]
        if opener not in "{[":
            return number + 1
        number, count = number + 1, 0
        while tokens[number][0] not in "}]":
            start = tokens[number].start()
            step: Any = json.loads(tokens[number][0]) if opener == "{" else count
            number = part(number + 2 if opener == "{" else number, (*path, step), start)
            count += 1
            number += tokens[number][0] == ","
        return number + 1

    part(0, ())
    return found


def places(text: str) -> Iterator[tuple[Path, tuple[int, int]]]:
    for path, offset in offsets(text).items():
        before = text[:offset]
        yield path, (before.count("\n") + 1, len(before) - before.rfind("\n"))


@given(documents, layouts, st.randoms(use_true_random=False))
def test_every_part_of_a_json_text_is_found_whatever_is_asked_for_first(
    value: Any, layout: dict[str, Any], random: Any
) -> None:
    text = json.dumps(value, **layout)
    document = decode_document(text)
    expected = list(places(text))
    random.shuffle(expected)

    assert document.value == value
    for path, place in expected:
        found = document.position(path)
        assert (path, (found.line, found.column)) == (path, place)


@for_each(
    "asked",
    [
        (("cases", 7, "id"), (1, 2)),
        (("cases", 0, "idd"), (1, 12)),
        (("cases", 0, "id", "x"), (1, 13)),
        (("nothing",), (1, 1)),
        (("cases", "id"), (1, 2)),
    ],
)
def test_a_part_that_is_not_there_has_the_place_of_the_nearest_part_around_it(asked: Any) -> None:
    path, place = asked
    found = decode_document('{"cases": [{"id": "a"}]}').position(path)

    assert (found.line, found.column) == place


@for_each(
    "written",
    [
        ('{"a": 1,\n "a": 2}', "2:2: the key 'a' occurs twice in one object"),
        ('[1,\n  {"b": [1, 2}]', "2:14: ',' is expected"),
        ("[1, 2]\n [3]", "2:2: there is more text after the end of the document"),
        ('["a\\qb"]', "1:2: a string that does not end, or has an escape that JSON does not know"),
        ('{"a" 1}', "1:6: ':' is expected"),
        ("[1, @]", "1:5: a value is expected"),
    ],
)
def test_a_mistake_in_json_is_told_with_its_place(written: tuple[str, str]) -> None:
    text, told = written
    with pytest.raises(DocumentError) as problem:
        decode_document(text)

    assert f"{problem.value.line}:{problem.value.column}: {problem.value}" == told


@for_each("depth", [1, 2, 3])
def test_values_up_to_the_limit_are_decoded_and_deeper_ones_refused(depth: int) -> None:
    limits = Limits(depth=depth)
    deepest = "[" * depth + "[]" + "]" * depth
    too_deep = "[" * depth + "[1]" + "]" * depth

    assert decode_document(deepest, limits).value == json.loads(deepest)
    with pytest.raises(DocumentError, match=f"nested deeper than the limit of {depth} levels") as problem:
        decode_document(too_deep, limits)
    assert problem.value.column == depth + 2


@for_each("opener", ["[", '{"a":', "- ", "? "])
def test_thousands_of_levels_are_refused_and_not_a_crash(opener: str) -> None:
    with pytest.raises(DocumentError, match="nested deeper"):
        decode_document(opener * 100_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("cases:\n\t- id: a\n", "2:1: lines are indented with spaces in YAML, and this is a tab"),
        ("cases:\n- id: @a\n", "2:7: no value begins with this character; put the value into quotes"),
        ("cases:\n- id: a\n   input: b\n", "3:9: a key is not expected here: check the indentation"),
        (
            "input: What: a test\n",
            "1:12: a key is not expected here: check the indentation of this line and of the one",
        ),
        ("cases:\n  - id: a\n   input: b\n", "3:4: an item that begins with '-' is expected here: check"),
        ("a: {b: 1}\n c: 2\n", "2:2: a key is expected here"),
        ('id: "a\n', "2:1: the document ends before a quotation mark is closed"),
    ],
    ids=str,
)
def test_a_mistake_in_yaml_is_told_in_plain_words(text: str, said: str) -> None:
    with pytest.raises(DocumentError) as caught:
        decode_document(text)

    assert f"{caught.value.line}:{caught.value.column}: {caught.value}".startswith(said)


def test_binary_data_in_yaml_is_text_unpacked_up_to_the_limit() -> None:
    def written(data: bytes) -> str:
        return f"- !!binary {base64.b64encode(data).decode()}"

    packed = gzip.compress(b"a" * 100)

    assert decode_yaml(written(b"a tv"), Limits()) == ["a tv"]
    assert decode_yaml(written(packed), Limits(text_bytes=100)) == ["a" * 100]
    assert decode_yaml(written(b"\xff"), Limits()) == ["\ufffd"]
    with pytest.raises(DocumentError, match="more than 99 bytes"):
        decode_yaml(written(packed), Limits(text_bytes=99))
    with pytest.raises(DocumentError, match="damaged binary data"):
        decode_yaml(written(packed[:3] + b"x" * 30), Limits())
    with pytest.raises(DocumentError, match="tag"):
        decode_document(written(b"a tv"))


def test_yaml_of_too_many_values_is_refused_before_it_is_in_memory() -> None:
    with pytest.raises(DocumentError, match="more values"):
        decode_yaml("[" + "1, " * 20 + "1]", Limits(nodes=200))
    with pytest.raises(DocumentError, match="more values"):
        decode_document("- " + "[" + "1, " * 20 + "1]", Limits(nodes=20))
    assert len(decode_yaml("[" + "1, " * 18 + "1]", Limits(nodes=200))) == 19
