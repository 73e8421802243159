"""Answers from a recording."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

from msgspec import UNSET

from rightcall.errors import MockError, shown
from rightcall.running.tracing import Answer
from rightcall.values.decoding import admit

from ._exceptions import exception_named

if TYPE_CHECKING:
    from ._recording import Entry

_TRUE, _FALSE, _NAN = object(), object(), object()


class Replay:
    """Answers the calls of one run of a case from what was recorded of it; each entry answers once.

    A call is answered by the first entry, not yet used, of the same tool with equal arguments, as the evaluators
    compare them: `1` is `1.0`, `true` is not `1`, NaN is NaN. No tool runs: what was not recorded is an error.
    """

    def __init__(self, case: str, entries: Iterable[Entry]) -> None:
        self._case = case
        self._lock = threading.Lock()
        self._left: dict[Hashable, deque[Entry]] = {}
        self._problems: list[MockError] = []
        self._asked: set[str] = set()
        for entry in entries:
            self._left.setdefault((entry.tool, equality_key(entry.args)), deque()).append(entry)

    def answer(self, tool: str, args: dict[str, Any]) -> Answer:
        """The recorded outcome of a call.

        Raises:
            MockError: the call was not recorded, or not as often.
        """
        with self._lock:
            self._asked.add(tool)
            try:
                return self._answer(tool, args)
            except MockError as problem:
                self._problems.append(problem)
                raise

    def answers_for(self, tool: str) -> bool:
        """Whether calls of a tool are to be answered here: of every tool, because none is to run."""
        return True

    def was_asked(self, tool: str) -> bool:
        """Whether a call of a tool has come here. A tool that ran without that ran itself."""
        return tool in self._asked

    @property
    def problems(self) -> tuple[MockError, ...]:
        """The calls that could not be answered. Each is an error of the case, whatever the agent made of it."""
        with self._lock:
            return tuple(self._problems)

    def _answer(self, tool: str, args: dict[str, Any]) -> Answer:
        left = self._left.get((tool, equality_key(args)))
        if not left:
            often = "is not in the recording" if left is None else "was not recorded as often"
            raise MockError(
                f"the call of {shown(tool)} with {shown(args)} {often} of {shown(self._case)}; record the case again"
            )
        entry = left.popleft()
        if entry.unfit is not UNSET:
            raise MockError(f"what {shown(tool)} gave back could not be recorded: {entry.unfit}")
        if entry.error is UNSET:
            return Answer(admit(entry.output))
        raised = entry.error
        arguments = [raised.message] if raised.args is None else raised.args
        return Answer(error=exception_named(raised.type, arguments, f"the recording of {shown(tool)}"))


def equality_key(value: Any) -> Hashable:
    """A hashable twin of a JSON value: two are the same exactly when the evaluators call the values equal."""
    if isinstance(value, dict):
        return frozenset([(key, equality_key(item)) for key, item in value.items()])
    if isinstance(value, list):
        return tuple([equality_key(item) for item in value])
    if isinstance(value, bool):
        return _TRUE if value else _FALSE
    return _NAN if value != value else value
