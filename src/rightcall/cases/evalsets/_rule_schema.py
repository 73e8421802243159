"""The JSON Schema of one rule: a branch for each relation, so that editors propose what goes with it."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

_CALLS: Schema = {"$ref": "#/$defs/rule_calls"}
_RELATIONS: dict[str, tuple[str, tuple[str, ...]]] = {
    "only_after": ("Each call needs one of these before it, ended and successful.", ("since", "directly", "same")),
    "never_after": ("No call is made once one of these has succeeded.", ("same",)),
    "followed_by": ("Each call is followed by one of these, which succeeds.", ("before", "directly", "same")),
    "only_with": ("Where the call is made, one of these is too, before or after.", ("same",)),
    "never_with": ("The call and one of these are never made in the same run.", ("same",)),
    "at_most": ("At most this many calls.", ("before", "after", "same")),
    "always": ("Every call is like this: arguments, or any of args, output and status.", ()),
    "first": ("The first call of the run is one of these.", ()),
    "last": ("The last call of the run is one of these.", ()),
}
"""What each relation says, and the keys that belong to it."""
_BESIDE: dict[str, Schema] = {
    "per": {"enum": ["turn", "agent"], "description": "Judge each turn, or each agent, apart."},
    "must_apply": {
        "type": "boolean",
        "description": "With true, the rule is broken where it never applies.",
    },
    "why": {"type": "string", "description": "The reason for the rule; reports show it where the rule is broken."},
}
_OWN: dict[str, Schema] = {
    "since": {"allOf": [_CALLS], "description": "None of these comes between the two calls."},
    "before": {"allOf": [_CALLS], "description": "Only what happens before the first, or next, of these counts."},
    "after": {"allOf": [_CALLS], "description": "Only calls after the first of these count."},
    "directly": {"type": "boolean", "description": "With true, the two calls are neighbours."},
    "same": {
        "anyOf": [
            {"type": "string", "minLength": 1},
            {"type": "array", "minItems": 1, "items": {"type": "string"}},
            {"type": "object", "minProperties": 1, "additionalProperties": {"type": "string"}},
        ],
        "description": "The arguments that both calls agree in: a name, a list, or {name in the one: in the other}.",
    },
}


def rule_definitions() -> dict[str, Schema]:
    """Return the definitions `rule` and `rule_calls`."""
    return {
        "rule": {"type": "object", "oneOf": [_branch(relation) for relation in _RELATIONS]},
        "rule_calls": {"anyOf": [_call(), {"type": "array", "minItems": 1, "items": _call()}]},
    }


def _branch(relation: str) -> Schema:
    description, own = _RELATIONS[relation]
    value = {"at_most": {"type": "integer", "minimum": 0}, "always": {"type": "object", "minProperties": 1}}
    has_subject = relation not in ("first", "last")
    subject = {"call": {"allOf": [_CALLS], "description": "The calls that the rule is about."}} if has_subject else {}
    keys = {**subject, relation: {"allOf": [value.get(relation, _CALLS)], "description": description}}
    keys |= {key: _OWN[key] for key in own} | _BESIDE
    return {
        "properties": {spelling: schema for key, schema in keys.items() for spelling in _spellings(key)},
        "anyOf": [{"required": [*subject, spelling]} for spelling in _spellings(relation)],
        "additionalProperties": False,
    }


def _spellings(key: str) -> tuple[str, ...]:
    first, *others = key.split("_")
    return (key, first + "".join([other.capitalize() for other in others])) if others else (key,)


def _call() -> Schema:
    whole: Schema = {
        "type": "object",
        "required": ["name"],
        "properties": {
            "name": {"type": "string", "minLength": 1, "description": "The tool; * stands for any characters."},
            "args": {"description": "Arguments that the call has, with any matchers."},
            "output": {"description": "What the call gives back."},
            "status": {"enum": ["ok", "error"], "description": "Whether the call succeeds."},
            "agent": {"type": "string", "description": "The agent that makes the call."},
            "turn": {"type": "integer", "minimum": 0, "description": "The turn it is made in, from 0."},
            "nth": {"type": "integer", "description": "Which call of the tool: 1 the first, -1 the last."},
        },
        "additionalProperties": False,
    }
    short: Schema = {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "additionalProperties": {"type": ["object", "null"]},
    }
    return {"anyOf": [{"type": "string", "minLength": 1}, whole, short]}
