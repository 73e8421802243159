"""From what was captured, turn by turn, to the trajectory of a case."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.reading import Turn
from rightcall.running.agents import Answer
from rightcall.running.tracing import Captured, captured_trajectory, tools_are_marked
from rightcall.values.trajectory import Trajectory

_ELSEWHERE = "the agent started Python processes of its own: calls of tools inside them were not seen"


class Path:
    """What the agent did in one run of a case: by the spans of this process, its messages, and what it sent."""

    def __init__(self, is_conversation: bool) -> None:
        self._is_conversation = is_conversation
        self._turns: list[Turn] = []
        self._latest = Trajectory()
        self._has_others = False

    def add(self, captured: Captured, answer: Answer | None, asked: Any, has_others: bool) -> Trajectory:
        """Take in a turn; what it shows by itself.

        Where the agent `has_others`, processes that it started meanwhile, no calls seen here are not no calls.

        Raises:
            InputError: what it sent cannot be read; the turn is not taken in.
            LimitError: there were more spans than are kept; likewise.
        """
        said = Answer() if answer is None else answer
        turn = captured.turn(messages=said.messages, documents=said.documents, asked=asked)
        latest = self._read([turn], has_others)
        self._turns.append(turn)
        self._has_others = self._has_others or has_others
        self._latest = latest
        return latest

    def trajectory(self) -> Trajectory:
        """All turns as one trajectory: calls that a turn shows again are those of the turns before."""
        path = self._read(self._turns, self._has_others) if len(self._turns) > 1 else self._latest
        return msgspec.structs.replace(path, warnings=(*path.warnings, _ELSEWHERE)) if self._has_others else path

    def _read(self, turns: list[Turn], has_others: bool) -> Trajectory:
        seen = tools_are_marked() and not has_others
        return captured_trajectory(turns, is_conversation=self._is_conversation, tools_are_seen=seen)
