"""`$schema` says what jsonschema says, in time that jsonschema does not promise."""

from functools import cache
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, strategies as st
from tests.sampling import examples
from tests.walls import for_each

from rightcall.errors import ExpectationError, LimitError
from rightcall.matching.matchers import compile_value, equal

DRAFTS = {
    "draft 3": jsonschema.Draft3Validator,
    "draft 4": jsonschema.Draft4Validator,
    "draft 6": jsonschema.Draft6Validator,
    "draft 7": jsonschema.Draft7Validator,
    "draft 2019-09": jsonschema.Draft201909Validator,
    "draft 2020-12": jsonschema.Draft202012Validator,
}

KEYS = st.sampled_from(["a", "b", "default", "enum", "pattern", "properties"])
SCALARS = st.sampled_from([None, True, False, 0, 1, 1.0, 2, 2.5, -3, 1e300, "", "a", "abc", "ab1"])
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=8,
)
PATTERNS = st.sampled_from(["^a", "b$", "^[a-z]+$", "1", "^(default|enum)$"])
TYPES = st.sampled_from(["string", "number", "integer", "boolean", "array", "object", "null"])
SMALL = st.integers(0, 3)
REFERENCES = st.sampled_from(["#/$defs/x", "#/$defs/y", "#/definitions/x"])


@cache
def simple(draft: str) -> st.SearchStrategy[dict[str, Any]]:
    """Keywords without schemas in them."""
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
        "enum": st.lists(VALUES, min_size=1, max_size=3, unique_by=repr),
        "pattern": PATTERNS,
        "minLength": SMALL,
        "maxLength": SMALL,
        "minItems": SMALL,
        "maxItems": SMALL,
        "uniqueItems": st.booleans(),
        "minimum": st.sampled_from([0, 1, 1.5]),
        "maximum": st.sampled_from([0, 1, 2.5]),
    }
    if draft != "draft 3":
        keywords |= {
            "multipleOf": st.sampled_from([1, 2, 0.5, 3]),
            "minProperties": SMALL,
            "maxProperties": SMALL,
            "required": st.lists(KEYS, min_size=1, max_size=2, unique=True),
        }
    if draft in ("draft 3", "draft 4"):
        keywords |= {"exclusiveMinimum": st.booleans(), "exclusiveMaximum": st.booleans()}
    else:
        keywords |= {"const": VALUES, "exclusiveMinimum": st.sampled_from([0, 1]), "exclusiveMaximum": SMALL}
    if draft in ("draft 2019-09", "draft 2020-12"):
        keywords |= {"dependentRequired": st.dictionaries(KEYS, st.lists(KEYS, max_size=2, unique=True), max_size=2)}
    pairs = st.sampled_from(sorted(keywords)).flatmap(lambda key: st.tuples(st.just(key), keywords[key]))
    schemas = st.lists(pairs, max_size=3).map(dict)
    if draft in ("draft 3", "draft 4"):  # an exclusive bound needs its bound
        return schemas.map(
            lambda each: {"minimum": 0, "maximum": 2, **each} if any("excl" in k for k in each) else each
        )
    return schemas


