"""The arguments of a call by name."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from hypothesis import given, strategies as st

from rightcall import capture, tool


def plain(a: Any, b: Any = 2) -> None: ...
def keyword_only(a: Any, *, b: Any = 2, c: Any) -> None: ...
def positional_only(a: Any, b: Any = 2, /, c: Any = 3) -> None: ...
def many(a: Any, *rest: Any) -> None: ...
def more(a: Any = 1, **others: Any) -> None: ...
def everything(a: Any, /, b: Any, *rest: Any, c: Any = 4, **others: Any) -> None: ...
def clash(a: Any, /, **others: Any) -> None: ...


def recorded(function: Any, *args: Any, **kwargs: Any) -> Any:
    with capture() as captured:
        tool(function)(*args, **kwargs)
    return captured.trajectory().calls[0].args


@pytest.mark.parametrize(
    ("function", "args", "kwargs", "named"),
    [
        (plain, (1,), {}, {"a": 1, "b": 2}),
        (plain, (), {"b": 5, "a": 1}, {"a": 1, "b": 5}),
        (keyword_only, (1,), {"c": 3}, {"a": 1, "b": 2, "c": 3}),
        (positional_only, (1,), {"c": 9}, {"a": 1, "b": 2, "c": 9}),
        (many, (1, 2, 3), {}, {"a": 1, "rest": [2, 3]}),
        (many, (1,), {}, {"a": 1}),
        (more, (), {"x": 1}, {"a": 1, "x": 1}),
        (everything, (1, 2, 3), {"d": 5}, {"a": 1, "b": 2, "rest": [3], "c": 4, "d": 5}),
        (clash, (1,), {"a": 2, "b": 3}, {"a": 1, "b": 3, "others": {"a": 2}}),
    ],
)
def test_arguments_have_the_names_of_their_parameters(
    function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], named: dict[str, Any]
) -> None:
    found = recorded(function, *args, **kwargs)

    assert found == named
    assert list(found) == list(named)


NAMES = st.sampled_from(["a", "b", "c", "d"])


@given(
    function=st.sampled_from([plain, keyword_only, positional_only]),
    args=st.lists(st.integers(), max_size=4),
    kwargs=st.dictionaries(NAMES, st.integers(), max_size=4),
)
def test_arguments_are_bound_as_python_binds_them(function: Any, args: list[int], kwargs: dict[str, int]) -> None:
    try:
        bound = inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        with pytest.raises(TypeError):
            recorded(function, *args, **kwargs)
        return
    bound.apply_defaults()

    assert list(recorded(function, *args, **kwargs).items()) == list(bound.arguments.items())


def test_a_function_without_a_signature_has_its_arguments_in_a_list() -> None:
    with capture() as captured:
        assert tool(max)(3, 5) == 5

    call = captured.trajectory().calls[0]
    assert (call.name, call.args, call.output) == ("max", {"args": [3, 5]}, 5)
