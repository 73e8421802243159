"""The bounded decoder."""

import json
import math
from collections import UserDict
from enum import IntEnum, StrEnum
from typing import Any

import msgspec
import pytest
from hypothesis import example, given, strategies as st

from rightcall import InputError
from rightcall.limits import Limits
from rightcall.values.decoding import admit, decode_json, decode_text, dump_json, dump_line, load_as, load_json

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.text(max_size=3) | st.sampled_from(["$float", "$literal"]), inner, max_size=4)
    ),
    max_leaves=10,
)


class Colour(StrEnum):
    RED = "red"


class Level(IntEnum):
    HIGH = 3


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@given(values)
def test_what_is_dumped_is_loaded_again_bit_for_bit(value: Any) -> None:
    text = dump_json(value)

    assert repr(load_json(text)) == repr(value)
    assert "NaN" not in text.replace("\\", "") or "NaN" in repr(value)


@given(values)
@example([None, math.nan])
@example({"x": -math.inf})
@example({"$float": "nan"})
@example("é\u2028")
def test_what_is_dumped_on_a_line_is_what_is_dumped(value: Any) -> None:
    line = dump_line(value)

    assert repr(load_json(line)) == repr(value)
    assert json.loads(line) == json.loads(dump_json(value))
    assert b"\n" not in line


@pytest.mark.parametrize("dump", [dump_json, dump_line])
def test_lone_surrogates_nul_and_large_integers_survive(dump: Any) -> None:
    value = {"s": "\ud800\x00", "n": 2**70, "x": [math.inf, -math.inf]}

    assert load_json(dump(value)) == value


class Held(msgspec.Struct, forbid_unknown_fields=True):
    value: Any


@given(values)
def test_what_is_loaded_as_a_type_holds_what_was_dumped(value: Any) -> None:
    held = load_as(msgspec.json.Decoder(Held), dump_line({"value": value}))

    assert repr(held.value) == repr(value)


@pytest.mark.parametrize("text", [b"{}", b'{"value": 1, "more": 2}', b"[]", b"{", b"\xff", b'{"value": "\xff"}'])
def test_what_is_not_of_a_type_is_refused(text: bytes) -> None:
    with pytest.raises(InputError):
        load_as(msgspec.json.Decoder(Held), text)


def test_what_is_loaded_as_a_type_keeps_to_the_limits() -> None:
    text = dump_line({"value": nested(8)})

    with pytest.raises(InputError):
        load_as(msgspec.json.Decoder(Held), text, Limits(depth=5))


def test_a_line_has_no_spaces_between_values() -> None:
    assert dump_line({"a": [1, None], "é": 0.5}) == '{"a":[1,null],"é":0.5}'.encode()


@given(values)
@example("\ud800")
@example({"a": [], "b": {}, "c": [{}], "d": 1e16})
def test_indented_json_is_what_python_writes(value: Any) -> None:
    assert dump_json(value, indent=2) == json.dumps(json.loads(dump_json(value)), indent=2)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ("{'a': (1, 2)}", {"a": [1, 2]}),
        ("{'t': 25.0, 'ok': True, 'no': None}", {"t": 25.0, "ok": True, "no": None}),
        ("18446744073709551616", 2**64),
        ("[Infinity]", [math.inf]),
        ('"\\ud800"', "\ud800"),
        (r"{'p': '\d+\n'}", {"p": "\\d+\n"}),
        (r"{'p': 'C:\\dir'}", {"p": "C:\\dir"}),
        ('{"a": 1, "a": 2}', {"a": 2}),
    ],
)
def test_text_is_read_as_json_or_as_a_python_literal(text: str, value: Any) -> None:
    assert decode_text(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "hello",
        "{'a': 1",
        "b'bytes'",
        "{1, 2}",
        "{1: 2}",
        "1j",
        "f'{1}'",
        "__import__('os')",
        "[" * 201 + "]" * 201,
        "[" * 100_000,
        "-" * 100_000 + "1",
        "1+" * 50_000 + "1",
        "(" * 10_000 + ")" * 10_000,
        "9" * 5_000,
        "",
    ],
    ids=lambda text: text[:20],
)
def test_text_that_stands_for_no_value_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        decode_text(text)


def test_nesting_up_to_the_limit_is_read() -> None:
    assert decode_json("[" * 200 + "]" * 200) == nested(200)


@pytest.mark.parametrize("depth", [201, 1_000, 100_000])
def test_deeper_nesting_is_refused_in_text_and_in_values(depth: int) -> None:
    with pytest.raises(InputError, match="nested"):
        decode_json("[" * depth + "]" * depth)
    with pytest.raises(InputError, match="nested deeper than the limit of 200"):
        admit(nested(depth))


def test_each_limit_is_kept() -> None:
    limits = Limits(text_bytes=10, nodes=300, depth=3, integer_bits=8)

    with pytest.raises(InputError, match="exceeds the limit of 10"):
        decode_json('"' + "a" * 10 + '"', limits)
    with pytest.raises(InputError, match="more than the limit of 300 values"):
        admit([0] * 300, limits)
    with pytest.raises(InputError, match="more than the limit of 300 values"):
        decode_json("[" + "0," * 300 + "0]", Limits(nodes=300))
    with pytest.raises(InputError, match="9 bits"):
        admit(256, limits)
    with pytest.raises(InputError, match="limit of 3 levels"):
        admit([[[[]]]], limits)


def test_a_long_text_with_many_commas_is_not_many_values() -> None:
    text = "," * 400

    assert decode_json(f'"{text}"', Limits(nodes=300)) == text


def test_python_values_become_plain_json() -> None:
    value = admit({"t": (1, 2), "c": Colour.RED, "l": Level.HIGH, "m": UserDict({"x": 1}), "b": True})

    assert value == {"t": [1, 2], "c": "red", "l": 3, "m": {"x": 1}, "b": True}
    assert [type(item) for item in value.values()] == [list, str, int, dict, bool]


def test_a_copy_is_independent_of_what_was_given() -> None:
    given_value = {"a": [1]}

    copy = admit(given_value)
    given_value["a"].append(2)

    assert copy == {"a": [1]}


@pytest.mark.parametrize("value", [{1, 2}, b"x", ..., 1j, {1: 2}, [{"a": {None: 1}}]], ids=repr)
def test_what_is_not_json_is_refused_by_its_path(value: Any) -> None:
    with pytest.raises(InputError, match=r"at \$"):
        admit(value)


def test_a_cycle_is_refused() -> None:
    endless: list[Any] = []
    endless.append(endless)

    with pytest.raises(InputError, match="without end"):
        admit(endless)
