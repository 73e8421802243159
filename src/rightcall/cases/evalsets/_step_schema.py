"""The JSON Schemas of the steps of a path, of single calls and of rules, with a description for each word."""

from __future__ import annotations

from typing import Any

from rightcall.judging import STEP_WORDS, camel
from rightcall.matching.matchers import MATCHERS

Schema = dict[str, Any]
_STEP: Schema = {"$ref": "#/$defs/step"}
_STEPS: Schema = {"type": "array", "minItems": 1, "items": _STEP}
_WORDS: dict[str, tuple[Schema, str]] = {
    "any_order": (_STEPS, "All of these, in whatever order; a list in it is a branch, interleaved with the rest."),
    "at_once": (_STEPS, "All of these, asked for in one turn of the model, or running at the same time."),
    "optional": (_STEP, "May be left out; a list is a sequence that may be left out."),
    "one_of": (_STEPS, "Exactly one of these; a list in it is a sequence."),
    "repeat": (_STEP, "One or more times, one after the other; see at_least and at_most."),
    "steps": (_STEPS, "A sequence of its own; with agent, all of it is made by that agent."),
}
_BESIDE: dict[str, tuple[Schema, str, str]] = {
    "at_least": ({"type": "integer", "minimum": 0, "maximum": 1000}, "repeat", "The fewest rounds; 1 by default."),
    "at_most": ({"type": "integer", "minimum": 1, "maximum": 1000}, "repeat", "The most rounds; any by default."),
    "agent": ({"type": "string"}, "steps", "The agent that makes all calls in it."),
}
_PARTS: dict[str, tuple[Schema, str]] = {
    "name": ({"type": "string", "minLength": 1}, "The tool; * stands for any characters."),
    "args": (
        {"type": ["object", "null"], "additionalProperties": {"$ref": "#/$defs/value"}},
        "The arguments, with matchers where a value may vary.",
    ),
    "output": ({"$ref": "#/$defs/value"}, "What the tool returns, with matchers where it may vary."),
    "status": ({"enum": ["ok", "error"]}, "Whether the call succeeds or fails."),
    "agent": ({"type": "string"}, "The agent that makes the call."),
    "turn": ({"type": "integer", "minimum": 0}, "The turn of the conversation, from 0."),
    "nth": ({"type": "integer", "not": {"const": 0}}, "Which call of the tool: 1 for the first, -1 for the last."),
    "id": ({"type": "string"}, "The id of the tool, beside tool_names: uipath."),
}
_MATCHERS = {
    "$from": "A value that the agent has seen: a tool, {call: …, output: $.path}, {input: $.path}, or anywhere.",
    "$bind": "A name for the value at this place, which $ref stands for in another call.",
    "$ref": "The value that $bind gave this name.",
    "$sameWords": "Equal but for case, white space and punctuation.",
    "$any": "Any value, as long as there is one.",
    "$regex": "A text in which this pattern is found.",
    "$in": "One of these values.",
    "$contains": "A text or list that has this in it.",
    "$anyOf": "At least one of these holds.",
    "$allOf": "All of these hold.",
    "$not": "This does not hold.",
    "$gt": "Greater than this number.",
    "$gte": "This number or greater.",
    "$lt": "Less than this number.",
    "$lte": "This number or less.",
}
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
_BESIDE_RULES: dict[str, Schema] = {
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


def step_definitions() -> dict[str, Schema]:
    """Return the definitions `step`, which is recursive, `group` and `call`."""
    sequence = {**_STEPS, "description": "A sequence: one after the other."}
    calls = [{"type": "string", "minLength": 1, "description": "A call of this tool."}, _whole_call(), _short_call()]
    return {
        "step": {"anyOf": [{"$ref": "#/$defs/call"}, sequence, {"$ref": "#/$defs/group"}]},
        "group": _group(),
        "call": {"anyOf": calls},
        "value": _value(),
    }


def _value() -> Schema:
    """Any value. What an object in it may be is there for editors, which complete the names of matchers."""
    matchers = {name: {"description": _MATCHERS.get(name, "A matcher; see the reference.")} for name in MATCHERS}
    return {"anyOf": [{"type": "object", "properties": matchers}, {}]}


def _group() -> Schema:
    words = {word: _described(*_WORDS[word]) for word in STEP_WORDS}
    beside = {key: _described(schema, text) for key, (schema, _, text) in _BESIDE.items()}
    owners = {key: owner for key, (_, owner, _) in _BESIDE.items()}
    return {
        "type": "object",
        "properties": _both({**words, **beside}),
        "additionalProperties": False,
        "oneOf": [{"required": [spelling]} for word in words for spelling in dict.fromkeys((word, camel(word)))],
        "dependentRequired": {spelling: [owner] for key, owner in owners.items() for spelling in (key, camel(key))},
    }


def _whole_call() -> Schema:
    return {
        "type": "object",
        "required": ["name"],
        "properties": {key: _described(schema, text) for key, (schema, text) in _PARTS.items()},
        "additionalProperties": False,
    }


def _short_call() -> Schema:
    """The schema of a tool with its arguments behind it. A tool that is called like a word is written with `name`."""
    words = {"name", *[spelling for word in STEP_WORDS for spelling in (word, camel(word))]}
    return {
        "type": "object",
        "minProperties": 1,
        "maxProperties": 1,
        "propertyNames": {"not": {"anyOf": [{"enum": sorted(words)}, {"pattern": r"^\$"}]}},
        "additionalProperties": {
            "type": ["object", "null"],
            "additionalProperties": {"$ref": "#/$defs/value"},
            "description": "The arguments of the call.",
        },
    }


def _described(schema: Schema, text: str) -> Schema:
    # yaml-language-server 1.25 ignores keywords beside a `$ref`, so the `$ref` goes into an `allOf`.
    return {"allOf": [schema], "description": text} if "$ref" in schema else {**schema, "description": text}


def _both(properties: dict[str, Schema]) -> dict[str, Schema]:
    return {spelling: schema for key, schema in properties.items() for spelling in (key, camel(key))}


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
    keys |= {key: _OWN[key] for key in own} | _BESIDE_RULES
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
            "output": {"description": "What the call returns."},
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
