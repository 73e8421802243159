"""The JSON Schema of native eval sets, for editors."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin

from pydantic import BaseModel

from rightcall.judging import (
    EVALUATORS,
    OTHER_NAMES,
    SHORTHANDS,
    UNAVAILABLE,
    ClassificationConfig,
    ClassificationEvaluator,
    installed_evaluators,
)

from ._hints import with_hint, with_question
from ._models import (
    ANSWERS,
    WrittenAnswer,
    WrittenCase,
    WrittenDefaults,
    WrittenError,
    WrittenEvalSet,
    WrittenEvaluator,
    WrittenMock,
    WrittenOverall,
    WrittenTurn,
)

Schema = dict[str, Any]

_SCALARS: dict[Any, Schema] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    float: {"type": "number"},
}
_CODE = r"\.py:[A-Za-z_][\w.]*$"
"""What the name of code ends with."""
_MATCH_TYPES = ["EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"]


def eval_set_schema() -> Schema:
    """The schema. Keys are complete and closed; in files with evaluators of their own, `expect` may use those."""
    definitions = {
        "evaluator": _evaluator(),
        "overall": _overall(),
        "defaults": _object(WrittenDefaults, match={"examples": _MATCH_TYPES, "type": "string"}),
        "mock": _mock(),
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
        cases={"type": "array", "minItems": 1},
    )
    cases = {kind: {"properties": {"cases": {"items": _ref(f"case_{kind}")}}} for kind in ("open", "closed")}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Rightcall eval set",
        **whole,
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
        expect=_ref(f"expect_{kind}"),
    )
    return {**schema, "not": {"required": ["input", "turns"]}}


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
    # ADK's names are, in files that were converted, those of evaluators of their own, which take the shorthand.
    names = {name: type_id for name, type_id in OTHER_NAMES.items() if name not in keys}
    keys |= {name: _expectation(type_id, _short(type_id) if is_open else None) for name, type_id in names.items()}
    keys = {key: with_question(key, schema) for key, schema in keys.items()}
    keys |= {key: {} for key in installed_evaluators() if key not in keys}
    code: Schema = {"patternProperties": {_CODE: {}}}
    return {"type": "object", "properties": keys, **code, "additionalProperties": is_open}


def _short(type_id: str) -> Schema:
    """The schema of the short value of an evaluator; empty for any value."""
    shorthand = EVALUATORS[type_id].shorthand
    return {} if shorthand is None else dict(shorthand.schema)


def _expectation(type_id: str, shorthand: Schema | None) -> Schema:
    """What may stand under a key of `expect`: the shorthand, the criteria, or the long form."""
    if shorthand is None:
        return _ref(_name(type_id))
    return {"anyOf": [shorthand, _ref(_name(type_id))]} if shorthand else {}


def _name(type_id: str) -> str:
    return f"criteria_{type_id}"


def _criteria(type_id: str) -> Schema:
    """The criteria of an evaluator, alone or in the long form."""
    kind = EVALUATORS[type_id]
    criteria = _object(kind.criteria_type)
    settings = {name: _type(field.annotation) for name, field in kind.config_type.model_fields.items()}
    long: Schema = {
        "type": "object",
        "required": ["criteria"],
        "properties": _both({**settings, "match": {}, "args": {}, "criteria": {}, "weight": {"type": "number"}}),
        "additionalProperties": False,
    }
    return {"anyOf": [criteria, long]}


def _object(model: type[BaseModel], /, **known: Schema) -> Schema:
    """An object with the keys of a model, in snake_case and in camelCase, and no others."""
    fields = model.model_fields
    keys = {(field.alias or name) if name == "json_schema" else name: field for name, field in fields.items()}
    properties = {key: with_hint(key, known.get(key, _type(field.annotation))) for key, field in keys.items()}
    schema: Schema = {"type": "object", "properties": _both(properties), "additionalProperties": False}
    if model.__doc__:
        schema["description"] = " ".join(model.__doc__.split())
    required = [key for key, field in keys.items() if field.is_required() and "_" not in key]
    return schema | ({"required": required} if required else {})


def _both(properties: dict[str, Schema]) -> dict[str, Schema]:
    from pydantic.alias_generators import to_camel

    return {spelling: schema for key, schema in properties.items() for spelling in (key, _camel(key, to_camel))}


def _camel(key: str, to_camel: Any) -> str:
    return to_camel(key) if "_" in key else key


def _type(annotation: Any) -> Schema:
    """The schema of a plain type; anything, where it is not plain."""
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
