"""The mocks of a case, ready to answer the calls of one run."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from rightcall.errors import CriteriaError, MockError, pattern_problem, shown
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.tracing import Answer

from ._rules import Rule


class Mocks:
    """The mocks of one run of a case. Sequences move on as they are used, so each run needs its own.

    Only the tools that are named are answered for, and names are only compared with those of tools that are called:
    nothing is looked up, imported or called because a file names it.
    """

    def __init__(self, rules: Mapping[str, tuple[Rule, ...]]) -> None:
        self._rules = rules
        self._lock = threading.Lock()
        self._problems: list[MockError] = []
        self._asked: set[str] = set()

    @classmethod
    def of(cls, written: Mapping[str, Any], limits: Limits = DEFAULT_LIMITS) -> Mocks:
        """The mocks that an eval set has: for each tool a rule, or a list of rules. The first one that fits answers.

        A rule has `when`, the arguments that it is for, compared as expected arguments are (others may be there);
        without it, it is for every call. `positional` compares the first arguments by their place. Then it has one of
        `returns`, a value; `sequence`, the values of successive calls; `raises`, the name of an exception, or
        `{type, message}`; `then`, a list of `{returns: …}` and `{raises: …}`, the last of which is repeated. With
        `each: true`, `returns` is a sequence.

        Raises:
            CriteriaError: something is wrong; its `path` says where.
        """
        if not isinstance(written, Mapping):
            raise CriteriaError(f"mocks are an object with the names of tools as keys, not {shown(written)}")
        return cls({tool: _rules(tool, rules, limits) for tool, rules in written.items()})

    def answer(self, tool: str, args: dict[str, Any]) -> Answer | None:
        """The answer to a call; None where the tool is not mocked.

        Raises:
            MockError: the tool is mocked, but no rule is for this call, or none has an answer left.
        """
        rules = self._rules.get(tool)
        if rules is None:
            return None
        self._asked.add(tool)
        try:
            for rule in rules:
                if rule.is_for(args):
                    return rule.answer()
            raise MockError(f"no mock of {shown(tool)} is for {shown(args)}; add a rule for it, or one without 'when'")
        except MockError as problem:
            with self._lock:
                self._problems.append(problem)
            raise

    def answers_for(self, tool: str) -> bool:
        """Whether calls of a tool are to be answered here."""
        return tool in self._rules

    def was_asked(self, tool: str) -> bool:
        """Whether a call of a tool has come here. A tool that is answered for, and ran without that, ran itself."""
        return tool in self._asked

    @property
    def problems(self) -> tuple[MockError, ...]:
        """The calls that could not be answered. Each is an error of the case, whatever the agent made of it."""
        with self._lock:
            return tuple(self._problems)


def _rules(tool: Any, written: Any, limits: Limits) -> tuple[Rule, ...]:
    if not isinstance(tool, str) or not 0 < len(tool) <= limits.name_length:
        raise CriteriaError(f"a tool's name has 1 to {limits.name_length:,} characters; {shown(tool)} is none", (tool,))
    if problem := pattern_problem(tool):
        raise CriteriaError(problem, (tool,))
    if not isinstance(written, list):
        return (Rule(tool, written, (tool,), limits),)
    if not written:
        raise CriteriaError(f"the mock of {shown(tool)} has no rules", (tool,))
    return tuple([Rule(tool, rule, (tool, number), limits) for number, rule in enumerate(written)])
