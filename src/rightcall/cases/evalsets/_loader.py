"""Load eval sets and expectations, from files, texts and Python values, and convert them to the native format."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path as FilePath
from typing import Any

from rightcall.errors import CriteriaError, InputError, shown
from rightcall.judging import EVALUATORS, unavailable
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import decode_document, dump_json
from rightcall.values.results import Source

from ._cases import Case, Check, EvalSet, Format
from ._compiler import Compiler, FindCode
from ._models import WrittenDefaults
from ._shorthands import check_defaults, resolve_expectation
from ._source import EvalSetDocument, SourceFile

_MANY_OBJECTS = 30_000
"""From so many objects on, which about 1,000 cases have, it matters that no collection visits them."""


def load_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None) -> EvalSet:
    """Load the eval set in a file, and check every key, expectation and id in it.

    The file may be in the native format, in UiPath's or in ADK's; its content decides. Only `find_code` imports custom
    evaluators. Without it, they are not checked, and their result is `error`.

    Raises:
        DocumentError: the first mistake, with file, line and column, and what would be right.
        InputError: the file cannot be read.
    """
    with _collector_off():
        format_name, document = read_document(path, limits)
        return Compiler(document, limits, find_code).eval_set(format_name)


def parse_eval_set(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> EvalSet:
    """Load an eval set from a text in the native format. `name` is the name of its file; see `load_eval_set`.

    Raises:
        DocumentError: the first mistake, with line and column.
    """
    with _collector_off():
        file = SourceFile(name, text, limits)
        return Compiler(EvalSetDocument(file, file.value), limits, find_code).eval_set("native")


def load_expectation(
    text: str | bytes, name: str, limits: Limits = DEFAULT_LIMITS, find_code: FindCode | None = None
) -> Callable[[str], Case]:
    """Load an expectation from YAML or JSON, as under `expect`. Return a function that makes a case of it, given an id.

    Raises:
        DocumentError: the expectation is wrong.
    """
    file = SourceFile(name, text, limits)
    return Compiler(EvalSetDocument(file, file.value), limits, find_code).expectation()


@contextmanager
def _collector_off() -> Iterator[None]:
    """Turn the garbage collector off while an eval set is made.

    Everything that is made is kept, so there is no garbage to find, but each collection visits all objects made so far:
    it took 40 % of the time to load 10,000 cases.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            # To count what is frozen visits it, which takes 18 ms for the half million objects of a large session of
            # pytest. The first generation counts what was made.
            if gc.get_count()[0] > _MANY_OBJECTS and not gc.get_freeze_count():
                # Both together move what was made to the oldest generation without a visit, which would take a tenth
                # of the time again (https://docs.python.org/3/library/gc.html#gc.freeze).
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def read_document(path: str | FilePath, limits: Limits) -> tuple[Format, EvalSetDocument]:
    """Read a file in any format. Return the format, and the eval set translated to the native one.

    Raises:
        DocumentError: it has a mistake by the rules of the other tool.
        InputError: the file, or one that belongs to it, cannot be read.
    """
    file = SourceFile.read(path, limits)
    format_name = format_of(file.value)
    # Imported late: most eval sets are native, and each translator costs an import.
    if format_name == "uipath":
        from ._uipath_sets import translate_uipath

        return format_name, translate_uipath(file, limits)
    if format_name == "adk":
        from ._adk_sets import translate_adk

        return format_name, translate_adk(file, limits)
    return format_name, EvalSetDocument(file, file.value)


def format_of(value: Any) -> Format:
    """Return the format of a document, recognized by its keys."""
    # By content, because files of all three tools end in `.json`.
    if isinstance(value, dict) and "cases" not in value:
        if value.keys() & {"evaluations", "evaluatorRefs", "evaluatorConfigs", "evaluator_refs", "evaluator_configs"}:
            return "uipath"
        if value.keys() & {"eval_cases", "evalCases", "eval_set_id", "evalSetId"}:
            return "adk"
    # Older test files of ADK are a bare list of queries.
    if isinstance(value, list) and any(isinstance(item, dict) and item.keys() & {"query", "data"} for item in value):
        return "adk"
    return "native"


def compile_expectation(expect: Mapping[str, Any], source: Source, **settings: Any) -> tuple[Check, ...]:
    """Compile an `expect` given as Python values into checks. `source` is the position of all of them.

    `settings` are what a file has under `defaults`; one that is `None` is not given.

    Raises:
        CriteriaError: the expectation is empty or wrong, or names an evaluator that is not available; or a setting for
            the calls to look at is wrong.
        ConfigurationError: another setting is wrong.
    """
    if not expect:
        raise CriteriaError(f"an expectation is an object such as {{'calls': ['search']}}, not {shown(expect)}")
    given: dict[str, Any] = {key: list(value) if isinstance(value, tuple) else value for key, value in settings.items()}
    defaults = WrittenDefaults(**{key: value for key, value in given.items() if value is not None})
    check_defaults(defaults, DEFAULT_LIMITS)
    return tuple([_check(key, value, defaults, source) for key, value in expect.items()])


def _check(key: Any, value: Any, defaults: WrittenDefaults, source: Source) -> Check:
    if not isinstance(key, str):
        raise CriteriaError(f"the keys of an expectation are names of evaluators, not {shown(key)}")
    expected = resolve_expectation(key, list(value) if isinstance(value, tuple) else value, defaults, {})
    if reason := unavailable(expected.type_id):
        raise CriteriaError(f"the evaluator {shown(key)} is not yet available: {reason}")
    evaluator = EVALUATORS[expected.type_id](key, expected.config)
    return Check(key, evaluator, evaluator.criteria(expected.criteria), lambda _: source, expected.weight)


_OF_SET = (
    "$schema",
    "name",
    "description",
    "agent",
    "defaults",
    "evaluators",
    "rules",
    "expect",
    "overall",
    "cases",
    "metadata",
)
_OF_CASE = (
    "id",
    "name",
    "description",
    "tags",
    "input",
    "turns",
    "when",
    "expected_behavior",
    "session",
    "mocks",
    "expect",
    "metadata",
)


def convert_eval_set(path: str | FilePath, limits: Limits = DEFAULT_LIMITS) -> str:
    """Return the eval set in a file as text in the native format. Its verdicts are those of the file.

    Keys that the native format does not have are kept under `metadata`.

    Raises:
        DocumentError: the file is wrong.
        InputError: the file cannot be read.
    """
    from ._layout import dump_yaml

    format_name, document = read_document(path, limits)
    Compiler(document, limits).eval_set(format_name)  # raises if the file has a mistake
    written = _ordered(document.value, _OF_SET)
    written["cases"] = [_ordered(case, _OF_CASE) for case in written["cases"]]
    # YAML cannot express everything that JSON can, such as half of a surrogate pair.
    text = dump_yaml(written)
    return text if _says(text, written, limits) else dump_json(written, indent=2) + "\n"


def _ordered(value: dict[str, Any], keys: tuple[str, ...]) -> dict[str, Any]:
    known = {key: value[key] for key in keys if key in value}
    return known | value


def _says(text: str, value: Any, limits: Limits) -> bool:
    from rightcall.matching.matchers import equal

    try:
        return equal(decode_document(text.encode(), limits).value, value)
    except (InputError, UnicodeError):
        return False
