"""From the keys of `expect` to evaluators and their criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, nearest, shown
from rightcall.evaluators import EVALUATORS
from rightcall.limits import Limits

from ._written import WrittenDefaults


class Shorthand(msgspec.Struct, frozen=True):
    """What a key of `expect` stands for: an evaluator, the criteria key its value goes to, and how it is read."""

    type_id: str
    criteria_key: str
    read: Callable[[Any], Any]


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


def spell_out(
    key: str, value: Any, defaults: WrittenDefaults, own: Mapping[str, tuple[str, dict[str, Any]]]
) -> Expected:
    """The expectation that a key and a value in `expect` stand for.

    `own` has the type and configuration of the evaluators that the file adds, by id.

    Raises:
        CriteriaError: the key names no evaluator, or the value is not what it takes.
    """
    shorthand, type_id, config = _evaluator_of(key, defaults, own)
    inside: tuple[str, ...] = ()
    weight, given = 1.0, value
    if isinstance(value, dict) and "criteria" in value:
        inside, given = ("criteria",), value["criteria"]
        weight, settings = _settings(value, key)
        config = {**config, **settings}
    criteria_type = EVALUATORS[type_id].criteria_type
    if shorthand is None or _is_spelt_out(given, criteria_type):
        return Expected(type_id, config, given, inside, None, weight)
    criteria = {shorthand.criteria_key: shorthand.read(given)}
    return Expected(type_id, config, criteria, inside, shorthand.criteria_key, weight)


def check_defaults(defaults: WrittenDefaults, limits: Limits) -> None:
    """Refuse defaults that no expectation could use. Raises `ConfigurationError`."""
    config = {"match_type": defaults.match, "args_match": defaults.args, "threshold": defaults.threshold}
    EVALUATORS["tool-trajectory"]("defaults", config, limits=limits)


def _evaluator_of(
    key: str, defaults: WrittenDefaults, own: Mapping[str, tuple[str, dict[str, Any]]]
) -> tuple[Shorthand | None, str, dict[str, Any]]:
    threshold = {"threshold": defaults.threshold}
    if key in own:
        type_id, config = own[key]
        shorthand = next((known for known in SHORTHANDS.values() if known.type_id == type_id), None)
        return shorthand, type_id, {**threshold, **config}
    if key in SHORTHANDS:
        shorthand = SHORTHANDS[key]
        config = {"match_type": defaults.match, "args_match": defaults.args} if key == "calls" else {}
        if key == "args":
            config = {"subset": str(defaults.args).lower() != "exact"}
        return shorthand, shorthand.type_id, {**threshold, **config}
    type_id = _TYPE_IDS.get(key, key.removeprefix("uipath-"))
    if type_id in EVALUATORS:
        return None, type_id, threshold
    known = (*SHORTHANDS, *own, *EVALUATORS)
    raise CriteriaError(f"{shown(key)} names no evaluator; {nearest(key, known)}")


def _settings(value: dict[str, Any], key: str) -> tuple[float, dict[str, Any]]:
    settings = {name: item for name, item in value.items() if name not in ("criteria", "weight")}
    for short, name in (("match", "match_type"), ("args", "args_match")):
        if short in settings:
            settings[name] = settings.pop(short)
    weight = value.get("weight", 1.0)
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 < weight < float("inf"):
        raise CriteriaError(f"the weight of {key!r} is a number greater than 0, not {shown(weight)}")
    return float(weight), settings


def _is_spelt_out(value: Any, criteria_type: Any) -> bool:
    """Whether a value already has the keys of the criteria, rather than being their shorthand."""
    if not isinstance(value, dict):
        return False
    fields = criteria_type.model_fields
    return any(name in value or field.alias in value for name, field in fields.items())


_TYPE_IDS = {"tool_trajectory_avg_score": "tool-trajectory"}


def _as_is(value: Any) -> Any:
    return value


def read_calls(value: Any) -> Any:
    """Expected calls in shorthand: `name`, `{name: args}`, or `{name: …, args: …}`."""
    if not isinstance(value, list):
        raise CriteriaError(f"a list of calls is expected, not {shown(value)}")
    return [_call(item) for item in value]


def _call(item: Any) -> Any:
    if not isinstance(item, dict) or (item.keys() <= {"name", "args"} and isinstance(item.get("name"), str)):
        return item
    if len(item) != 1:
        raise CriteriaError(f"a call is a name or an object with one key, its name, not {shown(item)}")
    [(name, args)] = item.items()
    return {"name": name, "args": args}


def _outputs(value: Any) -> Any:
    if isinstance(value, dict):
        return [{"name": name, "output": output} for name, output in value.items()]
    if not isinstance(value, list):
        raise CriteriaError(f"a list of outputs is expected, not {shown(value)}")
    return [_output(item) for item in value]


def _output(item: Any) -> Any:
    if not isinstance(item, dict) or {"name", "output"} == item.keys():
        return item
    if len(item) != 1:
        raise CriteriaError(f"an expected output is an object with one key, the tool's name, not {shown(item)}")
    [(name, output)] = item.items()
    return {"name": name, "output": output}


SHORTHANDS: dict[str, Shorthand] = {
    "calls": Shorthand("tool-trajectory", "expected", read_calls),
    "order": Shorthand("tool-call-order", "tool_calls_order", _as_is),
    "counts": Shorthand("tool-call-count", "tool_calls_count", _as_is),
    "args": Shorthand("tool-call-args", "tool_calls", read_calls),
    "outputs": Shorthand("tool-call-output", "tool_outputs", _outputs),
    "never": Shorthand("forbidden-tools", "never", read_calls),
    "output": Shorthand("final-output", "output", _as_is),
}
"""The keys of `expect` that are short for an evaluator and its criteria."""
