"""From the keys of `expect` to evaluators and their criteria."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, UnknownNameError, nearest, shown
from rightcall.judging import EVALUATORS, SHORTHANDS, Shorthand, evaluator_type, is_code, names_file, unavailable
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._models import WrittenDefaults


class Own(msgspec.Struct, frozen=True):
    """An evaluator that a file adds: its type, its configuration, and how much it counts."""

    type_id: str
    config: dict[str, Any] = {}
    weight: float = 1.0


class Expected(msgspec.Struct, frozen=True):
    """One expectation, spelt out: the evaluator, its configuration and criteria, and where the criteria stand."""

    type_id: str
    config: dict[str, Any]
    criteria: Any
    inside: tuple[str, ...] = ()
    """Keys between the expectation and its criteria, in the file."""
    criteria_key: str | None = None
    """The key that the file leaves out, where it uses the shorthand."""
    weight: float = 1.0


def spell_out(key: str, value: Any, defaults: WrittenDefaults, own: Mapping[str, Own]) -> Expected:
    """The expectation that a key and a value in `expect` stand for.

    `own` has the evaluators that the file adds, by id. Null, for one of these, stands for its default criteria.

    Raises:
        CriteriaError: the key names no evaluator, or the value is not what it takes.
    """
    shorthand, type_id, config = evaluator_of(key, defaults, own)
    inside: tuple[str, ...] = ()
    weight, given = own[key].weight if key in own else 1.0, value
    if isinstance(value, dict) and "criteria" in value:
        inside, given = ("criteria",), value["criteria"]
        settings = _settings(value)
        weight = _weight(settings.pop("weight", weight), key)
        config = {**config, **settings}
    if shorthand is None or unavailable(type_id) or (given is None and key in own) or _is_spelt_out(given, type_id):
        return Expected(type_id, config, given, inside, None, weight)
    criteria = {shorthand.criteria_key: shorthand.read(given)}
    return Expected(type_id, config, criteria, inside, shorthand.criteria_key, weight)


def criteria_path(value: Any, type_id: str) -> Path | None:
    """The keys from an expectation, as it is written, to what its shorthand would be; none where that is not there."""
    inside: Path = ("criteria",) if isinstance(value, dict) and "criteria" in value else ()
    given = value["criteria"] if inside else value
    if given is None or not _is_spelt_out(given, type_id):
        return None if given is None else inside
    kind = EVALUATORS[type_id]
    key = "" if kind.shorthand is None else kind.shorthand.criteria_key
    field = kind.criteria_type.model_fields.get(key)
    names = (key, field.alias) if field is not None else ()
    return next(((*inside, name) for name in names if name is not None and name in given), None)


def check_defaults(defaults: WrittenDefaults, limits: Limits) -> None:
    """Refuse defaults that no expectation could use. Raises `ConfigurationError`."""
    config = {"match_type": defaults.match, "args_match": defaults.args, "threshold": defaults.threshold}
    EVALUATORS["tool-trajectory"]("defaults", config, limits=limits)


def evaluator_of(
    key: str, defaults: WrittenDefaults, own: Mapping[str, Own]
) -> tuple[Shorthand | None, str, dict[str, Any]]:
    """What a key of `expect` names: the shorthand of its value, if it has one, a type id, and a configuration.

    Raises:
        CriteriaError: it names no evaluator.
    """
    threshold = {"threshold": defaults.threshold}
    if key in own:
        type_id = own[key].type_id
        if type_id not in EVALUATORS and is_code(type_id):
            return None, type_id, {**_said(defaults), **own[key].config}
        shorthand = EVALUATORS[type_id].shorthand if type_id in EVALUATORS else None
        return shorthand, type_id, {**threshold, **own[key].config}
    if (known := SHORTHANDS.get(key)) and (shorthand := EVALUATORS[known].shorthand):
        return shorthand, known, {**threshold, **shorthand.config(defaults.match, defaults.args)}
    if names_file(key):
        return None, key, _said(defaults)
    if reason := unavailable(key):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    try:
        return None, evaluator_type(key).type_id, threshold
    except UnknownNameError:
        if is_code(key):
            return None, key, _said(defaults)
        raise CriteriaError(
            f"{shown(key)} names no evaluator; {nearest(key, (*SHORTHANDS, *own, *EVALUATORS))}"
        ) from None


def _said(defaults: WrittenDefaults) -> dict[str, Any]:
    """The threshold, if the file has one for all: otherwise, code of the user's has its own."""
    return {"threshold": defaults.threshold} if "threshold" in defaults.model_fields_set else {}


def _settings(value: dict[str, Any]) -> dict[str, Any]:
    settings = {name: item for name, item in value.items() if name != "criteria"}
    for short, name in (("match", "match_type"), ("args", "args_match")):
        if short in settings:
            settings[name] = settings.pop(short)
    return settings


def _weight(weight: Any, key: str) -> float:
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < float("inf"):
        raise CriteriaError(f"the weight of {key!r} is a number, and not less than 0, not {shown(weight)}")
    return float(weight)


def _is_spelt_out(value: Any, type_id: str) -> bool:
    """Whether a value already has the keys of the criteria, rather than being their shorthand."""
    if not isinstance(value, dict):
        return False
    fields = EVALUATORS[type_id].criteria_type.model_fields
    return any(name in value or field.alias in value for name, field in fields.items())
