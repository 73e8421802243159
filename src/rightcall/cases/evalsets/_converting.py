"""Eval sets of any format, written out in the native one."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

from rightcall.errors import InputError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.matchers import equal
from rightcall.values.decoding import decode_document, dump_json

from ._loading import draft_eval_set
from ._native import Compiling
from ._yaml import dump_yaml

_OF_SET = ("$schema", "name", "description", "agent", "defaults", "evaluators", "overall", "cases", "metadata")
_OF_CASE = (
    "id",
    "name",
    "description",
    "tags",
    "input",
    "turns",
    "expected_behavior",
    "session",
    "mocks",
    "expect",
    "metadata",
)


def convert_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS) -> str:
    """The eval set in a file, in the native format. It loads, and its verdicts are those of the file.

    What the native grammar has no key for stands under `metadata`. It is YAML or, where YAML cannot say something
    that JSON can, such as half of a surrogate pair, JSON.

    Raises:
        DocumentError: the file is wrong.
        InputError: the file cannot be read.
    """
    whose, draft = draft_eval_set(path, limits)
    Compiling(draft, limits).eval_set(whose)
    written = _ordered(draft.value, _OF_SET)
    written["cases"] = [_ordered(case, _OF_CASE) for case in written["cases"]]
    text = dump_yaml(written)
    return text if _says(text, written, limits) else dump_json(written, indent=2) + "\n"


def _ordered(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    known = {key: value[key] for key in keys if key in value}
    return known | value


def _says(text: str, value: Any, limits: Limits) -> bool:
    try:
        return equal(decode_document(text.encode(), limits).value, value)
    except (InputError, UnicodeError):
        return False
