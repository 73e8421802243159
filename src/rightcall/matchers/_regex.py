"""Regular expressions that cannot hang."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rightcall.errors import ExpectationError
from rightcall.limits import DEFAULT_LIMITS, Limits

_SURROGATE = re.compile("[\ud800-\udfff]")


def compile_regex(pattern: str, where: str, limits: Limits = DEFAULT_LIMITS) -> Callable[[Any], bool]:
    """A test of whether a text contains a match of `pattern`.

    It runs in time linear in the text, so no pattern can hang it. The price: no backreferences, no lookaround.

    Raises:
        ExpectationError: the pattern is malformed, too long, or asks for what a linear engine cannot do.
    """
    if len(pattern) > limits.pattern_length:
        raise ExpectationError(f"{where}: a pattern of {len(pattern):,} characters; at most {limits.pattern_length:,}")
    # pydantic-core carries Rust's regex crate; pydantic itself is not loaded for it.
    from pydantic_core import SchemaError, SchemaValidator, core_schema

    try:
        validator = SchemaValidator(core_schema.str_schema(pattern=pattern, regex_engine="rust-regex", strict=True))
    except (SchemaError, UnicodeError) as problem:
        reason = str(problem).replace("SchemaError: ", "").strip().splitlines()
        raise ExpectationError(f"{where}: the pattern {pattern!r:.80} is not usable: {reason[-1]}") from None
    return lambda actual: isinstance(actual, str) and validator.isinstance_python(_clean(actual))


def _clean(text: str) -> str:
    # A lone surrogate has no UTF-8 form, which the engine needs.
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)
