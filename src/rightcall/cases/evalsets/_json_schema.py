"""The JSON Schema of native eval sets, for editors: cases, expectations, and the steps of a path."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin

from rightcall.judging import (
    EVALUATORS,
    OTHER_NAMES,
    SHORTHANDS,
    STEP_WORDS,
    UNAVAILABLE,
    ClassificationConfig,
    ClassificationEvaluator,
    Evaluator,
    UserModel,
    camel,
    installed_evaluators,
)
from rightcall.matching.matchers import MATCHERS

from ._eval_set_file import (
    ANSWERS,
    WrittenAnswer,
    WrittenCase,
    WrittenDefaults,
    WrittenError,
    WrittenEvalSet,
    WrittenEvaluator,
    WrittenMock,
    WrittenOverall,
    WrittenQuarantine,
    WrittenTurn,
    WrittenWhen,
)
from ._shorthands import settings_of, takes_expected

Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}
_CODE = r"\.py:[A-Za-z_][\w.]*$"
"""How the name of custom code ends."""
_MATCH_TYPES = ["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]
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


def eval_set_schema() -> Schema:
    """Return the schema. It allows no unknown keys, except under `expect` in files that add evaluators."""
    definitions = {
        "evaluator": _evaluator(),
        "overall": _overall(),
        "defaults": _object(WrittenDefaults, **_settings(), timeout={"type": ["number", "null"], "minimum": 0}),
        "mock": _mock(),
        "when": _object(WrittenWhen, metadata={"type": "object"}, unrecorded={"enum": ["not_measured", "leave_out"]})
        | {"anyOf": [{"required": [key]} for key in ("input", "output", "metadata", "agent", "calls", "tags")]},
        **rule_definitions(),
        **step_definitions(),
        **{_name(type_id): _criteria(type_id) for type_id in EVALUATORS},
        **{f"expect_{kind}": _expect(kind == "open") for kind in ("open", "closed")},
        **{f"turn_{kind}": _object(WrittenTurn, expect=_ref(f"expect_{kind}")) for kind in ("open", "closed")},
        **{f"case_{kind}": _case(kind) for kind in ("open", "closed")},
    }
    whole = _object(
        WrittenEvalSet,
        defaults=_ref("defaults"),
        evaluators={"type": "object", "additionalProperties": _ref("evaluator")},
        overall={"type": "object", "additionalProperties": _ref("overall")},
        rules={"anyOf": [_short("call-rules"), _ref(_name("call-rules"))]},
        cases={"type": "array"},
    )
    cases = {
        kind: {"properties": {"cases": {"items": _ref(f"case_{kind}")}, "expect": _ref(f"expect_{kind}")}}
        for kind in ("open", "closed")
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rightcall eval set",
        **whole,
        "required": [],
        "anyOf": [{"required": ["expect"]}, {"required": ["cases"], "properties": {"cases": {"minItems": 1}}}],
        "if": {"required": ["evaluators"]},
        "then": cases["open"],
        "else": cases["closed"],
        "$defs": definitions,
    }


def _case(kind: str) -> Schema:
    mocks = {"anyOf": [_ref("mock"), {"type": "array", "minItems": 1, "items": _ref("mock")}]}
    schema = _object(
        WrittenCase,
        id={"type": "string", "minLength": 1, "maxLength": 300},
        turns={"type": "array", "minItems": 1, "items": _ref(f"turn_{kind}")},
        tags={"type": "array", "items": {"type": "string"}},
        mocks={"type": "object", "additionalProperties": mocks},
        quarantine=_object(WrittenQuarantine, until={"type": "string", "format": "date"}),
        expect=_ref(f"expect_{kind}"),
        when=_ref("when"),
    )
    twice = [["input", "turns"], *[["when", key] for key in ("input", "turns", "session", "mocks", "repeat")]]
    return {**schema, "not": {"anyOf": [{"required": keys} for keys in twice]}}


def _mock() -> Schema:
    error = {"anyOf": [{"type": "string", "minLength": 1}, _object(WrittenError)]}
    answer = _object(WrittenAnswer, raises=error) | {"minProperties": 1, "maxProperties": 1}
    several: Schema = {"type": "array", "minItems": 1}
    schema = _object(
        WrittenMock,
        when={"type": "object"},
        positional={"type": "array"},
        sequence=several,
        raises=error,
        then=several | {"items": answer},
    )
    return {**schema, "oneOf": [{"required": [key]} for key in ANSWERS]}


def _evaluator() -> Schema:
    known = {"enum": [*EVALUATORS, *UNAVAILABLE, *installed_evaluators()]}
    others = "|".join(["uipath-", "file://", *[f"{name}$" for name in OTHER_NAMES]])
    named = {"type": "string", "pattern": f"^({others})|{_CODE}"}
    return _object(WrittenEvaluator, type={"anyOf": [known, named]}, config={"type": "object"})


def _overall() -> Schema:
    kind = ClassificationEvaluator.type_id
    named = {"anyOf": [{"const": kind}, {"enum": [*installed_evaluators()]}, {"type": "string", "pattern": _CODE}]}
    schema = _object(WrittenOverall, type=named, config={"type": "object"})
    choices = {name: {"enum": [*get_args(ClassificationConfig.model_fields[name].annotation)]} for name in _CHOICES}
    config = _object(ClassificationConfig, **choices, classes={"type": "array", "items": {"type": "string"}})
    is_ours = {"properties": {"type": {"const": kind}}, "required": ["type"]}
    return {**schema, "if": is_ours, "then": {"properties": {"config": config}}}


_CHOICES = ("metric", "averaging")


def _expect(is_open: bool) -> Schema:
    keys = {key: _expectation(type_id, _short(type_id)) for key, type_id in SHORTHANDS.items()}
    keys |= {key: _expectation(key, None) for key in EVALUATORS if key not in keys}
    keys |= {f"uipath-{key}": _expectation(key, None) for key in EVALUATORS}
    # Converted files add evaluators under ADK's names, and these accept the shorthand.
    names = {name: type_id for name, type_id in OTHER_NAMES.items() if name not in keys}
    keys |= {name: _expectation(type_id, _short(type_id) if is_open else None) for name, type_id in names.items()}
    keys = {key: with_question(key, schema) for key, schema in keys.items()}
    keys |= {key: {} for key in installed_evaluators() if key not in keys}
    code: Schema = {"patternProperties": {_CODE: {}}}
    return {"type": "object", "properties": keys, **code, "additionalProperties": is_open}


def _short(type_id: str) -> Schema:
    """Return the schema of the shorthand of an evaluator; empty if any value is allowed."""
    shorthand = EVALUATORS[type_id].shorthand
    return {} if shorthand is None else dict(shorthand.schema)


def _expectation(type_id: str, shorthand: Schema | None) -> Schema:
    """Return the schema of a key of `expect`: the shorthand, or an object with settings."""
    if shorthand is None:
        return _ref(_name(type_id))
    return {"anyOf": [shorthand, _ref(_name(type_id))]} if shorthand else {}


def _name(type_id: str) -> str:
    return f"criteria_{type_id}"


def _criteria(type_id: str) -> Schema:
    """Return the schema of an evaluator's criteria with settings beside them: by their keys, or under one word."""
    kind = EVALUATORS[type_id]
    criteria, config = _object(kind.criteria_type, **_settings(kind)), _object(kind.config_type, **_settings(kind))
    words = {name: schema for name, schema in _settings(kind).items() if name in ("match", "args", "weight")}
    words = {name: with_hint(name, schema) for name, schema in words.items() if name in settings_of(kind)}
    holders = ("criteria", "expected") if takes_expected(kind) else ("criteria",)
    short = _short(type_id) or {}
    properties = {**config["properties"], **criteria["properties"], **_both(words)}
    properties |= {holder: with_hint(holder, _under_holder(short, type_id)) for holder in holders}
    spelt = {spelling for name in kind.criteria_type.model_fields for spelling in (name, camel(name))}
    return {
        **{word: value for word, value in criteria.items() if word != "required"},
        "properties": properties,
        "anyOf": [{"required": [key]} for key in dict.fromkeys([*holders, *sorted(spelt)])],
    }


