"""Answers of models that stopped to call a tool and do not show which: are their calls known from elsewhere?"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from itertools import accumulate

import msgspec

from rightcall.reading.messages import Conversation, Exchange, stopped_to_call
from rightcall.reading.spans import CallRecord

from ._span_tree import ReadSpan

_WHY = ", which says that its model stopped to call a tool, and shows no call"
_CHOICES = ", with several choices of an answer: which of them was used is not recorded"


class Stop(msgspec.Struct, frozen=True):
    """An answer that stopped to call a tool, and does not show which: it has no call, or several choices."""

    told: str
    """The answer as something that was not understood."""
    begin_ns: int | None
    end_ns: int | None
    turn: int | None


def stop_of(span: ReadSpan, said: Conversation, turn: int | None) -> Stop | None:
    """Return the stop that a span tells, by its attributes or by its messages; None if it tells none."""
    why = _why(said, stopped_to_call(span.attributes))
    return Stop(f"the span {span.name[:80]!r}{why}", span.start_ns, span.end_ns, turn) if why else None


def stop_in_records(said: Conversation, turn: int | None) -> Stop | None:
    """Return the stop that log records tell; None if they tell none."""
    why = _why(said)
    return Stop(f"a log record{why}", said.start_ns, said.end_ns, turn) if why else None


def _why(said: Conversation, is_stopped: bool = False) -> str:
    if any([exchange.calls for exchange in said.output]):
        return ""
    if said.is_choice:
        return _CHOICES
    return _WHY if is_stopped or any([exchange.is_broken_off for exchange in said.output]) else ""


def first_without_own_calls(stops: Iterable[Stop], requests: Sequence[CallRecord]) -> Stop | None:
    """Return the first stop without a request of its own, where messages alone show calls; None if each has one.

    A request belongs to a stop if another span shows it at the same time, or if a later prompt is the first to show it.
    Stops at the same time are one, recorded by several instrumentations.
    """
    told = _Times(requests)
    prompts = iter(told.of_prompts)
    settled_ns = -1
    for stop in sorted(stops, key=lambda stop: stop.begin_ns or 0):
        begin, end = stop.begin_ns, stop.end_ns
        if begin is None or end is None:
            return stop
        is_known = begin < settled_ns or told.has_answer(begin, end)
        if not is_known and next((time for time in prompts if time >= end), None) is None:
            return stop
        settled_ns = max(settled_ns, end)
    return None


class _Times:
    """When models were asked for the answers with requests, and when they gave them."""

    def __init__(self, requests: Iterable[CallRecord]) -> None:
        timed = [record for record in requests if record.asked_ns is not None]
        shown = [record for record in timed if record.is_told_later]
        groups = {record.group or f"{id(record)}": record.asked_ns or 0 for record in shown}
        self.of_prompts = sorted(groups.values())
        """When the prompts were given that show the requests of an earlier answer first, one for each answer."""
        answers = [record for record in timed if not record.is_told_later]
        pairs = sorted([(record.asked_ns or 0, record.answered_ns or 0) for record in answers])
        self._asked = [asked for asked, _ in pairs]
        self._answered = list(accumulate([answered for _, answered in pairs], max))

    def has_answer(self, begin: int, end: int) -> bool:
        """Whether an answer with requests was given at a time: another span tells more of the same answer."""
        before = bisect_left(self._asked, end)
        return before > 0 and self._answered[before - 1] > begin


def first_in_other_turn(stops: Iterable[Stop], turns: Collection[int | None]) -> Stop | None:
    """Return the first stop of a turn in which no call is known, where spans or a log of its own tell the calls."""
    return next((stop for stop in stops if stop.turn not in turns), None)


def stop_in_log(said: Sequence[Exchange]) -> str:
    """Describe the first message of a log that stopped to call a tool, where no call is beside it; else be empty.

    Claude Code writes each block of an answer as a line of its own, and a stream ends with the reason: a call is beside
    a message if neither a result nor a message of the user is between them. An event that ends a step comes after the
    results of its calls (Vercel's stream).
    """
    stopped, has_call, is_in_step = 0, False, False
    for place, exchange in enumerate(said, 1):
        if exchange.results or exchange.is_of_user:
            if stopped and not has_call:
                break
            stopped, has_call = 0, False
        has_call = has_call or bool(exchange.calls)
        is_in_step = not exchange.is_of_user and (is_in_step or has_call)
        if exchange.is_broken_off and (exchange.writer or not is_in_step):
            stopped = stopped or place
        elif exchange.is_broken_off:
            is_in_step = False
    return f"message {stopped}{_WHY}" if stopped and not has_call else ""
