"""Find all mistakes of an eval set, and not only the first."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from rightcall._lazy import lazy_pattern
from rightcall.errors import CriteriaError, DocumentError, ExpectationError
from rightcall.judging import Evaluator, ModelError, UserModel, independent
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values import decoding

from ._cases import EVERY_KEY, POLICY_KEY
from ._eval_set_file import EvalSetDocument, WrittenCase, WrittenEvalSet, check_mocks, path_of
from ._loader import Compiler, load_eval_set, read_document
from ._shorthands import check_defaults

MOST_MISTAKES = 100
"""The most mistakes of one file to look for: with more, something is wrong with the file as a whole."""
_BINDING = lazy_pattern(r"\$(?:bind|ref) '")
_FIRST = lazy_pattern(r"^((?:criteria of '[^']*': )?(?:unknown key ')?[\w.-]+)\[0\]")
"""The path that a message about the first item of a list begins with."""
_ModelT = TypeVar("_ModelT", bound=UserModel)


def eval_set_mistakes(path: str | Path, limits: Limits = DEFAULT_LIMITS) -> list[DocumentError]:
    """Return all mistakes of the eval set in a file, in the order of its lines; at most `MOST_MISTAKES`.

    A file that cannot be decoded, or is wrong by the rules of another tool, has one: the rest is unknown.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        _, document = read_document(path, limits)
    except DocumentError as problem:
        return [problem]
    found = _MistakeFinder(document, limits).find()
    if not found:
        try:
            load_eval_set(path, limits)
        except DocumentError as problem:  # one that only the eval set as a whole has
            found = [problem]
    unique = {str(problem): problem for problem in found}
    return sorted(unique.values(), key=lambda each: (each.line, each.column))[:MOST_MISTAKES]


