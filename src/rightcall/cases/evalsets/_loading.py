"""Eval sets on disk, in any of the formats."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path as FilePath
from typing import Any

from rightcall.limits import DEFAULT_LIMITS, Limits

from ._cases import Case, EvalSet, Format
from ._native import Compiling, FindCode
from ._pages import Draft, Page


def load_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None) -> EvalSet:
    """The eval set in a file, checked whole: every key, every expectation, every id.

    The file may be in the native format, in UiPath's, or in ADK's: its content tells which. Nothing it names is
    imported, unless `find_code` does: it is asked for evaluators that are code of the user's. Without it, these are not
    checked, and judge nothing.

    Raises:
        DocumentError: naming file, line and column of the first mistake, and what would be right.
        InputError: the file cannot be read.
    """
    whose, draft = draft_eval_set(path, limits)
    return Compiling(draft, limits, find_code).eval_set(whose)


def parse_eval_set(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> EvalSet:
    """The eval set that a text in the native format is, checked whole; `name` is that of its file.

    Code that it names is found as `load_eval_set` does it.

    Raises:
        DocumentError: naming line and column of the first mistake.
    """
    page = Page(name, text, limits)
    return Compiling(Draft(page, page.value), limits, find_code).eval_set("native")


def load_expectation(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> Callable[[str], Case]:
    """What makes a case of an expectation alone, given as the YAML or JSON of an `expect`.

    Raises:
        DocumentError: the expectation is wrong.
    """
    page = Page(name, text, limits)
    return Compiling(Draft(page, page.value), limits, find_code).expectation()


def draft_eval_set(path: str | FilePath, limits: Limits) -> tuple[Format, Draft]:
    """The eval set in a file in the native grammar, whatever format the file is in, and which format that is.

    Raises:
        DocumentError: it is in another tool's format, and not as that would have it.
        InputError: the file, or one that belongs to it, cannot be read.
    """
    page = Page.read(path, limits)
    whose = format_of(page.value)
    if whose == "uipath":
        from ._uipath import translate_uipath

        return whose, translate_uipath(page, limits)
    if whose == "adk":
        from ._adk import translate_adk

        return whose, translate_adk(page, limits)
    return whose, Draft(page, page.value)


def format_of(value: Any) -> Format:
    """Whose format a document is in, told from its keys."""
    if isinstance(value, dict) and "cases" not in value:
        if value.keys() & {"evaluations", "evaluatorRefs", "evaluatorConfigs", "evaluator_refs", "evaluator_configs"}:
            return "uipath"
        if value.keys() & {"eval_cases", "evalCases", "eval_set_id", "evalSetId"}:
            return "adk"
    if isinstance(value, list) and any(isinstance(item, dict) and item.keys() & {"query", "data"} for item in value):
        return "adk"
    return "native"
