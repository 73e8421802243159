"""Checks of values by the annotations of their keys, with a sentence for each mistake."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import msgspec

from rightcall.errors import shown

Path: TypeAlias = tuple[str | int, ...]
Place: TypeAlias = "tuple[Place, str | int] | None"
"""A path as a chain of steps, the last one first: most values are right, and their paths are never spelt out."""
Mistakes: TypeAlias = list[tuple[Path, str]]
Check: TypeAlias = Callable[[Any, Place, Mistakes], Any]
"""Returns the value to keep. A mistake is added to the list instead, and what is returned then is not used."""


class Before(msgspec.Struct, frozen=True):
    """In `Annotated`: a function that changes or refuses a value before its type is checked."""

    function: Callable[[Any], Any]


class Made(msgspec.Struct, frozen=True):
    """In `Annotated`: a function that makes a value of the right type, or refuses. The type is not checked again."""

    function: Callable[[Any], Any]


class After(msgspec.Struct, frozen=True):
    """In `Annotated`: a function that changes or refuses a value of the right type."""

    function: Callable[[Any], Any]


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """In `Annotated`: the bounds of a number."""

    above: float | None = None
    least: float | None = None
    most: float | None = None
    finite: bool = False


class Length(msgspec.Struct, frozen=True):
    """In `Annotated`: the bounds of the length of a text or list."""

    least: int = 0
    most: int | None = None


class Key(msgspec.Struct, frozen=True):
    """In `Annotated`: how users write the key, where that is not the name of the field in snake_case or camelCase."""

    written: str


class NotDumped(msgspec.Struct, frozen=True):
    """In `Annotated`: a value that is left out where a model is written as JSON."""


def path_of(place: Place) -> Path:
    """Return the steps to a place."""
    steps: list[str | int] = []
    while place is not None:
        place, step = place
        steps.append(step)
    return tuple(steps[::-1])


def text_of(place: Place) -> str:
    """Return the steps to a place as a text: `tool_calls[0].name`."""
    steps = [f"[{step}]" if isinstance(step, int) else f".{step}" for step in path_of(place)]
    return "".join(steps).lstrip(".")[:200]


def reject(place: Place, mistakes: Mistakes, wanted: str, value: Any) -> None:
    """Add the mistake that a value is not what is wanted."""
    mistakes.append((path_of(place), f"{text_of(place)}: {wanted}, not {shown(value)}"))


def refuse(place: Place, mistakes: Mistakes, problem: Exception) -> None:
    """Add the mistake that a function found."""
    path = text_of(place)
    mistakes.append((path_of(place), f"{path}: {problem}" if path else str(problem)))


def parts_of(hint: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return a type, and what `Annotated` adds to it."""
    return (hint.__origin__, hint.__metadata__) if get_origin(hint) is Annotated else (hint, ())


def check_of(hint: Any) -> Check | None:
    """Return the check of an annotation; none where any value is right."""
    kind, extras = parts_of(hint)
    for extra in extras:
        if isinstance(extra, Made):
            return partial(_check_before, None, extra.function)
    check = _check_of_type(kind)
    for extra in extras:
        if isinstance(extra, Bounds):
            check = partial(_check_bounds, check, extra)
        elif isinstance(extra, Length):
            check = partial(_check_length, check, extra)
        elif isinstance(extra, After):
            check = partial(_check_after, check, extra.function)
    for extra in extras:
        if isinstance(extra, Before):
            check = partial(_check_before, check, extra.function)
    return check


def _check_of_type(kind: Any) -> Check | None:
    if kind in _CHECKS:
        return _CHECKS[kind]
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        return _check_of_union(arguments)
    if origin is Literal:
        return partial(_check_choice, arguments)
    if origin is tuple and arguments[1:] == (...,):
        return partial(_check_items, check_of(arguments[0]))
    if origin is dict:
        return partial(_check_entries, check_of(arguments[0]), check_of(arguments[1]))
    if hasattr(kind, "check_value"):
        return kind.check_value  # type: ignore[no-any-return]
    return _check_of_pydantic(kind)


def _check_of_union(kinds: tuple[Any, ...]) -> Check:
    checks = [check_of(kind) for kind in kinds if kind is not NoneType]
    some = checks[0] if len(checks) == 1 else _check_number if set(kinds) == {int, float} else None
    some = some or partial(_check_any_of, checks)
    return partial(_check_nullable, some) if NoneType in kinds else some


