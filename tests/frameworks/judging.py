"""What Rightcall says of one cell of the matrix, and what it has to say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Calls = tuple[tuple[str, ...], ...]

TURNS = 3
MADE: Calls = (("lookup_order(order_id=7)",), ("refund(order_id=7, amount=20)",), ())
"""The calls that were made in each turn."""
RIGHT = "passed"
WRONG = "failed RC102 RC104 RC108"
"""The verdict on expectations that are wrong in each turn: an argument, a call, an answer."""


@dataclass(frozen=True)
class Judged:
    """The calls by turn, the verdict on right and the verdict on wrong expectations."""

    calls: Calls
    right: str
    wrong: str

    @property
    def is_true(self) -> bool:
        """Whether this is what happened."""
        return (self.calls, self.right, self.wrong) == (MADE, RIGHT, WRONG)


def judged(cases: Sequence[Mapping[str, Any]]) -> Judged:
    """What the cases of a report say: conversations, or requests that are a turn each."""
    right = [case for case in cases if not case["case_id"].endswith("wrong")]
    wrong = [case for case in cases if case["case_id"].endswith("wrong")]
    return Judged(calls_by_turn([case["trajectory"] for case in right]), _verdict(right), _verdict(wrong))


def calls_by_turn(trajectories: Sequence[Mapping[str, Any] | None]) -> Calls:
    """The calls of each turn. One trajectory is a conversation; of several each is one turn.

    Calls whose turn is not known stand behind all turns, as one more.
    """
    if len(trajectories) > 1:
        return tuple([_written(held["calls"] if held else ()) for held in trajectories])
    calls = [call for held in trajectories if held for call in held["calls"]]
    turns = [_written(call for call in calls if call["turn"] == turn) for turn in range(TURNS)]
    lost = _written(call for call in calls if call["turn"] not in range(TURNS))
    return (*turns, lost) if lost else tuple(turns)


def _written(calls: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple([f"{call['name']}({_arguments(call)})" for call in calls])


def _arguments(call: Mapping[str, Any]) -> str:
    if "args" in call["unrecorded"]:
        return "…"
    return ", ".join([f"{name}={value}" for name, value in (call["args"] or {}).items()])


def _verdict(cases: Sequence[Mapping[str, Any]]) -> str:
    verdicts = dict.fromkeys([case["verdict"] for case in cases])
    codes = sorted([told["finding"]["code"] for case in cases for told in case["findings"]])
    return " ".join([*verdicts, *codes])
