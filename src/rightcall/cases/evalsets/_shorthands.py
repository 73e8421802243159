"""Resolve the keys of `expect`, of a case and of its turns, to evaluators and criteria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, UnknownNameError, nearest, shown
from rightcall.judging import EVALUATORS, SHORTHANDS, Shorthand, evaluator_type, is_code, names_file, unavailable
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._models import WrittenCase, WrittenDefaults
from ._source import EvalSetDocument


class AddedEvaluator(msgspec.Struct, frozen=True):
    """An evaluator that a file adds under `evaluators`: its type, configuration and weight."""

    type_id: str
    config: dict[str, Any] = {}
    weight: float = 1.0


class Expected(msgspec.Struct, frozen=True):
    """One resolved expectation: the evaluator, its configuration and criteria, and where the criteria are."""

    type_id: str
    config: dict[str, Any]
    criteria: Any
    inside: tuple[str, ...] = ()
    """The keys in the file between the expectation and its criteria."""
    criteria_key: str | None = None
    """The key of the criteria that a shorthand leaves out."""
    weight: float = 1.0


def resolve_expectation(
    key: str, value: Any, defaults: WrittenDefaults, added: Mapping[str, AddedEvaluator]
) -> Expected:
    """Return the expectation for a key and a value in `expect`.

    `added` has the evaluators that the file adds, by id. Null means the default criteria of one of these.

    Raises:
        CriteriaError: the key names no evaluator, or the value is wrong for it.
    """
    shorthand, type_id, config = evaluator_of(key, defaults, added)
    inside: tuple[str, ...] = ()
    weight, given = added[key].weight if key in added else 1.0, value
    if isinstance(value, dict) and "criteria" in value:
        inside, given = ("criteria",), value["criteria"]
        settings = _settings(value)
        weight = _weight(settings.pop("weight", weight), key)
        config = {**config, **settings}
    if (
        shorthand is None
        or unavailable(type_id)
        or (given is None and key in added)
        or _has_criteria_keys(given, type_id)
    ):
        return Expected(type_id, config, given, inside, None, weight)
    criteria = {shorthand.criteria_key: shorthand.read(given)}
    return Expected(type_id, config, criteria, inside, shorthand.criteria_key, weight)


def criteria_path(value: Any, type_id: str) -> Path | None:
    """Return the keys from a written expectation to the part that a shorthand gives, or None if there is none."""
    inside: Path = ("criteria",) if isinstance(value, dict) and "criteria" in value else ()
    given = value["criteria"] if inside else value
    if given is None or not _has_criteria_keys(given, type_id):
        return None if given is None else inside
    kind = EVALUATORS[type_id]
    key = "" if kind.shorthand is None else kind.shorthand.criteria_key
    field = kind.criteria_type.model_fields.get(key)
    names = (key, field.alias) if field is not None else ()
    return next(((*inside, name) for name in names if name is not None and name in given), None)


def check_defaults(defaults: WrittenDefaults, limits: Limits) -> None:
    """Check defaults by making an evaluator with them. Raises `ConfigurationError`."""
    if not defaults.model_fields_set & {"match", "args", "threshold"}:
        return
    # The one evaluator whose configuration has all three.
    config = {"match_type": defaults.match, "args_match": defaults.args, "threshold": defaults.threshold}
    EVALUATORS["tool-trajectory"]("defaults", config, limits=limits)


def evaluator_of(
    key: str, defaults: WrittenDefaults, added: Mapping[str, AddedEvaluator]
) -> tuple[Shorthand | None, str, dict[str, Any]]:
    """Return what a key of `expect` names: the shorthand of its value, if any, a type id, and a configuration.

    Raises:
        CriteriaError: it names no evaluator.
    """
    threshold = {"threshold": defaults.threshold}
    if key in added:
        type_id = added[key].type_id
        if type_id not in EVALUATORS and is_code(type_id):
            return None, type_id, {**_explicit_threshold(defaults), **added[key].config}
        shorthand = EVALUATORS[type_id].shorthand if type_id in EVALUATORS else None
        return shorthand, type_id, {**threshold, **added[key].config}
    if (known := SHORTHANDS.get(key)) and (shorthand := EVALUATORS[known].shorthand):
        return shorthand, known, {**threshold, **shorthand.config(defaults.match, defaults.args)}
    if names_file(key):
        return None, key, _explicit_threshold(defaults)
    if reason := unavailable(key):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    try:
        return None, evaluator_type(key).type_id, threshold
    except UnknownNameError:
        if is_code(key):
            return None, key, _explicit_threshold(defaults)
        raise CriteriaError(
            f"{shown(key)} names no evaluator; {nearest(key, (*SHORTHANDS, *added, *EVALUATORS))}"
        ) from None


def _explicit_threshold(defaults: WrittenDefaults) -> dict[str, Any]:
    """Return the threshold if the file sets one. Otherwise custom code uses its own default."""
    return {"threshold": defaults.threshold} if "threshold" in defaults.model_fields_set else {}


def _settings(value: dict[str, Any]) -> dict[str, Any]:
    settings = {name: item for name, item in value.items() if name != "criteria"}
    for short, name in (("match", "match_type"), ("args", "args_match")):
        if short in settings:
            settings[name] = settings.pop(short)
    return settings


def _weight(weight: Any, key: str) -> float:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
        raise CriteriaError(f"the weight of {key!r} is a number of 0 or more, not {shown(weight)}")
    return float(weight)


def _has_criteria_keys(value: Any, type_id: str) -> bool:
    """Whether a value has the keys of the criteria, rather than being a shorthand for them."""
    if not isinstance(value, dict):
        return False
    fields = EVALUATORS[type_id].criteria_type.model_fields
    return any(name in value or field.alias in value for name, field in fields.items())


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
    added: Mapping[str, AddedEvaluator],
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
        shorthand, type_id, config = evaluator_of(key, defaults, added)
    if not _judges_turns(type_id):
        reason = "a turn expects 'calls' and an answer, such as 'output'"
        raise document.problem(f"{reason}; {shown(key)} belongs to the case", at)
    nothing = EVALUATORS[type_id].empty_turn if type_id in EVALUATORS else None
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
