"""Assertions that wait for each other."""

from __future__ import annotations

from contextvars import Token
from types import TracebackType

from ._outcomes import Problem, together, waiting


class Soft:
    """A block whose assertions do not raise until it ends: then all that did not hold are raised as one."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self._token: Token[list[Problem] | None] | None = None

    def __enter__(self) -> Soft:
        self._token = waiting.set(self.problems)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, trace: TracebackType | None
    ) -> None:
        __tracebackhide__ = True
        if self._token is not None:
            waiting.reset(self._token)
        if not self.problems:
            return
        problem = together(self.problems)
        if raised is not None:  # that comes first; what was found until then is not lost
            raised.add_note(f"Before this, in the same soft block:\n{problem}")
            return
        outer = waiting.get()
        if outer is None:
            raise problem
        outer.extend(self.problems)


def soft() -> Soft:
    """A block in which assertions are collected: `with rightcall.soft(): …` raises all problems at its end, at once.

    It counts for assertions of this thread or task, and of tasks that it starts. Blocks may nest; the outermost one
    raises. If something else is raised inside, that goes on, with a note of what was found before.
    """
    return Soft()
