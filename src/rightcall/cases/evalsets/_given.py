"""Expectations that are given as Python values, not written in a file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rightcall.errors import CriteriaError, shown
from rightcall.judging import EVALUATORS, unavailable
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.results import Source

from ._cases import Check
from ._expecting import check_defaults, spell_out
from ._written import WrittenDefaults


def compile_expectation(
    expect: Mapping[str, Any], source: Source, *, match: Any = None, args: Any = None, threshold: Any = None
) -> tuple[Check, ...]:
    """The checks that the keys of an `expect` stand for; all of them are said to be written at `source`.

    `match`, `args` and `threshold` are what a file says under `defaults`.

    Raises:
        CriteriaError: the expectation is empty or wrong, or asks for an evaluator that is not there.
        ConfigurationError: `match`, `args` or `threshold` is none.
    """
    if not expect:
        raise CriteriaError(f"an expectation is an object such as {{'calls': ['search']}}, not {shown(expect)}")
    given = {"match": match, "args": args, "threshold": threshold}
    defaults = WrittenDefaults(**{key: value for key, value in given.items() if value is not None})
    check_defaults(defaults, DEFAULT_LIMITS)
    return tuple([_check(key, value, defaults, source) for key, value in expect.items()])


def _check(key: Any, value: Any, defaults: WrittenDefaults, source: Source) -> Check:
    if not isinstance(key, str):
        raise CriteriaError(f"the keys of an expectation are names of evaluators, not {shown(key)}")
    expected = spell_out(key, list(value) if isinstance(value, tuple) else value, defaults, {})
    if reason := unavailable(expected.type_id):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    evaluator = EVALUATORS[expected.type_id](key, expected.config)
    return Check(key, evaluator, evaluator.criteria(expected.criteria), lambda _: source, expected.weight)
