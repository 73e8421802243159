"""One test for one rule, however many values the rule is tried on."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Collection
from typing import Any, TypeVar

T = TypeVar("T")
_SHOWN = 100


def for_each(name: str, values: Collection[T]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test that tries its argument `name` as each of these, and tells all that fail, not only the first.

    To pytest it is one test, without that argument. `pytest.mark.parametrize` is for the few cases that deserve a name.
    Below `given`, each example is drawn once and tried on all of them: to draw it takes most of the time.
    """
    assert values, "a rule that is tried on nothing cannot fail"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def whole(*given: Any, **named: Any) -> None:
            others = shown.bind(*given, **named).arguments
            failures = [_failure(test, {**others, name: value}, value) for value in values]
            told = [failure for failure in failures if failure]
            if told:
                raise AssertionError(f"{len(told)} of {len(values)} fail\n\n" + "\n".join(told))

        signature = inspect.signature(test)
        kept = [each for each in signature.parameters.values() if each.name != name]
        assert len(kept) < len(signature.parameters), f"{test.__name__} has no argument {name!r}"
        shown = signature.replace(parameters=kept)
        whole.__signature__ = shown  # type: ignore[attr-defined]
        whole.__name__, whole.__qualname__ = test.__name__, test.__qualname__
        whole.__module__, whole.__doc__ = test.__module__, test.__doc__
        whole.__dict__.update(pytestmark=getattr(test, "pytestmark", []))
        return whole

    return decorate


def _failure(test: Callable[..., None], arguments: dict[str, Any], value: object) -> str:
    """What is wrong with a value, and in which line; nothing if nothing is."""
    try:
        test(**arguments)
    except Exception as error:  # noqa: BLE001 - a value that raises is one that fails
        own = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == test.__code__.co_filename]
        what = "".join(traceback.format_exception_only(error))
        return f"{ascii(value)[:_SHOWN]}, line {own[-1].lineno}: {what}"
    return ""
