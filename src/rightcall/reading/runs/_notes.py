"""Notes taken while a run is read: warnings, and the first thing that was not understood."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rightcall.reading.messages import Exchange, Log
from rightcall.reading.spans import CallRecord

from ._span_tree import ReadSpan

_MOST = 20


class Recognised(msgspec.Struct):
    """How a source was recognised. It is shown to people, and has no influence on verdicts."""

    is_shown: bool = False
    """Whether it is wanted: finding the names of containers takes time."""
    formats: dict[str, None] = {}
    """The formats of its documents, in the order in which they were found."""
    conventions: dict[str, None] = {}
    """The conventions of spans and the formats of messages by which calls were read."""
    unused: dict[str, None] = {}
    """The keys of its documents that were not read."""


class Warnings(msgspec.Struct):
    """Warnings about what could not be read. The first twenty of each kind are kept, the rest counted."""

    recognised: Recognised = msgspec.field(default_factory=Recognised)
    """Takes notes on how the source was recognised."""
    counts: dict[str, int] = {}
    """How many warnings of each kind there are."""
    _texts: list[str] = []

    def add(self, kind: str, text: str) -> None:
        """Add a warning of a kind; a repeated sentence is kept once."""
        count = self.counts.get(kind, 0)
        if count < _MOST and text in self._texts:
            return
        self.counts[kind] = count + 1
        if count < _MOST:
            self._texts.append(text)

    def texts(self) -> tuple[str, ...]:
        """Return the warnings, and for each kind how many more there were."""
        more = [f"and {count - _MOST:,} more about {kind}" for kind, count in self.counts.items() if count > _MOST]
        return (*self._texts, *more)


class NotUnderstood:
    """The first thing in a run that may be a call but was not understood (RC304)."""

    def __init__(self, warnings: Warnings) -> None:
        self.first = ""
        self._is_silent = False
        """Whether a log has lines, and none of them is of a user or a model."""
        self._messages: list[tuple[Sequence[Exchange], str]] = []
        """The messages to search for calls in text. It is done only if there are no other calls: texts may be long."""
        self._warnings = warnings

    def note(self, what: str) -> None:
        """Note what was not understood, if it is the first."""
        self.first = self.first or what

    def note_messages(self, exchanges: Sequence[Exchange], where: str = "") -> None:
        """Note what in messages was not understood."""
        self._is_silent = self._is_silent or (bool(exchanges) and not where and not any(map(_speaks, exchanges)))
        users = [call.name[:80] for exchange in exchanges if exchange.of_user for call in exchange.of_user]
        if users:
            self._warnings.add("users", f"calls of the user were left out: {', '.join(users)}")
        spoke = bool(where)  # messages that a prompt sums up are in other spans
        for place, exchange in enumerate(exchanges, 1):
            for call in exchange.calls:
                if not call.name and not call.unread.startswith("message"):
                    call.unread = f"message {place}{where}: {call.unread}"
            if not spoke and _is_summary(exchange.message):
                self.note(f"message {place}: a summary in place of the messages before it")
            spoke = spoke or exchange.is_of_agent
            if exchange.unread:
                self.note(f"message {place}{where}: {exchange.unread}")
        self._messages.append((exchanges, where))

    def note_strays(self, strays: Sequence[CallRecord], where: str = "log", said: Sequence[Exchange] = ()) -> None:
        """Note results without a call in a log or a trace; `said` are the messages of the log.

        A log that begins with a result continues another one, which ended with a question to the user (Microsoft's
        Agent Framework).
        """
        made = [stray for stray in strays if not stray.withheld]
        if made:
            name = made[0].name or made[0].call_id or "a tool"
            is_first = bool(said) and any([made[0] is result for result in said[0].results])
            more = ": it begins with this result, as one does that continues another" if is_first else ""
            self.note(f"a result of {name[:80]}, whose call the {where} does not show{more}")

    def note_twins(self, records: Sequence[CallRecord], spans: Sequence[ReadSpan]) -> None:
        """Note spans of several instrumentations that may be one call or several, and spans that may be further calls.

        The latter have no kind, but the name and the instrumentation of a call's span: the attribute that marks a call
        may be missing in one span and not in another.
        """
        found = next((record for record in records if record.is_doubtful), None)
        if found is not None:
            self.note(f"spans of several instrumentations for {found.name[:80]}, which may be one call or several")
        spoken = [record.span for record in records if record.span and record.name in record.span.name]
        named = {(span.scope, span.name) for span in spoken}
        for span in spans if named else ():
            is_silent = not (span.kind or span.is_chain or span.call)
            if is_silent and (span.scope, span.name) in named:
                self.note(
                    f"the span {span.name[:80]!r}, which is named like that of a call and does not say what it is"
                )

    def note_asked(self, call: CallRecord | None) -> None:
        """Note a call that may have been made, or may only have waited for approval."""
        if call is not None:
            self.note(f"a call of {call.name[:80]}, which may have been made or may only have waited for a person")

    def note_failed(self, call: CallRecord | None) -> None:
        """Note a call that a model asked for in a request that failed."""
        if call is not None:
            self.note(f"a call of {call.name[:80]}, which a model asked for in a request that failed")

    def note_continued(self, call: CallRecord | None) -> None:
        """Note a call which shows that the run continues another one."""
        if call is not None:
            self.note(
                f"a call of {call.name[:80]} that no model here asked for, so the trace seems to continue another one"
            )

    def note_nameless(self, requests: Sequence[CallRecord]) -> None:
        """Note requests for calls without a name."""
        nameless = next((request for request in requests if not request.name), None)
        if nameless is not None:
            self.note(nameless.unread)

    def note_spans(self, doubtful: Sequence[CallRecord], calls: Sequence[CallRecord]) -> None:
        """Note spans of tools that were not understood, unless their calls are known from elsewhere."""
        names = {call.name for call in calls} if doubtful else set()
        for record in doubtful:
            if not names.issuperset(record.name.split(", ")):
                self.note(record.unread)

    def note_silence(self, logs: Sequence[Log]) -> None:
        """Note signs of calls in texts or beside the messages, in a run without recorded calls."""
        self.note(next((held for held in (self._acting(), *[log.steps for log in logs]) if held), ""))
        self.note("a log without a message of a user or a model" if self._is_silent else "")
        in_logs = [exchange for exchanges, where in self._messages if not where for exchange in exchanges]
        is_answered = any([log.has_answer for log in logs]) or not all(map(_asks, in_logs))
        self.note("" if is_answered or not in_logs else "a log that ends before the first answer of a model")

    def _acting(self) -> str:
        told = (
            f"message {place}{where} asks for a call in its text, or has the result of one"
            for exchanges, where in self._messages
            for place, exchange in enumerate(exchanges, 1)
            if exchange.acts
        )
        return next(told, "")


_SUMMARY = "compaction"
"""The type of a summary: a block of Anthropic, an item of OpenAI's Responses."""


def _is_summary(message: Mapping[str, Any]) -> bool:
    blocks = message.get("content")
    held = [message, *(blocks if isinstance(blocks, list) else ())]
    return any([isinstance(each, dict) and each.get("type") == _SUMMARY for each in held])


def _speaks(exchange: Exchange) -> bool:
    return bool(exchange.writer or exchange.calls or exchange.results)


def _asks(exchange: Exchange) -> bool:
    """Whether a message is of a user or an instruction: what was asked, and nothing of what came of it."""
    is_asked = exchange.writer == "user" or exchange.role in _INSTRUCTIONS
    return is_asked and not (exchange.calls or exchange.results)


_INSTRUCTIONS = frozenset({"system", "developer"})
