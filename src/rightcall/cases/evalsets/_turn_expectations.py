"""Collect what the turns of a conversation expect, key by key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.errors import shown
from rightcall.judging import EVALUATORS, names_file, unavailable
from rightcall.values.decoding import Path

from ._models import WrittenCase, WrittenDefaults
from ._shorthands import Own, evaluator_of
from ._source import EvalSetDocument


def turn_keys(written: WrittenCase, place: Path, document: EvalSetDocument) -> list[str]:
    """Return the keys that the turns of a case have under `expect`.

    Raises:
        DocumentError: the case itself has one of them, too.
    """
    keys: dict[str, None] = {}
    for number, turn in enumerate(written.turns or ()):
        for key in turn.expect:
            if key in written.expect:
                at: Path = (*place, "turns", number, "expect", key)
                raise document.problem(f"{shown(key)} is expected of the case, too; say it in one place", at)
            keys[key] = None
    return list(keys)


def turn_values(
    key: str,
    written: WrittenCase,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    own: Mapping[str, Own],
) -> tuple[str, dict[str, Any], list[Any]]:
    """Return the type and configuration of the evaluator that a key names, and what each turn expects of it.

    A turn without calls, while others have some, expects no calls. A turn without an answer expects any answer: None.

    Raises:
        DocumentError: the key names no evaluator or one that does not judge turns, or a value is wrong.
    """
    turns = list(enumerate(written.turns or ()))
    first = next(number for number, turn in turns if key in turn.expect)
    at: Path = (*place, "turns", first, "expect", key)
    with document.locating_errors(at):
        shorthand, type_id, config = evaluator_of(key, defaults, own)
    if not _judges_turns(type_id):
        reason = "a turn expects 'calls' and an answer, such as 'output'"
        raise document.problem(f"{reason}; {shown(key)} belongs to the case", at)
    nothing: Any = [] if type_id == "tool-trajectory" else None
    values = []
    for number, turn in turns:
        value = turn.expect.get(key)
        with document.locating_errors((*place, "turns", number, "expect", key)):
            values.append(nothing if value is None else shorthand.read(value) if shorthand else value)
    return type_id, config, values


def _judges_turns(type_id: str) -> bool:
    """Whether an evaluator judges turns. One that is not available is assumed to."""
    if type_id in EVALUATORS:
        return "expected_turns" in EVALUATORS[type_id].criteria_type.model_fields
    return bool(unavailable(type_id)) and not names_file(type_id)


def turn_place(place: Path, key: str, steps: Path) -> Path:
    """Return where a part of `expected_turns` is written: under `expect` of a turn."""
    if len(steps) < 2:
        return (*place, "turns")
    return (*place, "turns", steps[1], "expect", key, *steps[2:])