def _under_holder(short: Schema, type_id: str) -> Schema:
    """Return the schema of what is under `criteria` or `expected`: the short value, or the same object again."""
    return {"anyOf": [short, _ref(_name(type_id)), {"type": "null"}]} if short else {}


def _settings(kind: type[Evaluator[Any, Any, Any]] | None = None) -> dict[str, Schema]:
    """Return the schemas of settings whose values do not follow from their type."""
    if kind is not None and not kind.reads_calls:
        turn: Schema = {"anyOf": [{"enum": ["any", "last", None]}, {"type": "integer", "minimum": 0}]}
        return {"turn": with_hint("answer_turn", turn), "weight": _WEIGHT}
    return {
        "match": {"type": "string", "examples": [*map(str.lower, _MATCH_TYPES)]},
        "args": {"enum": ["subset", "exact", "superset", "ignore"]},
        "weight": _WEIGHT,
        "extra": {"enum": ["allow", "forbid", "others"]},
        "failed": {"enum": ["count", "ignore", "ignore_suspected"]},
        "parallel": {"enum": ["recorded", "in_order", "any_order", "overlap"]},
        "partial_credit": {"enum": [True, False, "f1"]},
        "ignore_tools": {"type": "array", "items": {"type": "string"}},
        "agent": with_hint("calls_of", {"type": ["string", "null"]}),
        "top_level": {"type": "boolean"},
        "turn": {"type": ["integer", "null"], "minimum": 0},
        "threshold": {"type": "number", "minimum": 0, "maximum": 1},
    }


