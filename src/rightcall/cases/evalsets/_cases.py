"""Eval sets, their cases, the checks that all cases share, and the selection of cases by id and tag."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import InputError, nearest
from rightcall.judging import Criteria, Evaluator
from rightcall.values.results import Quarantine, Source

if TYPE_CHECKING:
    from rightcall.judging import OverallEvaluator, Scope

    from ._when import When

Format: TypeAlias = Literal["native", "uipath", "adk"]
POLICY_KEY = "rules"
"""The key of the rules of an eval set, and of those of a case under `expect`."""
EVERY_KEY = "expect"
"""The key for what is expected of every trajectory, and the id of the case for those that belong to no other."""
_APART = "rules (all cases)"
"""The name of the rules of an eval set in cases whose own rules have other settings."""
_INDEX = lazy_pattern(r"rules\[(\d+)\]")


class Check(msgspec.Struct, frozen=True):
    """One expectation of a case: an evaluator, its criteria, and where they are written."""

    key: str
    """The key in `expect`."""
    evaluator: Evaluator[Any, Any, Any]
    criteria: Any
    source: Callable[[str | None], Source]
    """Returns where a part of the criteria is written, given the path in a finding."""
    weight: float = 1.0

    @property
    def scope(self) -> Scope | None:
        """Which properties of calls it depends on; `None` if it may depend on anything of the run."""
        # Criteria that select calls by agent or level read more of a call than any scope declares, and by UiPath's rule
        # names of tools are changed before they are compared.
        criteria = self.criteria
        if self.evaluator.renames or not isinstance(criteria, Criteria) or not criteria.takes_all:
            return None
        found: Scope | None = self.evaluator.scope(criteria)
        return found

    def lists(self) -> Iterable[tuple[str, Sequence[Any]]]:
        """Return the lists of calls in the criteria that are not empty, each with its path."""
        return self.criteria.call_lists() if isinstance(self.criteria, Criteria) else ()


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """One case: what the agent is given, and what is expected of it."""

    id: str
    source: Source
    name: str = ""
    description: str = ""
    checks: tuple[Check, ...] = ()
    input: Any = None
    turns: tuple[Any, ...] = ()
    """The inputs of a conversation of several turns."""
    when: When | None = None
    """What the case applies to, if it has no input: each trajectory that fits is a trial of it."""
    expected_behavior: str = ""
    """What the agent should do, in words, for evaluators that ask a model."""
    session: Any = None
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Any] = {}
    mocks: Mapping[str, Any] = {}
    """What tools answer instead of being run, as written in the file."""
    repeat: int | None = None
    """How often it is run, unless the command line says it."""
    is_repeat_own: bool = False
    """Whether the case itself sets `repeat`, and not the defaults of its eval set."""
    min_repeat_pass: int | None = None
    """How many repeats have to pass, unless the command line says it; all by default."""
    quarantine: Quarantine | None = None
    """Why it does not count, and until when; kept when that is over, too."""

    @property
    def is_quarantined(self) -> bool:
        """Whether it does not count today."""
        return self.quarantine is not None and not self.quarantine.is_over


class OverallCheck(msgspec.Struct, frozen=True):
    """An evaluator of all cases together, and where it is written."""

    evaluator: OverallEvaluator
    source: Source


class EvalSet(msgspec.Struct, frozen=True, kw_only=True):
    """The cases of one file. Case ids are unique."""

    path: str
    cases: tuple[Case, ...]
    name: str = ""
    description: str = ""
    format: Format = "native"
    """The tool whose format the file is in."""
    overall: tuple[OverallCheck, ...] = ()
    """Evaluators of all cases together."""
    every: Case | None = None
    """What is expected of every trajectory, as a case for those that belong to no other."""
    agent: str | None = None
    timeout: float | None = None
    metadata: Mapping[str, Any] = {}


def quarantined_cases(cases: Iterable[Case]) -> dict[str, Quarantine]:
    """Return the cases that do not count today, by id."""
    return {case.id: case.quarantine for case in cases if case.quarantine is not None and case.is_quarantined}


def cases_with_tags(cases: Iterable[Case], tags: Iterable[str], option: str) -> frozenset[str]:
    """Return the ids of the cases that have one of the tags.

    Raises:
        InputError: no case has one of the tags; `option` is what asked for it.
    """
    chosen = list(cases)
    known = {tag for case in chosen for tag in case.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(f"{option}: {_no_tag(tag, known)}")
    return frozenset([case.id for case in chosen if set(case.tags) & set(tags)])


def _no_tag(tag: str, known: set[str]) -> str:
    hint = nearest(tag, sorted(known)) if known else "none of the cases has tags"
    return f"no case has the tag {tag!r:.200}; {hint}"


def askable_cases(cases: Sequence[Case]) -> list[Case]:
    """Return the cases that an agent can be run for, without those that apply to any matching trace."""
    return [case for case in cases if case.when is None]


JUDGES = "judges"
"""Stands for every evaluator that asks a model, in a choice of evaluators."""


def select_checks(cases: Sequence[Case], only: Sequence[str], skipped: Sequence[str]) -> list[Case]:
    """Return the cases with only the selected evaluators; a case without any of them is left out.

    Evaluators are selected by their key in `expect`, by their type id, or as `judges`.

    Raises:
        InputError: no evaluator of these cases has such a name, or no case remains.
    """
    if not only and not skipped:
        return list(cases)
    known = {name for case in cases for check in case.checks for name in _names_of(check)} | {JUDGES}
    for name in (*only, *skipped):
        if name not in known:
            raise InputError(f"no case has an evaluator {name!r:.80}; {nearest(name, sorted(known))}")
    wanted, unwanted = frozenset(only), frozenset(skipped)
    made = []
    for case in cases:
        kept = [check for check in case.checks if (not wanted or wanted & _names_of(check))]
        kept = [check for check in kept if not unwanted & _names_of(check)]
        if kept:
            made.append(msgspec.structs.replace(case, checks=tuple(kept)))
    if not made:
        raise InputError(
            f"no case has an evaluator that is neither skipped nor left out by {', '.join(only) or JUDGES}"
        )
    return made


def _names_of(check: Check) -> frozenset[str]:
    """Return the names by which an evaluator is chosen."""
    type_id = str(getattr(check.evaluator, "type_id", ""))
    is_judge = "llm" in type_id or "judge" in type_id
    # A key inside of a turn is `turns[1].calls`; people choose `calls`.
    return frozenset({check.key, check.key.rpartition(".")[2], type_id, *([JUDGES] if is_judge else [])})


def select_cases(cases: Sequence[Case], globs: Sequence[str], tags: Sequence[str]) -> list[Case]:
    """Return the cases whose id matches one of the globs and that have one of the tags. Without globs, any id matches.

    Raises:
        InputError: a glob or a tag matches no case, or no case matches both.
    """
    for glob in globs:
        if not any(fnmatchcase(case.id, glob) for case in cases):
            raise InputError(f"no case matches {glob!r:.200}; {nearest(glob, [case.id for case in cases[:50]])}")
    known = {tag for case in cases for tag in case.tags}
    for tag in tags:
        if tag not in known:
            raise InputError(_no_tag(tag, known))
    chosen = [
        case
        for case in cases
        if (not globs or any(fnmatchcase(case.id, glob) for glob in globs)) and (not tags or set(tags) & set(case.tags))
    ]
    if not chosen:
        raise InputError(f"no case matches all of {', '.join((*globs, *tags))}")
    return chosen


def with_every(shared: Sequence[Check], checks: Sequence[Check]) -> list[Check]:
    """Return the checks of a case with those of every trajectory, under another name if a case has its own."""
    own = {check.key for check in checks}
    return [*checks, *[_renamed(check) if check.key in own else check for check in shared]]


def _renamed(check: Check) -> Check:
    name = f"{check.key} (all cases)"
    evaluator = type(check.evaluator)(name, check.evaluator.config, limits=check.evaluator.limits)
    return msgspec.structs.replace(check, key=name, evaluator=evaluator)


def with_policy(policy: Check, checks: Sequence[Check]) -> list[Check]:
    """Return the checks of a case with the rules of its eval set, which come before its own rules."""
    own = next((check for check in checks if check.key == POLICY_KEY), None)
    if own is None:
        return [*checks, policy]
    if not _can_be_joined(policy, own):
        from rightcall.judging import CallRules  # few eval sets have rules of their own

        evaluator = CallRules(_APART, policy.evaluator.config, limits=policy.evaluator.limits)
        return [*checks, msgspec.structs.replace(policy, key=_APART, evaluator=evaluator)]
    return [_joined(policy, own) if check is own else check for check in checks]


def _can_be_joined(policy: Check, own: Check) -> bool:
    """Return whether both are judged in the same way, so that one evaluator can count their rules together."""
    return policy.evaluator is own.evaluator and policy.weight == own.weight and _settings(policy) == _settings(own)


def _settings(check: Check) -> dict[str, Any]:
    return {key: value for key, value in check.criteria.model_dump().items() if key != "rules"}


def _joined(policy: Check, own: Check) -> Check:
    first = len(policy.criteria.rules)
    criteria = own.criteria.model_copy(update={"rules": (*policy.criteria.rules, *own.criteria.rules)})
    return Check(own.key, own.evaluator, own.evaluator.criteria(criteria), _sources(policy, own, first), own.weight)


def _sources(policy: Check, own: Check, first: int) -> Callable[[str | None], Source]:
    def source(path: str | None) -> Source:
        found = _INDEX.match(path or "")
        if found is None:
            return own.source(path)
        index = int(found[1])
        return policy.source(path) if index < first else own.source(f"rules[{index - first}]")

    return source
