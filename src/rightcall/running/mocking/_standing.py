"""Who answers for tools, or listens to them, for the length of a `with` block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from rightcall.running.tracing import Answer, Observer, flowing, observer, stand_in

from ._uipath import answering_uipath


class Answering(Protocol):
    """Anything that answers calls: `Mocks`, a `Replay`."""

    def answer(self, tool: str, args: dict[str, Any]) -> Answer | None:
        """The answer to a call; None where it is for somebody else to answer."""


@contextmanager
def standing_in(*answering: Answering) -> Iterator[None]:
    """Have calls of decorated tools answered, in this context and in whatever it starts.

    The first that has an answer gives it; where none has, whoever stood in before is asked, and then the tool runs.
    """
    before = stand_in.get()

    def ask(tool: str, args: dict[str, Any]) -> Answer | None:
        for each in answering:
            answer = each.answer(tool, args)
            if answer is not None:
                return answer
        return before(tool, args) if before is not None else None

    with flowing, answering_uipath():
        token = stand_in.set(ask)
        try:
            yield
        finally:
            stand_in.reset(token)


@contextmanager
def recording_to(listening: Observer) -> Iterator[None]:
    """Have an observer, such as a `Recorder`, told what the real tools give back, in this context and beyond."""
    with flowing, answering_uipath():
        token = observer.set(listening)
        try:
            yield
        finally:
            observer.reset(token)