_WEIGHT: Schema = {"type": "number", "minimum": 0}


def _object(model: type[UserModel], /, **known: Schema) -> Schema:
    """Return the schema of an object with the keys of a model, in snake_case and camelCase, and no others."""
    fields = model.model_fields
    keys = {field.alias if field.alias.startswith("$") else name: field for name, field in fields.items()}
    properties = {key: with_hint(key, known.get(key, _type(field.annotation))) for key, field in keys.items()}
    schema: Schema = {"type": "object", "properties": _both(properties), "additionalProperties": False}
    if model.__doc__:
        schema["description"] = " ".join(model.__doc__.split())
    required = [key for key, field in keys.items() if field.is_required() and "_" not in key]
    return schema | ({"required": required} if required else {})


def _both(properties: dict[str, Schema]) -> dict[str, Schema]:
    return {spelling: schema for key, schema in properties.items() for spelling in (key, camel(key))}


def _type(annotation: Any) -> Schema:
    """Return the schema of a plain type; empty, which allows any value, for other types."""
    if annotation in _SCALARS:
        return dict(_SCALARS[annotation])
    if get_origin(annotation) in (Union, types.UnionType):
        inner = [_type(each) for each in get_args(annotation) if each is not type(None)]
        return {"anyOf": [*inner, {"type": "null"}]} if all(inner) else {}
    if get_origin(annotation) is dict:
        return {"type": "object"}
    return {}


def _ref(name: str) -> Schema:
    return {"$ref": f"#/$defs/{name}"}


