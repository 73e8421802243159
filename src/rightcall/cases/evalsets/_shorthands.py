"""From the keys of `expect` to evaluators and their criteria."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rightcall.errors import CriteriaError, UnknownNameError, nearest, shown
from rightcall.judging import EVALUATORS, evaluator_type, is_code, names_file, unavailable
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._models import WrittenDefaults


class Shorthand(msgspec.Struct, frozen=True):
    """What a key of `expect` stands for: an evaluator, the criteria key its value goes to, and how it is read."""

    type_id: str
    criteria_key: str
    read: Callable[[Any], Any]


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
    key = next((known.criteria_key for known in SHORTHANDS.values() if known.type_id == type_id), "")
    field = EVALUATORS[type_id].criteria_type.model_fields.get(key)
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
        shorthand = next((known for known in SHORTHANDS.values() if known.type_id == type_id), None)
        return shorthand, type_id, {**threshold, **own[key].config}
    if key in SHORTHANDS:
        shorthand = SHORTHANDS[key]
        config = {"match_type": defaults.match, "args_match": defaults.args} if key == "calls" else {}
        if key == "args":
            config = {"subset": str(defaults.args).lower() != "exact"}
        return shorthand, shorthand.type_id, {**threshold, **config}
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
    "exact-match": Shorthand("exact-match", "expected_output", _as_is),
    "contains": Shorthand("contains", "search_text", _as_is),
    "regex-match": Shorthand("regex-match", "pattern", _as_is),
    "json-similarity": Shorthand("json-similarity", "expected_output", _as_is),
    "response-match": Shorthand("response-match", "expected", _as_is),
    "llm-judge-trajectory": Shorthand("llm-judge-trajectory", "expected_agent_behavior", _as_is),
    "llm-judge-output": Shorthand("llm-judge-output", "expected_output", _as_is),
    "steps": Shorthand("step-count", "at_most", _as_is),
    "redundant": Shorthand("redundant-calls", "at_most", _as_is),
    "loops": Shorthand("loops", "at_most", _as_is),
    "retries": Shorthand("retries", "at_most", _as_is),
    "error_rate": Shorthand("tool-error-rate", "at_most", _as_is),
    "seconds": Shorthand("latency", "at_most", _as_is),
    "call_seconds": Shorthand("call-latency", "at_most", _as_is),
    "tokens": Shorthand("token-usage", "total_tokens", _as_is),
}
"""The keys of `expect` that are short for an evaluator and its criteria."""
