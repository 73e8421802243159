"""What the turns of a conversation expect: together in one list for all turns, or each of them for itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, shown
from rightcall.judging import EVALUATORS, names_file, unavailable
from rightcall.values.decoding import Path

from ._models import WrittenCase, WrittenDefaults
from ._shorthands import (
    AddedEvaluator,
    Expected,
    default_criteria,
    default_settings,
    evaluator_of,
    resolve_expectation,
)
from ._source import EvalSetDocument


class TurnsExpected(msgspec.Struct, frozen=True):
    """What the turns of a case expect under one key."""

    key: str
    type_id: str
    turns: Mapping[int, Expected]
    """What each turn expects that has the key, and says something of it."""
    count: int
    """How many turns the case has."""

    @property
    def is_joint(self) -> bool:
        """Whether one check judges all turns: the evaluator can, and all turns say the same beside what they expect."""
        beside = [(each.config, each.weight, _beside(each)) for each in self.turns.values()]
        return judges_turns(self.type_id) and all([each == beside[0] for each in beside])

    def together(self) -> Expected:
        """Return the expectation of all turns, in a list with an item for each."""
        first = next(iter(self.turns.values()), Expected(self.type_id, {}, None))
        empty = EVALUATORS[self.type_id].empty_turn if self.type_id in EVALUATORS else None
        values = [_value(self.turns[number]) if number in self.turns else empty for number in range(self.count)]
        return Expected(self.type_id, first.config, {**_beside(first), "expected_turns": values}, weight=first.weight)

    def apart(self, defaults: WrittenDefaults) -> Mapping[int, Expected]:
        """Return the expectation of each turn; where an evaluator judges turns, that of turns without the key, too."""
        kind = EVALUATORS[self.type_id]
        found = {number: self._narrowed(number, each) for number, each in self.turns.items()}
        if kind.empty_turn is None or kind.shorthand is None or not judges_turns(self.type_id):
            return found
        first = next(iter(self.turns.values()))
        nothing = {kind.shorthand.criteria_key: kind.empty_turn, **default_settings(defaults, kind)}
        silent = msgspec.structs.replace(first, criteria=nothing, inside=(), places={})
        missing = {number: self._narrowed(number, silent) for number in range(self.count) if number not in self.turns}
        return dict(sorted({**found, **missing}.items()))

    def _narrowed(self, number: int, expected: Expected) -> Expected:
        """An expectation of one turn. In a conversation of one turn, it is one of the whole."""
        if self.count == 1:
            return expected
        is_answer = not EVALUATORS[self.type_id].reads_calls
        turn: int | str = "last" if is_answer and number == self.count - 1 else number
        criteria = default_criteria(expected.config) if expected.criteria is None else expected.criteria
        # A value that is not an object is a mistake, which the evaluator reports.
        narrowed = {**criteria, "turn": turn} if isinstance(criteria, dict) else criteria
        return msgspec.structs.replace(expected, criteria=narrowed)

    def place(self, place: Path, steps: Path) -> Path:
        """Return where a part of `expected_turns` is written: under `expect` of a turn."""
        if steps[:1] == ("expected_turns",) and len(steps) > 1 and isinstance(steps[1], int):
            return self.turn_place(place, steps[1], (_key(self.type_id), *steps[2:]))
        # A setting is the same in all turns.
        first = next((number for number, each in self.turns.items() if steps and steps[0] in each.places), None)
        return (*place, "turns") if first is None else self.turn_place(place, first, steps)

    def turn_place(self, place: Path, number: int, steps: Path) -> Path:
        """Return where a part of what a turn expects is written."""
        inside = self.turns[number].place(steps) if number in self.turns else ()
        return (*place, "turns", number, "expect", self.key, *inside)


def turn_expectations(
    written: WrittenCase,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    added: Mapping[str, AddedEvaluator],
) -> list[TurnsExpected]:
    """Return what the turns of a case expect, for each key of theirs.

    A turn without calls, while others have some, expects no calls. A turn without an answer expects any answer.

    Raises:
        DocumentError: a key names no evaluator or one that does not judge turns, a value is wrong, or the case expects
            the same of all turns.
    """
    turns = written.turns or ()
    keys = dict.fromkeys([key for turn in turns for key in turn.expect])
    found = []
    for key in keys:
        numbers = [number for number, turn in enumerate(turns) if key in turn.expect]
        type_id = _type_id(key, written, numbers[0], place, document, defaults, added)
        expected = {}
        for number in numbers:
            value, at = turns[number].expect[key], (*place, "turns", number, "expect", key)
            if value is not None or not judges_turns(type_id):
                with document.locating_errors(at, lambda steps: steps):
                    expected[number] = resolve_expectation(key, value, defaults, added, of_turn=True)
                    _check_turn(expected[number])
        found.append(TurnsExpected(key, type_id, expected, len(turns)))
    return found


def _type_id(
    key: str,
    written: WrittenCase,
    first: int,
    place: Path,
    document: EvalSetDocument,
    defaults: WrittenDefaults,
    added: Mapping[str, AddedEvaluator],
) -> str:
    at: Path = (*place, "turns", first, "expect", key)
    with document.locating_errors(at):
        _, type_id, _ = evaluator_of(key, defaults, added)
    if judges_turns(type_id):
        if key in written.expect:
            raise document.problem(f"{shown(key)} is expected of the case, too; say it in one place", at)
    elif type_id not in EVALUATORS or not EVALUATORS[type_id].reads_calls or EVALUATORS[type_id].waits:
        raise document.problem(f"{shown(key)} belongs to the case: it is about a whole run", at)
    return type_id


def _check_turn(expected: Expected) -> None:
    if isinstance(expected.criteria, dict) and "turn" in expected.criteria:
        message = "'turn' is for expectations of a case; a turn expects something of itself"
        raise CriteriaError(message, expected.place(("turn",)))


def judges_turns(type_id: str) -> bool:
    """Return whether an evaluator judges all turns at once. One that is not available is assumed to."""
    if type_id in EVALUATORS:
        return "expected_turns" in EVALUATORS[type_id].criteria_type.model_fields
    return bool(unavailable(type_id)) and not names_file(type_id)


def _key(type_id: str) -> str:
    shorthand = EVALUATORS[type_id].shorthand if type_id in EVALUATORS else None
    return "" if shorthand is None else shorthand.criteria_key


def _beside(expected: Expected) -> dict[str, Any]:
    """The criteria without what is expected."""
    if not isinstance(expected.criteria, dict):
        return {}
    return {name: value for name, value in expected.criteria.items() if name != _key(expected.type_id)}


def _value(expected: Expected) -> Any:
    key = _key(expected.type_id)
    is_held = isinstance(expected.criteria, dict) and key in expected.criteria
    return expected.criteria[key] if is_held else expected.criteria


def turn_label(key: str, number: int) -> str:
    """Return the name of a check of one turn."""
    return f"{key} (turn {number + 1})"
