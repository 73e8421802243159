"""The part of an answer that an evaluator looks at, and its text."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Annotated, Any, TypeAlias

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging.core import After, Config, Length
from rightcall.limits import Limits
from rightcall.values.decoding import decode_text

_STEP = re.compile(r"([^.\[\]]+)|\[(\d+)\]")
_INDEX = re.compile("0|[1-9][0-9]*")
_BAD_ESCAPE = re.compile("~(?![01])")
_WHOLE = "*"

Target: TypeAlias = str | tuple[str, ...]


def _leads_somewhere(value: Target) -> Target:
    for key in (value,) if isinstance(value, str) else value:
        if key != _WHOLE and not _steps(key):
            raise ValueError(
                f"{shown(key)} is not a key; write '*' for the whole answer, a path such as a.b[0], "
                "or a JSON Pointer such as /a/b/0"
            )
    return value


class PartConfig(Config):
    """Which part of an answer is judged, and whether line by line.

    `target_output_key`: `*` is the whole answer, `a.b[0]` or the JSON Pointer `/a/b/0` a part of it, a list of keys an
    object of several parts.
    `line_by_line_evaluator`: the lines are judged one by one, and the score is the mean of theirs.
    """

    target_output_key: Annotated[Target, After(_leads_somewhere)] = _WHOLE
    line_by_line_evaluator: bool = False
    line_delimiter: Annotated[str, Length(1)] = "\n"


def part_of(value: Any, target: Target, limits: Limits) -> Any:
    """The part of an answer, or of an expected one, that a target names. A text is read as JSON for that.

    Raises:
        InputError: there is no such part.
    """
    if target == _WHOLE:
        return value
    value = readable(value, limits)
    if isinstance(target, str):
        return _at(value, target)
    return {key: _at(value, key) for key in target}


def expected_part(value: Any, target: Target, where: str, limits: Limits) -> Any:
    """The part of an expected answer that a target names. Raises `CriteriaError`."""
    try:
        return part_of(value, target, limits)
    except InputError as problem:
        raise CriteriaError(f"{where}: {problem}") from None


def pointer_of(target: str) -> str:
    """A target as a JSON Pointer, which is empty for the whole answer."""
    if target == _WHOLE or target.startswith("/"):
        return target.removeprefix(_WHOLE)
    steps = [index if key is None else key for key, index in _steps(target)]
    return "".join([f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps])


def holding(target: str, value: Any) -> Any:
    """An answer that has a value at a target, and nothing else."""
    for key, index in reversed(_steps(target) if target != _WHOLE else []):
        value = {key: value} if key is not None else [*[None] * int(index[:4]), value]
    return value


def readable(value: Any, limits: Limits) -> Any:
    """A value whose parts can be looked for: a text is read as JSON, if it is that."""
    if not isinstance(value, str):
        return value
    try:
        return decode_text(value, limits)
    except InputError:
        return value


def plain_text(value: Any) -> str:
    """The text of a value, for comparing it with text.

    As UiPath has it: a text is itself; everything else is what Python prints, with all numbers as floating-point
    numbers, so that 8 is `8.0` and an object `{'result': 8.0}`.
    """
    return value if isinstance(value, str) else str(_as_floats(value))


def lines_of(value: Any, delimiter: str) -> list[str]:
    """The lines of a value's text that are not blank."""
    return [line for line in plain_text(value).split(delimiter) if line.strip()]


def paired_lines(expected: list[str], actual: list[str]) -> list[tuple[str, str]]:
    """Lines side by side; where one text has more of them, the other's are empty."""
    return list(zip_longest(expected, actual, fillvalue=""))


def _at(value: Any, target: str) -> Any:
    for key, index in _steps(target):
        if key is not None and isinstance(value, dict) and key in value:
            value = value[key]
        elif index and isinstance(value, list) and int(index[:9]) < len(value):
            value = value[int(index[:9])]
        else:
            raise InputError(f"no {target!r} in {shown(value)}")
    return value


def _steps(target: str) -> list[tuple[str | None, str]]:
    """The steps of a path or a JSON Pointer (RFC 6901), each as a key, an index, or either; none if it is not one."""
    if not target.startswith("/"):
        return [(key or None, index) for key, index in _STEP.findall(target)]
    if _BAD_ESCAPE.search(target):
        return []
    tokens = [token.replace("~1", "/").replace("~0", "~") for token in target[1:].split("/")]
    return [(token, token if _INDEX.fullmatch(token) else "") for token in tokens]


def _as_floats(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _as_floats(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_floats(item) for item in value]
    if isinstance(value, int) and not isinstance(value, bool):
        try:
            return float(value)
        except OverflowError:
            return value
    return value
