"""One test for one rule, however many values the rule is tried on."""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Callable, Collection
from typing import Any

_SHOWN = 100


def for_each(
    name: str | tuple[str, ...], values: Collection[Any]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A test that tries its argument `name` as each of these, and tells all that fail, not only the first.

    Several names stand for the columns of a table, whose rows are the values. To pytest it is one test, without these
    arguments. `pytest.mark.parametrize` is for the few cases that deserve a name.
    Below `given`, each example is drawn once and tried on all of them: to draw it takes most of the time.
    """
    assert values, "a rule that is tried on nothing cannot fail"

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        def whole(*given: Any, **named: Any) -> None:
            others = shown.bind(*given, **named).arguments
            failures = [_failure(test, {**others, **_arguments(name, value)}, value) for value in values]
            told = [failure for failure in failures if failure]
            if told:
                raise AssertionError(f"{len(told)} of {len(values)} fail\n\n" + "\n".join(told))

        signature = inspect.signature(test)
        tried = {name} if isinstance(name, str) else {*name}
        assert tried <= {*signature.parameters}, f"{test.__name__} has no argument {name!r}"
        kept = [each for each in signature.parameters.values() if each.name not in tried]
        shown = signature.replace(parameters=kept)
        whole.__signature__ = shown  # type: ignore[attr-defined]
        whole.__name__, whole.__qualname__ = test.__name__, test.__qualname__
        whole.__module__, whole.__doc__ = test.__module__, test.__doc__
        whole.__dict__.update(pytestmark=getattr(test, "pytestmark", []))
        return whole

    return decorate


def _arguments(name: str | tuple[str, ...], value: Any) -> dict[str, Any]:
    return {name: value} if isinstance(name, str) else dict(zip(name, value, strict=True))


def _failure(test: Callable[..., None], arguments: dict[str, Any], value: object) -> str:
    """What is wrong with a value, and in which line; nothing if nothing is."""
    try:
        test(**arguments)
    except Exception as error:  # noqa: BLE001 - a value that raises is one that fails
        own = [each for each in traceback.extract_tb(error.__traceback__) if each.filename == test.__code__.co_filename]
        what = "".join(traceback.format_exception_only(error))
        return f"{ascii(value)[:_SHOWN]}, line {own[-1].lineno}: {what}"
    return ""