class _MistakeFinder(Compiler):
    """Compiles what can be compiled, part by part, and keeps the mistake of each part that cannot."""

    _found: list[DocumentError] = []

    def find(self) -> list[DocumentError]:
        """Return the mistakes that were found."""
        value = self._document.value
        if not isinstance(value, dict):
            self._try(self._written)
            return self._found
        cases = value.get("cases")
        head = value if not isinstance(cases, list) or not cases else {**value, "cases": [_STAND_IN]}
        written = self._valid(WrittenEvalSet, head, ())
        if written is not None:
            self._try_settings(written)
        for number, case in enumerate(cases if isinstance(cases, list) else ()):
            if len(self._found) >= MOST_MISTAKES:
                break
            self._try_case(case, number)
        self._try_ids(cases if isinstance(cases, list) else [])
        return self._found

    def _try_settings(self, written: WrittenEvalSet) -> None:
        def set_defaults() -> None:
            with self._document.locating_errors(("defaults",), lambda steps: steps):
                check_defaults(written.defaults, self._limits)
            self._defaults = written.defaults

        def add_evaluators() -> None:
            self._added = self._added_evaluators(written)

        self._try(set_defaults)
        self._try(add_evaluators)
        if written.rules is not None:
            self._try_expectation(POLICY_KEY, written.rules, (POLICY_KEY,))
        for key, item in written.expect.items():
            self._try_expectation(key, item, (EVERY_KEY, key))
        for name, each in written.overall.items():
            self._try(partial(self._overall, name, each))

    def _try_case(self, value: Any, number: int) -> None:
        place: decoding.Path = ("cases", number)
        written = self._valid(WrittenCase, value, place)
        expect = value.get("expect") if isinstance(value, dict) else None
        for key, item in expect.items() if isinstance(expect, dict) else ():
            self._try_expectation(key, item, (*place, "expect", key))
        if written is None:
            return
        wildcards = bool(self._defaults.wildcards)
        if written.mocks:
            mocks = written.mocks
            self._try(partial(check_mocks, mocks, (*place, "mocks"), self._document, wildcards=wildcards))
        if written.when is not None:
            self._try(partial(self._when, written.when, place))
        rest = written.model_copy(update={"expect": {}, "mocks": None, "when": None})
        self._try(partial(self._case, rest, number))

    def _try_expectation(self, key: str, value: Any, place: decoding.Path) -> None:
        """Compile an expectation. Of a list with a mistake, each item is compiled alone: several may have one."""
        before = len(self._found)
        self._try(partial(self._check, key, value, place))
        if len(self._found) == before or not isinstance(value, list) or len(value) < 2:
            return
        whole, document = self._found[before:], self._document
        del self._found[before:]
        for number, item in enumerate(value):
            self._document = _OneItem(document.file, document.value, whole=document, depth=len(place), number=number)
            self._try(partial(self._check, key, [item], place))
        self._document = document
        # What one item binds, another one uses: alone, neither is valid.
        self._found[before:] = [each for each in self._found[before:] if not _BINDING.search(str(each))]
        if len(self._found) == before:  # the items are right, and something about them together is not
            self._found += whole

    def _try_ids(self, cases: list[Any]) -> None:
        lines: dict[str, int] = {}
        for number, case in enumerate(cases):
            name = case.get("id") if isinstance(case, dict) else None
            if not isinstance(name, str):
                continue
            if name in lines:
                self._found.append(self._used_twice(name, lines[name], number))
            lines.setdefault(name, self._document.source(("cases", number, "id")).line)

    def _valid(self, model: type[_ModelT], value: Any, place: decoding.Path) -> _ModelT | None:
        """Return the model of the valid keys of an object; `None` if there are too few."""
        mistakes: list[tuple[decoding.Path, str]] = []
        chain: Any = None
        for step in place:
            chain = (chain, step)
        made: _ModelT = model.check_value(value, chain, mistakes)
        if not mistakes:
            return made
        self._found += [self._problem(reason, path) for path, reason in independent(mistakes)]
        wrong = {path[len(place)] for path, _ in mistakes if len(path) > len(place)}
        if not isinstance(value, dict):
            return None
        try:
            return model.model_validate({key: item for key, item in value.items() if key not in wrong})
        except ModelError:
            return None

    def _try(self, step: Callable[[], Any]) -> None:
        try:
            step()
        except DocumentError as problem:
            self._found += problem.each

    def _criteria(self, evaluator: Evaluator[Any, Any, Any], value: Any, is_plain: bool) -> Any:
        """Return the criteria. Expected values with a mistake are left out one after the other, to find the next."""
        found: dict[decoding.Path, str] = {}
        made: Any = None
        while value is not None and len(found) < MOST_MISTAKES:
            try:
                made = super()._criteria(evaluator, value, is_plain)
                break
            except ExpectationError as problem:
                steps = path_of(problem)
                if found and (steps in found or _BINDING.search(str(problem))):  # it follows from what was left out
                    break
                found[steps], value = str(problem), _without(value, steps)
            except CriteriaError:
                if not found:
                    raise
                break
        if found:
            steps, message = next(iter(found.items()))
            raise CriteriaError(message, steps, list(found.items()))
        return made


def _without(value: Any, steps: decoding.Path) -> Any:
    """Return a copy of an object or a list without the entry at a path; `None` if an object has no such entry."""
    if not steps or not isinstance(value, (dict, list)):
        return None
    step: Any = steps[0]
    if isinstance(value, dict) and step == "args" and len(value) == 1:
        step = step if step in value else next(iter(value))  # {search: {query: a}} has the arguments of `search`
    try:
        inner = value[step]
    except (KeyError, IndexError, TypeError):
        return None
    if len(steps) == 1:
        return {key: item for key, item in value.items() if key != step} if isinstance(value, dict) else None
    changed = _without(inner, steps[1:])
    if changed is None:
        return None
    return {**value, step: changed} if isinstance(value, dict) else [*value[:step], changed, *value[step + 1 :]]


_STAND_IN = {"id": "case", "expect": {"calls": []}}
"""A valid case in place of all cases, which are checked one by one."""


class _OneItem(EvalSetDocument, kw_only=True, eq=False):
    """A document in which one item of a list is compiled alone; its mistakes get the position of the item."""

    whole: EvalSetDocument
    depth: int
    """How many steps lead to the list."""
    number: int

    def problem(self, message: str, path: decoding.Path) -> DocumentError:
        """Return the exception for a mistake in the item."""
        message = _FIRST.sub(rf"\g<1>[{self.number}]", message, count=1)
        if len(path) > self.depth and path[self.depth] == 0:
            path = (*path[: self.depth], self.number, *path[self.depth + 1 :])
        return self.whole.problem(message, path)