def combined(draft: str, inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Keywords with schemas in them, among others."""
    several = st.lists(inner, min_size=1, max_size=3)
    named = st.dictionaries(KEYS, inner, max_size=3)
    keywords: dict[str, st.SearchStrategy[Any]] = {
        "properties": named,
        "patternProperties": st.dictionaries(PATTERNS, inner, max_size=2),
        "additionalProperties": inner,
        "items": inner,
    }
    if draft == "draft 3":
        keywords |= {
            "extends": inner | several,
            "disallow": st.lists(TYPES | inner, min_size=1, max_size=2, unique_by=repr),
        }
    else:
        keywords |= {"allOf": several, "anyOf": several, "oneOf": several, "not": inner}
    if draft not in ("draft 3", "draft 4"):
        keywords |= {"contains": inner, "propertyNames": inner}
    if draft in ("draft 7", "draft 2019-09", "draft 2020-12"):
        keywords |= {"if": inner, "then": inner, "else": inner}
    if draft in ("draft 2019-09", "draft 2020-12"):
        keywords |= {"dependentSchemas": named, "minContains": SMALL, "maxContains": SMALL}
    else:
        keywords |= {"dependencies": named}
    if draft == "draft 2020-12":
        # jsonschema takes the keys of an `additionalProperties` of draft 2019-09 for names of properties.
        keywords |= {"prefixItems": several, "unevaluatedProperties": inner, "unevaluatedItems": inner}
    else:
        keywords |= {"items": inner | several}
    pairs = st.sampled_from(sorted(keywords)).flatmap(lambda key: st.tuples(st.just(key), keywords[key]))
    parts = st.lists(pairs, min_size=1, max_size=4).map(dict)
    return st.builds(lambda one, other: {**one, **other}, simple(draft), parts)


@cache
def schemas(draft: str) -> st.SearchStrategy[dict[str, Any]]:
    """Schemas of a draft, with references into definitions that do not lead back."""
    plain: st.SearchStrategy[Any] = st.recursive(simple(draft), lambda inner: combined(draft, inner), max_leaves=5)
    referring = st.recursive(
        simple(draft) | st.builds(lambda target: {"$ref": target}, REFERENCES),
        lambda inner: combined(draft, inner),
        max_leaves=5,
    )
    definitions = st.fixed_dictionaries({"x": plain, "y": plain})
    return st.builds(lambda one, defs: {**one, "$defs": defs, "definitions": defs}, referring, definitions)


@pytest.mark.parametrize("draft", DRAFTS)
@examples(60)
@given(data=st.data())
def test_the_verdict_is_that_of_jsonschema(draft: str, data: st.DataObject) -> None:
    kind = DRAFTS[draft]
    schema = {**data.draw(schemas(draft)), "$schema": kind.META_SCHEMA.get("$id") or kind.META_SCHEMA["id"]}
    values = data.draw(st.lists(VALUES, min_size=1, max_size=4))
    expectation = compile_value({"$schema": schema})

    for value in values:
        assert expectation.matches(value) == kind(schema).is_valid(value), value


SHAPES: list[Any] = [
    {"type": "string"},
    {"type": ["integer", "null"]},
    {"enum": [1, "a", [1], {"a": 1}]},
    {"pattern": "^a"},
    {"minLength": 2},
    {"maxLength": 1},
    {"minItems": 2},
    {"maxItems": 1},
    {"uniqueItems": True},
    {"uniqueItems": False},
    {"minimum": 1},
    {"maximum": 1},
    {"properties": {"a": {"type": "integer"}, "b": {}}},
    {"patternProperties": {"^a": {"type": "integer"}}},
    {"additionalProperties": {"type": "integer"}},
    {"properties": {"a": {}}, "patternProperties": {"b": {}}, "additionalProperties": {"type": "string"}},
    {"items": {"type": "integer"}},
    {"minimum": 0, "maximum": 1, "type": "number"},
]
SINCE_4: list[Any] = [
    {"multipleOf": 2},
    {"multipleOf": 0.5},
    {"minProperties": 2},
    {"maxProperties": 1},
    {"required": ["a"]},
    {"required": ["a", "b"]},
    {"allOf": [{"type": "number"}, {"minimum": 1}]},
    {"anyOf": [{"type": "string"}, {"required": ["b"]}, {"properties": {"a": {"enum": [1]}}, "type": "object"}]},
    {"oneOf": [{"type": "integer"}, {"minimum": 1}, {"required": ["a"]}]},
    {"not": {"type": "object"}},
    {"additionalProperties": False},
]
SINCE_6: list[Any] = [
    {"const": 1},
    {"contains": {"type": "integer"}},
    {"propertyNames": {"maxLength": 1}},
    {"exclusiveMinimum": 1},
    {"exclusiveMaximum": 1},
    {"properties": {"a": True, "b": False}},
    {"items": False},
]
SINCE_2019: list[Any] = [
    {"if": {"required": ["a"]}, "then": {"required": ["b"]}, "else": {"type": "string"}},
    {"if": {"required": ["a"]}, "then": {"properties": {"b": {"type": "string"}}}},
    {"if": {"type": "object"}, "else": {"minLength": 1}},
    {"contains": {"type": "integer"}, "minContains": 0},
    {"contains": {"type": "integer"}, "minContains": 2, "maxContains": 2},
    {"dependentRequired": {"a": ["b"]}},
    {"dependentSchemas": {"a": {"required": ["b"]}, "b": {"properties": {"b": {"type": "string"}}}}},
    {"$ref": "#/$defs/x", "$defs": {"x": {"type": "object", "properties": {"a": {"type": "integer"}}}}},
    {"prefixItems": [{"type": "integer"}, {}]},
    {"prefixItems": [{}], "items": {"type": "integer"}},
    {"prefixItems": [{}], "items": False},
]
LEGACY: list[Any] = [
    {"items": [{"type": "integer"}, {}]},
    {"items": [{}], "additionalItems": {"type": "integer"}},
    {"dependencies": {"a": ["b"]}},
    {"dependencies": {"a": {"properties": {"b": {"type": "string"}}}}},
]
OF_DRAFTS = {
    "draft 3": [*SHAPES, *LEGACY],
    "draft 4": [*SHAPES, *SINCE_4, *LEGACY],
    "draft 6": [*SHAPES, *SINCE_4, *SINCE_6, *LEGACY],
    "draft 7": [*SHAPES, *SINCE_4, *SINCE_6, *LEGACY, *SINCE_2019[:3]],
    "draft 2020-12": [*SHAPES, *SINCE_4, *SINCE_6, *SINCE_2019],
}
SAMPLES: list[Any] = [
    *[None, True, False, 0, 1, 1.0, 1.5, 2, -1, "", "a", "ab", "b"],
    *[[], [1], ["a"], [1, "a"], ["a", 1], [1, 1], [1, 2, 3], [1.5, 1, 1.0]],
    *[{}, {"a": 1}, {"a": "x"}, {"b": 1}, {"b": "x"}, {"a": 1, "b": 1}, {"a": 1, "b": "x"}, {"ab": 1, "c": "x"}],
]


@for_each("draft", list(OF_DRAFTS))
def test_each_keyword_says_of_each_kind_of_value_what_jsonschema_says(draft: str) -> None:
    kind, wrong = DRAFTS[draft], []
    named = {"$schema": kind.META_SCHEMA.get("$id") or kind.META_SCHEMA["id"]}

    for schema in [{**named, **each} for each in OF_DRAFTS[draft]]:
        expectation, judge = compile_value({"$schema": schema}), kind(schema)
        wrong += [(schema, value) for value in SAMPLES if expectation.matches(value) != judge.is_valid(value)]

    assert wrong == []


@for_each("schema", [each for each in OF_DRAFTS["draft 2020-12"] if "$ref" not in each])
def test_a_keyword_has_evaluated_what_jsonschema_says_it_has(schema: Any) -> None:
    wraps: list[Any] = [{"allOf": [schema]}, {"anyOf": [schema, {"type": "array"}]}, {"if": schema}, schema]
    values, wrong = [each for each in SAMPLES if isinstance(each, (list, dict))], []

    for each in [{**wrap, key: False} for wrap in wraps for key in ("unevaluatedItems", "unevaluatedProperties")]:
        expectation, judge = compile_value({"$schema": each}), jsonschema.Draft202012Validator(each)
        wrong += [(each, value) for value in values if expectation.matches(value) != judge.is_valid(value)]

    assert wrong == []


def test_a_schema_may_be_yes_or_no() -> None:
    assert [compile_value({"$schema": schema}).matches(1) for schema in (True, False)] == [True, False]


DRAFT_3, DRAFT_4, DRAFT_7 = [{"$schema": f"http://json-schema.org/draft-0{number}/schema#"} for number in (3, 4, 7)]


@pytest.mark.parametrize(
    ("schema", "held", "broken"),
    [
        ({"maximum": 3}, [3, 2], [4]),
        ({"minimum": 3}, [3, 4], [2]),
        ({"exclusiveMaximum": 3}, [2], [3, 4]),
        ({"exclusiveMinimum": 3}, [4], [3, 2]),
        ({**DRAFT_4, "maximum": 3, "exclusiveMaximum": True}, [2], [3]),
        ({**DRAFT_4, "maximum": 3, "exclusiveMaximum": False}, [3], [4]),
        ({"maxLength": 2, "minLength": 1}, ["a", "ab"], ["", "abc"]),
        ({"maxItems": 2, "minItems": 1}, [[1], [1, 2]], [[], [1, 2, 3]]),
        ({"maxProperties": 1, "minProperties": 1}, [{"a": 1}], [{}, {"a": 1, "b": 2}]),
        ({"type": "integer"}, [1, 1.0], [1.5, "1", True]),
        ({"type": ["integer", "string"]}, [1, "a"], [None, 1.5]),
        ({**DRAFT_3, "type": "any"}, [1, None, "a"], []),
        ({**DRAFT_3, "properties": {"a": {"type": "string", "required": True}}}, [{"a": "x"}], [{}, {"a": 1}]),
        ({"allOf": [{"contains": {"const": 1}}], "unevaluatedItems": False}, [[1, 1]], [[1, 2]]),
        ({"patternProperties": {"^a": True}, "unevaluatedProperties": False}, [{"ab": 1}], [{"b": 1}]),
        ({"patternProperties": {"^a": {"type": "string"}}}, [{"ab": "x", "b": 1}], [{"ab": 1}]),
        ({**DRAFT_7, "dependencies": {"a": ["b"]}}, [{}, {"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({**DRAFT_7, "dependencies": {"a": {"required": ["b"]}}}, [{"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
        ({"contains": {"const": 1}, "minContains": 2, "maxContains": 3}, [[1, 1], [1, 0, 1, 1]], [[1], [1] * 4, []]),
        ({"oneOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5, "a"], [3, 1.5]),
        ({"anyOf": [{"type": "integer"}, {"minimum": 2}]}, [1, 2.5, 3], [1.5]),
        ({"allOf": [{"prefixItems": [True]}], "unevaluatedItems": False}, [[1], []], [[1, 2]]),
        ({"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False}, [{"a": 1}], [{"b": 1}]),
        ({"unevaluatedItems": False}, ["a", {}, []], [[1]]),
        ({"unevaluatedProperties": False}, ["a", {}, [1]], [{"a": 1}]),
        ({"dependentRequired": {"a": ["b"]}}, [{"b": 1}, {"a": 1, "b": 1}], [{"a": 1}]),
    ],
)
def test_a_keyword_holds_up_to_its_bound_and_not_beyond(
    schema: dict[str, Any], held: list[Any], broken: list[Any]
) -> None:
    expectation = compile_value({"$schema": schema})

    assert [value for value in held if not expectation.matches(value)] == []
    assert [value for value in broken if expectation.matches(value)] == []


@examples(300)
@given(st.lists(VALUES, max_size=6))
@example([1, True])
@example([0, False])
@example([1, 1.0])
@example([[1], [True]])
@example([{"a": 1, "b": 2}, {"b": 2.0, "a": 1}])
@example(["\ud83d\ude00", "😀"])
@example([float("nan"), float("nan")])
def test_items_are_unique_where_no_two_of_them_are_equal(items: list[Any]) -> None:
    pairs = [(one, other) for index, one in enumerate(items) for other in items[:index]]

    is_unique = compile_value({"$schema": {"uniqueItems": True}}).matches(items)

    assert is_unique == (not any(equal(one, other) for one, other in pairs))


@pytest.mark.parametrize("draft", list(DRAFTS.values()), ids=list(DRAFTS))
def test_items_holds_for_the_first_item_too(draft: Any) -> None:
    schema = {"$schema": draft.META_SCHEMA.get("$id", draft.META_SCHEMA.get("id")), "items": {"type": "string"}}
    expectation = compile_value({"$schema": schema})

    assert [expectation.matches(given) for given in ([], ["a", "b"], [1], ["a", 1])] == [True, True, False, False]


@pytest.mark.parametrize("name", ["default", "enum", "examples", "const", "properties", "patternProperties", "$ref"])
def test_a_property_may_be_called_like_a_keyword(name: str) -> None:
    expectation = compile_value({"$schema": {"properties": {name: {"items": {"pattern": "^a"}}}}})

    assert expectation.matches({name: ["abc"]})
    assert not expectation.matches({name: ["bcd"]})


@pytest.mark.parametrize("keyword", ["const", "enum", "default", "examples"])
def test_what_is_data_in_a_schema_is_not_taken_for_a_schema(keyword: str) -> None:
    data = {"pattern": "(", "$ref": "http://127.0.0.1:9/x", "type": 5}
    schema = {keyword: data if keyword in ("const", "default") else [data]}

    assert compile_value({"$schema": schema}).matches(data)


def test_patterns_of_properties_run_on_the_linear_engine() -> None:
    evil = {"a" * 40 + "!": 1}
    for schema in (
        {"patternProperties": {"(a+)+$": False}},
        {"patternProperties": {"(a+)+$": {}}, "additionalProperties": {"type": "integer"}},
        {"patternProperties": {"(a+)+$": {}}, "unevaluatedProperties": {"type": "integer"}},
        {"$ref": "#/default", "default": {"patternProperties": {"(a+)+$": {}}}},
        {"propertyNames": {"not": {"pattern": "(a+)+$"}}},
    ):
        assert compile_value({"$schema": schema}).matches(evil)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"$ref": "#/nowhere"}, "'#/nowhere' leads nowhere"),
        ({"$ref": "other.json"}, "leads outside the schema"),
        ({"$dynamicRef": "https://json-schema.org/draft/2020-12/schema"}, "leads outside the schema"),
        ({"$ref": "#/default", "default": 5}, "leads to 5, not a schema"),
        ({"$ref": "#/default", "default": {"type": 7}}, "is not a JSON Schema"),
        ({"properties": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}}, "of another draft"),
        ({"$schema": "http://json-schema.org/draft-03/schema#", "type": "text"}, "no type 'text'"),
        ({"$defs": {"unused": {"pattern": "("}}}, "unclosed group"),
        (
            {"properties": {"a": {"$dynamicRef": "#"}, "b": {"$id": "https://example.org/part", "type": "object"}}},
            "leave out the inner",
        ),
    ],
)
def test_a_schema_that_cannot_be_followed_is_refused(schema: dict[str, Any], message: str) -> None:
    with pytest.raises(ExpectationError, match=message):
        compile_value({"$schema": schema})


def test_references_are_relative_to_the_id_of_their_part() -> None:
    part = {"$id": "https://example.com/part", "$ref": "#/$defs/n", "$defs": {"n": {"type": "string"}}}
    schema = {"$ref": "#/$defs/part", "$defs": {"part": part, "n": {"type": "integer"}}}

    assert compile_value({"$schema": schema}).matches("a")
    assert compile_value({"$schema": {**schema, "$ref": "https://example.com/part"}}).matches("a")
    assert not compile_value({"$schema": schema}).matches(1)


def test_a_tree_is_judged_by_a_schema_that_refers_to_itself() -> None:
    schema = {"$dynamicAnchor": "t", "properties": {"c": {"items": {"$dynamicRef": "#t"}}, "n": {"type": "integer"}}}
    expectation = compile_value({"$schema": {**schema, "unevaluatedProperties": False}})

    assert expectation.matches({"n": 1, "c": [{"n": 2}, {"c": []}]})
    assert not expectation.matches({"c": [{"c": [{"m": 1}]}]})


@pytest.mark.parametrize(
    "schema",
    [{"$ref": "#"}, {"allOf": [{"$ref": "#"}]}, {"$dynamicRef": "#"}, {"not": {"$ref": "#"}}],
    ids=str,
)
def test_a_schema_without_end_is_an_error_that_says_so(schema: dict[str, Any]) -> None:
    with pytest.raises(LimitError, match="refers to itself without end"):
        compile_value({"$schema": schema}).matches(1)


@pytest.mark.parametrize(
    ("value", "of", "holds"),
    [
        (10**400, 0.1, True),
        (10**400, 0.3, False),
        (1e308, 0.5, True),
        (1e308, 0.123456789, False),
        (float("nan"), 0.1, False),
        (float("inf"), 2, False),
    ],
)
def test_multiples_of_numbers_beyond_a_float_are_exact(value: float, of: float, holds: bool) -> None:
    assert compile_value({"$schema": {"multipleOf": of}}).matches(value) is holds


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"allOf": [{"unevaluatedProperties": True}], "unevaluatedProperties": False}, {"a": 1}),
        (
            {"allOf": [{"properties": {"a": True}, "unevaluatedProperties": True}], "unevaluatedProperties": False},
            {"a": 1},
        ),
        ({"allOf": [{"unevaluatedItems": True}], "unevaluatedItems": False}, [1]),
        ({"allOf": [{"prefixItems": [True], "unevaluatedItems": True}], "unevaluatedItems": False}, [1, 2]),
    ],
    ids=str,
)
def test_what_a_part_has_left_nothing_of_is_evaluated_for_the_whole(schema: dict[str, Any], value: Any) -> None:
    assert compile_value({"$schema": schema}).matches(value)


@pytest.mark.parametrize(("value", "holds"), [({"x1": 1}, True), ({"y": 1}, False), ({"x1": 1, "z": 2}, True)])
def test_a_property_that_a_pattern_names_is_not_an_additional_one(value: dict[str, Any], holds: bool) -> None:
    schema = {"properties": {"z": {}}, "patternProperties": {"^x": {}}, "additionalProperties": False}

    assert compile_value({"$schema": schema}).matches(value) == holds


def test_a_schema_that_is_nested_too_deeply_is_refused() -> None:
    schema: dict[str, Any] = {}
    for _ in range(190):
        schema = {"not": schema}

    with pytest.raises(ExpectationError, match="is a JSON Schema that is nested too deeply"):
        compile_value({"$schema": schema})


def test_a_value_that_is_nested_too_deeply_for_a_schema_is_refused_and_not_judged() -> None:
    value: dict[str, Any] = {}
    for _ in range(3_000):
        value = {"c": value}

    with pytest.raises(LimitError, match="nested too deeply"):
        compile_value({"$schema": {"properties": {"c": {"$ref": "#"}}}}).matches(value)


def test_what_a_remembered_reference_has_evaluated_is_counted_each_time() -> None:
    parts = {"part": {"patternProperties": {"^k": {"$ref": "#/$defs/any"}}}, "any": True}
    schema = {"allOf": [{"$ref": "#/$defs/part"}] * 800, "$defs": parts, "unevaluatedProperties": False}
    expectation = compile_value({"$schema": schema})

    assert expectation.matches({"k": 1})
    with pytest.raises(LimitError):
        expectation.matches({f"k{number}": number for number in range(2_000)})


@pytest.mark.parametrize(
    ("value", "holds"), [({"a": 1}, True), ({"a": 1, "b": 1}, True), ({"a": "x", "b": 1}, False), ({"c": 1}, False)]
)
def test_what_an_alternative_that_holds_has_seen_is_evaluated(value: dict[str, Any], holds: bool) -> None:
    parts = [{"properties": {name: {"type": "integer"}}, "required": [name]} for name in "ab"]

    assert compile_value({"$schema": {"anyOf": parts, "unevaluatedProperties": False}}).matches(value) == holds


@pytest.mark.parametrize(("value", "holds"), [(0.0075, True), (0.00751, False), (3, True), (0, True)])
def test_multiples_of_a_fraction_are_found_by_division(value: float, holds: bool) -> None:
    assert compile_value({"$schema": {"multipleOf": 0.0001}}).matches(value) is holds


@pytest.mark.parametrize(
    ("items", "value", "holds"),
    [
        ([{"type": "integer"}], [1, "a", "b"], True),
        ([{"type": "integer"}], [1, "a", 2], False),
        ([{"type": "integer"}], [1], True),
        ({"type": "integer"}, [1, 2], True),
    ],
)
def test_additional_items_come_after_a_list_of_items_alone(items: Any, value: list[Any], holds: bool) -> None:
    draft = {"$schema": "http://json-schema.org/draft-07/schema#"}
    expectation = compile_value({"$schema": {**draft, "items": items, "additionalItems": {"type": "string"}}})

    assert expectation.matches(value) is holds
