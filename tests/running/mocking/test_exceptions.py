"""Exceptions by name: found where they are, never imported."""

from __future__ import annotations

import sys
import types
from collections.abc import Iterator
from typing import Any

import pytest

from rightcall.errors import MockError
from rightcall.running.mocking import Mocks


class SoldOutError(Exception):
    """One that the agent has defined."""

    def __init__(self, sku: str, *, left: int) -> None:
        super().__init__(sku)
        self.left = left


@pytest.fixture
def _modules() -> Iterator[None]:
    """Two modules that an agent has imported; one would import something if it was asked for a name."""
    shop, other = types.ModuleType("shop_errors"), types.ModuleType("other_errors")
    shop.__dict__.update(SoldOutError=SoldOutError, RateLimitError=type("RateLimitError", (Exception,), {}))
    other.__dict__.update(RateLimitError=type("RateLimitError", (Exception,), {"__module__": "other_errors"}))
    other.__dict__["__getattr__"] = lambda name: pytest.fail(f"asked for {name}")
    sys.modules.update(shop_errors=shop, other_errors=other)
    yield
    del sys.modules["shop_errors"], sys.modules["other_errors"]


def raised_by(raises: Any) -> BaseException | None:
    answer = Mocks.of({"buy": {"raises": raises}}).answer("buy", {})
    assert answer is not None
    return answer.error


@pytest.mark.usefixtures("_modules")
@pytest.mark.parametrize("name", ["SoldOutError", "shop_errors.SoldOutError"])
def test_an_exception_of_a_module_that_is_loaded_is_found(name: str) -> None:
    assert type(raised_by(name)) is SoldOutError


@pytest.mark.usefixtures("_modules")
def test_one_that_wants_other_arguments_is_made_all_the_same() -> None:
    error = raised_by({"type": "SoldOutError", "message": "P1"})

    assert isinstance(error, SoldOutError)
    assert error.args == ("P1",)


@pytest.mark.usefixtures("_modules")
def test_a_name_that_several_have_must_say_which() -> None:
    with pytest.raises(
        MockError, match=r"there are several: .*other_errors.RateLimitError.*; write it with its module"
    ):
        raised_by("RateLimitError")

    assert type(raised_by("other_errors.RateLimitError")).__module__ == "other_errors"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("KeyEror", "did you mean 'KeyError'?"),
        ("antigravity.Nothing", "is its module imported by the agent?"),
        ("os.system", "is its module imported by the agent?"),
        ("SystemExit", "neither an exception of Python"),
        ("KeyboardInterrupt", "neither an exception of Python"),
        ("__import__", "neither an exception of Python"),
        ("print", "neither an exception of Python"),
        ("https://example.com/x.py", "is its module imported by the agent?"),
        ("..", "is its module imported by the agent?"),
    ],
)
def test_what_is_no_exception_is_an_error_that_says_so_and_imports_nothing(name: str, hint: str) -> None:
    before = set(sys.modules)

    with pytest.raises(MockError) as raised:
        raised_by(name)

    assert hint in str(raised.value)
    assert set(sys.modules) - before <= {"difflib"}
