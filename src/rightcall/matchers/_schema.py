"""JSON Schema as a matcher, without network and without patterns that hang."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from rightcall.errors import ExpectationError, MissingExtraError, shown
from rightcall.limits import Limits

from ._operand import Operand, Test
from ._regex import compile_regex


def compile_schema(operand: Operand) -> Test:
    """A test of whether a value is valid by a JSON Schema (draft 2020-12 unless `$schema` says otherwise).

    References are resolved inside the schema only; nothing is fetched. `pattern` runs on the linear engine.

    Raises:
        ExpectationError: the operand is not a JSON Schema.
        MissingExtraError: the package jsonschema is not installed.
    """
    try:
        import jsonschema
        import referencing
    except ImportError:
        raise MissingExtraError(f"{operand.where} needs jsonschema: pip install 'rightcall[schema]'") from None
    schema = operand.value
    if not isinstance(schema, (dict, bool)):
        raise operand.wrong("a JSON Schema", schema)
    try:
        kind = jsonschema.validators.validator_for(schema, default=jsonschema.Draft202012Validator)
        kind.check_schema(schema)
    except (TypeError, AttributeError):
        raise operand.wrong("a JSON Schema", schema) from None
    except jsonschema.SchemaError as problem:
        raise ExpectationError(f"{operand.where} is not a JSON Schema: {problem.message:.200}") from None
    tests = _compiled_patterns(schema, operand.where, operand.compiler.limits)
    linear = jsonschema.validators.extend(kind, {"pattern": _pattern_keyword(tests)})
    validator = linear(schema, registry=referencing.Registry())
    return lambda actual: bool(validator.is_valid(actual))


def _compiled_patterns(schema: Any, where: str, limits: Limits) -> dict[str, Test]:
    """The test of each `pattern` in a schema, at any depth."""
    tests: dict[str, Test] = {}
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, list):
            waiting.extend(part)
        elif isinstance(part, dict):
            if not str(part.get("$ref", "#")).startswith("#"):
                raise ExpectationError(
                    f"{where}: $ref {shown(part['$ref'])} leads outside the schema; nothing is fetched"
                )
            if "patternProperties" in part:
                raise ExpectationError(f"{where}: patternProperties is not supported; use properties or propertyNames")
            if isinstance(part.get("pattern"), str):
                tests[part["pattern"]] = compile_regex(part["pattern"], where, limits)
            waiting.extend(item for key, item in part.items() if key not in ("const", "enum", "default", "examples"))
    return tests


def _pattern_keyword(tests: dict[str, Test]) -> Callable[..., Iterator[Any]]:
    """The keyword `pattern`, which jsonschema would run on Python's backtracking `re`."""
    import jsonschema

    def pattern(validator: Any, wanted: str, instance: Any, schema: Any) -> Iterator[Any]:
        if isinstance(instance, str) and not tests[wanted](instance):
            yield jsonschema.ValidationError(f"does not match {wanted!r}")

    return pattern
