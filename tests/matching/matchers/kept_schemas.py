"""What JSON Schemas of every draft say of values: whether they are valid, and what it took to see that."""

from __future__ import annotations

import json
from functools import partial
from random import Random
from typing import Any

from tests.matching.matchers.kept_matches import spent
from tests.snapshots import Drawn, drawn, line

from rightcall.errors import ExpectationError
from rightcall.matching.matchers import compile_value

FILE = "schemas.txt"
_ADDRESS = "http://json-schema.org/draft-0{}/schema#"
_DRAFTS = (
    *[_ADDRESS.format(number) for number in (3, 4, 6, 7)],
    "https://json-schema.org/draft/2019-09/schema",
    "https://json-schema.org/draft/2020-12/schema",
    "",
)
_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, 1, 2, 2.0, 2.5, -3, 0.3, 10**400, float("nan"), float("inf"), "", "a", "abc", "b1"),
    *([], [1], [1, 1], [1, 2], [1, "a"], ["a", "b", 3], [[1], [1]], [1, True], [None, {"a": 1}], [1, 2, 3, 4]),
    *({}, {"a": 1}, {"a": "x"}, {"a": 1, "b": 2}, {"b": 2}, {"a": {"a": 1}}, {"a": [1, 2], "c": 3}, {"x1": 1, "a": 2}),
    *({"a": {"a": {"a": 1, "b": 1}}}, {"a": 1, "b": "y", "c": None, "d": [1]}, {"b": {"a": "x"}, "x": 1}),
)
_TYPES = ("string", "number", "integer", "boolean", "array", "object", "null")


def groups() -> list[str]:
    """What schemas are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each schema of a group."""
    return drawn(_GROUPS, group)


def _judged(schema: Any) -> str:
    try:
        expectation = compile_value({"$schema": schema})
    except ExpectationError as problem:
        told = str(problem).partition(" is not a JSON Schema: ")[0]  # what follows is in the words of jsonschema
        return line(schema, told, told[:160])
    found = [spent(partial(expectation.matches, each)) for each in _VALUES]
    holding = "".join([{True: "+", False: "-"}.get(holds, "?") for holds, _ in found])
    return line(schema, found, holding, json.dumps(schema)[:80])


def _single(random: Random) -> str:
    """A schema of a few keywords, of any draft."""
    return _judged(_of_draft(random, _schema(random, 1)))


def _nested(random: Random) -> str:
    """A schema with others in it, and references between them."""
    shared = {
        "yes": True,
        "no": False,
        "one": _schema(random, 1),
        "two": {"$ref": "#/$defs/one"},
        "list": {"items": {"$ref": "#/$defs/list"}},
    }
    self_made = {"properties": {"a": {"$ref": "#"}}} if random.random() < 0.3 else {}
    anchored = {"anchored": {"$anchor": "here", **_schema(random, 1)}} if random.random() < 0.3 else {}
    inner = {"part": {"$id": "https://a.b/part", **_schema(random, 1)}} if random.random() < 0.2 else {}
    return _judged(_of_draft(random, {**_schema(random, 3), **self_made, "$defs": {**shared, **anchored, **inner}}))


def _of_draft(random: Random, schema: dict[str, Any]) -> dict[str, Any]:
    draft = random.choice((*_DRAFTS, _DRAFTS[-2]))
    return {"$schema": draft, **schema} if draft else schema


def _schema(random: Random, depth: int) -> dict[str, Any]:
    made = {}
    for _ in range(random.choice((1, 1, 2, 3))):
        keyword = random.choice((*_PLAIN, *_HOLDING) if depth > 1 else (*_PLAIN, *_PLAIN, *_HOLDING))
        made[keyword] = random.choice(_PLAIN[keyword]) if keyword in _PLAIN else _held(random, keyword, depth - 1)
    return made


def _part(random: Random, depth: int) -> Any:
    if depth < 1 or random.random() < 0.15:
        return random.choice(
            (True, False, {"type": "integer"}, {"const": 1}, {"minimum": 2}, {"type": "string"}, {"required": ["a"]})
        )
    if random.random() < 0.2:
        return {
            "$ref": random.choice(
                (
                    "#/$defs/one",
                    "#/$defs/two",
                    "#here",
                    "#/$defs/yes",
                    "#/$defs/no",
                    "#/$defs/list",
                    "#",
                    "part",
                    "#/nowhere",
                )
            )
        }
    return _schema(random, depth)


def _held(random: Random, keyword: str, depth: int) -> Any:
    """What a keyword takes that has schemas in it."""
    if _HOLDING[keyword] == "one":
        return _part(random, depth)
    if _HOLDING[keyword] == "several":
        return [_part(random, depth) for _ in range(random.randint(1, 3))]
    keys = random.sample(("a", "b", "c"), random.randint(1, 2)) if _HOLDING[keyword] == "by key" else ["^[ax]", "1$"]
    return {key: _part(random, depth) for key in keys}


_PLAIN: dict[str, tuple[Any, ...]] = {
    "type": (*_TYPES, ["integer", "null"], ["array", "object"], "any", "strin"),
    "enum": ([1, "a", [1]], [True, None], [{"a": 1}, 2.0]),
    "const": (1, 2.0, "a", [1], None),
    "pattern": ("^a", "[b-c]", "1$"),
    "minLength": (1, 2),
    "maxLength": (0, 1),
    "minItems": (1, 2),
    "maxItems": (1, 2),
    "uniqueItems": (True, False),
    "minProperties": (1, 2),
    "maxProperties": (0, 1),
    "minimum": (1, 2.5),
    "maximum": (1, 2),
    "exclusiveMinimum": (1, 2, True),
    "exclusiveMaximum": (1, 2.5, True),
    "multipleOf": (2, 0.1, 3),
    "divisibleBy": (2, 1.5),
    "required": (["a"], ["a", "b"], ["a", "b", "c", "d", "e", "f", "g", "h"], True),
    "dependentRequired": ({"a": ["b"]}, {"a": ["b"], "b": ["a"], "c": []}),
    "minContains": (0, 2),
    "maxContains": (1, 2),
    "disallow": ("integer", ["string", "array"]),
    "format": ("date",),
}
_HOLDING = {
    **dict.fromkeys(("not", "items", "contains", "propertyNames", "additionalProperties", "additionalItems"), "one"),
    **dict.fromkeys(("if", "then", "else", "unevaluatedItems", "unevaluatedProperties"), "one"),
    **dict.fromkeys(("allOf", "anyOf", "oneOf", "prefixItems", "extends"), "several"),
    **dict.fromkeys(("properties", "dependentSchemas", "dependencies"), "by key"),
    "patternProperties": "by pattern",
}
_GROUPS: Drawn = {"single": (_single, 250), "nested": (_nested, 350)}