DESCRIPTIONS = {
    "answer_turn": "Whose answer is meant: a turn from 0, last, or any.",
    "agent": "The agent to run: file.py:function, module:function, an ADK folder, cmd:program, or http://…",
    "args": "How arguments are compared: subset (the expected ones are present), exact, superset or ignore.",
    "calls_of": "Only calls of this agent count.",
    "cases": "The inputs of the agent, and what is expected of it.",
    "config": "The configuration of this evaluator.",
    "criteria": "What is expected; the keys beside it are settings.",
    "defaults": "Defaults for expectations that do not say otherwise.",
    "evaluators": "Custom evaluators, by the ids that `expect` uses for them.",
    "each": "With true, `returns` is a list, and each call gets one of its values.",
    "expect": "What should happen. Each key is a check, and all of them must pass.",
    "expected": "What is expected; the keys beside it are settings.",
    "expected_behavior": "What the agent should do, in words, for evaluators that ask a model.",
    "extra": "Calls that no step takes: allow, forbid, or others, those of tools that no step names.",
    "failed": "Whether calls that failed count: count, ignore, or ignore_suspected.",
    "id": "The unique id of the case.",
    "ignore_tools": "Tools whose calls are left out.",
    "input": "The input of the agent: a string, or anything that its function accepts.",
    "match": "How the path of calls is compared: EXACT, IN_ORDER, ANY_ORDER, UNORDERED or SUBSET.",
    "metadata": "Any data you want to keep here; only `overall` and custom code read it.",
    "min_repeat_pass": "How many repeats have to pass; all by default.",
    "mocks": "What tools return in this case, instead of being run.",
    "overall": "Evaluators of all cases together, each with a name.",
    "parallel": "Which calls have no order: recorded groups, in_order for none, any_order, or overlap.",
    "partial_credit": "Whether part of a path earns part of the score: true for the share, or f1.",
    "positional": "The positional arguments that a call must have to get this answer.",
    "quarantine": "Why the case runs and is shown, but counts in nothing, and until which day.",
    "raises": "The error that the tool raises: the name of its type, or an object with type and message.",
    "reason": "Why the case is in quarantine, in words.",
    "repeat": "How often the case is run; rightcall run --repeat comes first.",
    "returns": "What the tool returns.",
    "rules": "Rules about calls: what comes before what, how often, and what each call is like.",
    "sequence": "What the tool returns, one value per call.",
    "session": "The session of the agent; for ADK: app_name, user_id and state.",
    "tags": "Words to select cases by: rightcall run --tag smoke",
    "then": "Answers, one per call; each has `returns` or `raises`.",
    "threshold": "The lowest score that passes, from 0 to 1; 1 by default.",
    "timeout": "Seconds a case may take.",
    "top_level": "With true, only calls count that no other tool made.",
    "turn": "Only calls made in this turn count, from 0.",
    "turns": "A conversation: what the user says in each turn, and what is expected of the agent.",
    "type": "The type id of an evaluator, such as tool-call-order.",
    "until": "The last day of the quarantine, such as 2026-12-31; after it, the case counts again.",
    "weight": "The weight in the score of the case; 1 by default.",
    "when": "The arguments that a call must have to get this answer; matchers are allowed.",
}


def with_hint(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key with its description."""
    return (
        _with(schema, description=DESCRIPTIONS[key]) if key in DESCRIPTIONS and "description" not in schema else schema
    )


def with_question(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a key of `expect`, with the first line of its evaluator's docstring as description.

    Names of other tools are valid but not suggested: editors that know `doNotSuggest` leave them out.
    """
    kind = EVALUATORS.get(SHORTHANDS.get(key, key))
    if kind is None:
        return _with(schema, doNotSuggest=True)
    return _with(schema, description=(kind.__doc__ or "").strip().partition("\n")[0])


def _with(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    # yaml-language-server 1.25 ignores keywords beside a `$ref`, so the `$ref` goes into an `allOf`.
    return {"allOf": [schema], **more} if "$ref" in schema else {**schema, **more}


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
    """Return the schema of any value. It lists the matchers that an object may have, for editors to complete."""
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
    """Return the schema of a tool followed by its arguments. A tool with the name of a word is written with `name`."""
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
