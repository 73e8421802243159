"""The rules of an eval set, which hold for every case, joined to those of a case."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.values.results import Source

from ._cases import Check

POLICY_KEY = "rules"
"""The key of an eval set that has its rules, and that of `expect` in a case."""
EVERY_KEY = "expect"
"""The key of an eval set with what is expected of every trajectory, and the id of the case of those of no other."""
_APART = "rules (all cases)"
"""The name of the rules of an eval set in cases whose own rules have other settings."""
_INDEX = lazy_pattern(r"rules\[(\d+)\]")


def with_every(shared: Sequence[Check], checks: Sequence[Check]) -> list[Check]:
    """Return the checks of a case with those of every trajectory, under another name where a case has its own."""
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