def _check_of_pydantic(kind: Any) -> Check:
    """Have pydantic check a type that is not one of ours: criteria of custom evaluators may have any."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError

    adapter = TypeAdapter(kind, config=ConfigDict(arbitrary_types_allowed=True))

    def check(value: Any, place: Place, mistakes: Mistakes) -> Any:
        try:
            return adapter.validate_python(value)
        except ValidationError as problem:
            for each in problem.errors(include_url=False):
                inner = place
                for step in each["loc"]:
                    inner = (inner, step)
                reject(inner, mistakes, each["msg"], each["input"])
            return None

    return check


def _check_kind(kind: type, wanted: str, value: Any, place: Place, mistakes: Mistakes) -> Any:
    return value if isinstance(value, kind) else reject(place, mistakes, wanted, value)


def _check_int(value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, int) and not isinstance(value, bool):
        return value
    return reject(place, mistakes, "Input should be a valid integer", value)


def _check_float(value: Any, place: Place, mistakes: Mistakes) -> Any:
    try:
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return float(value)
    except OverflowError:  # a whole number of more than 308 digits
        pass
    return reject(place, mistakes, "a number is expected", value)


def _check_number(value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    return reject(place, mistakes, "a number is expected", value)


def _check_choice(choices: tuple[Any, ...], value: Any, place: Place, mistakes: Mistakes) -> Any:
    if isinstance(value, str) and value in choices:
        return value
    *others, last = [repr(choice) for choice in choices]
    return reject(place, mistakes, f"Input should be {', '.join(others)} or {last}", value)


def _check_items(check: Check | None, value: Any, place: Place, mistakes: Mistakes) -> Any:
    if not isinstance(value, (list, tuple)):
        return reject(place, mistakes, "a list is expected", value)
    if check is None:
        return tuple(value)
    return tuple([check(item, (place, index), mistakes) for index, item in enumerate(value)])


def _check_entries(
    check_key: Check | None, check_item: Check | None, value: Any, place: Place, mistakes: Mistakes
) -> Any:
    if not isinstance(value, Mapping):
        return reject(place, mistakes, "an object is expected", value)
    read = {}
    for key, item in value.items():
        if check_key is not None:
            check_key(key, ((place, key), "[key]"), mistakes)
        read[key] = item if check_item is None else check_item(item, (place, key), mistakes)
    return read


def _check_nullable(check: Check | None, value: Any, place: Place, mistakes: Mistakes) -> Any:
    return value if value is None or check is None else check(value, place, mistakes)


def _check_any_of(checks: list[Check | None], value: Any, place: Place, mistakes: Mistakes) -> Any:
    found: list[Mistakes] = []
    for check in checks:
        wrong: Mistakes = []
        read = value if check is None else check(value, place, wrong)
        if not wrong:
            return read
        found.append(wrong)
    # A value of the right kind has its mistakes deeper inside; those of the other kinds would only confuse.
    deepest = max([len(wrong[0][0]) for wrong in found])
    for wrong in found:
        mistakes += wrong if len(wrong[0][0]) == deepest else ()
    return None


def _check_bounds(check: Check | None, bounds: Bounds, value: Any, place: Place, mistakes: Mistakes) -> Any:
    count = len(mistakes)
    read = value if check is None else check(value, place, mistakes)
    if len(mistakes) > count:
        return read
    # `not read <= most` rather than `read > most`: NaN is within no bounds.
    if bounds.finite and not -sys.float_info.max <= read <= sys.float_info.max:
        wanted = "a finite number"
    elif bounds.most is not None and not read <= bounds.most:
        wanted = f"less than or equal to {bounds.most:.15g}"
    elif bounds.least is not None and not read >= bounds.least:
        wanted = f"greater than or equal to {bounds.least:.15g}"
    elif bounds.above is not None and not read > bounds.above:
        wanted = f"greater than {bounds.above:.15g}"
    else:
        return read
    return reject(place, mistakes, f"Input should be {wanted}", value)


def _check_length(check: Check | None, length: Length, value: Any, place: Place, mistakes: Mistakes) -> Any:
    count = len(mistakes)
    read = value if check is None else check(value, place, mistakes)
    if len(mistakes) > count:
        return read
    what, unit = ("String", "character") if isinstance(read, str) else ("Tuple", "item")
    after = "" if isinstance(read, str) else f" after validation, not {len(read)}"
    if len(read) < length.least:
        unit += "" if length.least == 1 else "s"
        return reject(place, mistakes, f"{what} should have at least {length.least} {unit}{after}", value)
    if length.most is not None and len(read) > length.most:
        return reject(place, mistakes, f"{what} should have at most {length.most} {unit}s{after}", value)
    return read


def _check_before(
    check: Check | None, change: Callable[[Any], Any], value: Any, place: Place, mistakes: Mistakes
) -> Any:
    try:
        changed = change(value)
    except ValueError as problem:
        return refuse(place, mistakes, problem)
    return changed if check is None else check(changed, place, mistakes)


def _check_after(
    check: Check | None, change: Callable[[Any], Any], value: Any, place: Place, mistakes: Mistakes
) -> Any:
    count = len(mistakes)
    read = value if check is None else check(value, place, mistakes)
    if len(mistakes) > count:
        return None
    try:
        return change(read)
    except ValueError as problem:
        return refuse(place, mistakes, problem)


_CHECKS: dict[Any, Check | None] = {
    Any: None,
    object: None,
    str: partial(_check_kind, str, "a text is expected"),
    bool: partial(_check_kind, bool, "true or false is expected"),
    int: _check_int,
    float: _check_float,
}
