"""Collect the calls that models asked for in a run, each once, however often prompts repeat it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from copy import copy
from itertools import islice
from typing import Any

from rightcall.reading.spans import CallRecord, has_made_up_id

from ._argument_keys import key_of
from ._conversation_reader import ConversationReader
from ._message_exchange import Exchange
from ._prompt_history import BEFORE, PromptHistory, doubtful_places, falls_silent, turns_in_log
from ._refusals import refusals_in
from ._result_pairing import MOST_WAITING

Key = tuple[Any, int | None, str, bytes | str]
"""The context and turn of a request, its name, and its arguments as text."""


class Requests:
    """Requests collected from conversations that repeat each other.

    A request with an id is identified by it, and by how often the id was answered before in the conversation: some
    producers use an id again once it was answered. Without an id, or with one of another kind, the k-th request of a
    name and arguments in a turn of a conversation is the k-th such request of that turn in the same context; a context
    is the tool call inside which the conversation was held. Requests in a prompt that are from before the run, or from
    a turn whose answers are known, are never new.
    """

    def __init__(self) -> None:
        self.known: list[CallRecord] = []
        self.is_doubtful = False
        """Whether there are requests that may or may not be from before the run."""
        self.heard: set[int] = set()
        """The turns that messages of models, or logs, show."""
        self.are_turns_doubtful = False
        """Whether there is a message of the user that may or may not begin a turn."""
        self.is_placed = True
        """Whether it is known inside which call, if any, the current conversation was held."""
        self.is_unanswered = False
        """Whether the answer of a model was not recorded, nor shown to a model later."""
        self.gaps: set[int] = set()
        """The contexts, by `id()`, in which the answer of a model is missing: the order of results says nothing."""
        self.refused: set[int] = set()
        """The requests, by `id()`, that were refused for good."""
        self._threads = PromptHistory()
        self._past: set[int] = set()
        self._answered: set[tuple[int | None, int]] = set()
        self._mute: set[tuple[int | None, int]] = set()  # answers that lost their content: not all requests are known
        self.contexts: dict[int, Any] = {}
        self.threads: dict[int, Hashable] = {}
        """For each request, by `id()`, the conversation it was made in, if that is known by its first words."""
        self.saw_messages = False
        self.strays: list[CallRecord] = []
        """Results whose requests were not found."""
        self.unasked: dict[int, CallRecord] = {}
        """Those that models were shown in the turn in which they were given, by `id()`: their calls are of this run."""
        self._by_id: dict[tuple[str, int], list[CallRecord]] = {}
        self._by_key: dict[Key, list[CallRecord]] = {}
        self._written: dict[int, tuple[CallRecord, bytes | str]] = {}
        self._groups = 0

    @property
    def made(self) -> list[CallRecord]:
        """The requests of this run, without those from before it."""
        return [record for record in self.known if id(record) not in self._past]

    def add(
        self,
        before: Sequence[Exchange],
        after: Sequence[Exchange],
        context: Any = None,
        start_ns: int | None = None,
        end_ns: int | None = None,
        turn: int | None = 0,
        of_model: bool = True,
    ) -> None:
        """Add one conversation of a turn: what a model or an agent was given, and what it answered.

        Where the turn is not known, that of a prompt with the same words of the user is taken, or the last one.
        """
        self.are_turns_doubtful = self.are_turns_doubtful or falls_silent(before)
        place = None if context is None else id(context)
        if turn is None:
            turn = self._threads.turn_of(before, max(self.heard, default=0), place)
        is_first = not self._threads.is_known(place)
        turns = self._threads.turns_of(before, turn, place, answer=after)
        reading = ConversationReader(self, context, start_ns, end_ns, turn)
        reading.doubts = doubtful_places(before, turns, of_model or bool(self._answered), is_first)
        first = next((exchange for exchange in before if exchange.is_of_user), None)
        reading.prompted, reading.thread = of_model, None if first is None else (place, first.text)
        reading.take_all(before, turns)
        reading.prompted, reading.answering, reading.shown = False, of_model, len(self.known)
        reading.take_all(after, [turn] * len(after))
        reading.place_stray_results()
        reading.part_doubtful_groups()
        if of_model:
            self.gaps.update([id(context)] if not any([exchange.is_of_agent for exchange in after]) else ())
            self.heard.add(turn)
            self._answered.update([(place, turn)] if after else ())
            self._mute.update([(place, turn) for exchange in after if exchange.is_mute])

    def add_log(self, said: Sequence[Exchange], turn: int | None = None, asked: str | None = None) -> None:
        """Add a log of messages: a whole conversation, or the conversation up to the end of a turn."""
        self.is_placed = True
        self.are_turns_doubtful = self.are_turns_doubtful or falls_silent(said)
        self.is_unanswered = self.is_unanswered or any([exchange.is_mute for exchange in said])
        if turn is None:
            turns: Sequence[int | None] = turns_in_log(said, asked)
            self._threads.remember(said, turns)
        else:
            turns = self._threads.turns_of(said, turn, asked=asked)
        reading = ConversationReader(self, None, None, None, turn)
        self.heard.update([each for each in turns if each is not None] if turn is None else [turn])
        reading.take_all(said, turns)
        reading.place_stray_results()
        reading.part_doubtful_groups()

    def withhold_refused(self) -> None:
        """Withhold requests in messages of spans whose results are refusals."""
        for record, reason in refusals_in(self.made):
            record.withheld = record.withheld or reason
            self.refused.add(id(record))

    def is_shown_again(self, context: Any, turn: int | None, shown_in: int | None) -> bool:
        """Whether an unknown request is from before the run, or from an earlier turn whose requests are known."""
        place = None if context is None else id(context)
        if turn is None or turn == shown_in:
            return False
        return turn == BEFORE or ((place, turn) in self._answered and (place, turn) not in self._mute)

    def first_unasked(self) -> CallRecord | None:
        """Return the first result of this run whose request nothing shows, whatever was read since."""
        for result in self.unasked.values():
            known = self._by_id.get((result.call_id, 0)) if result.call_id else self.known
            if not known:
                return result
        return None

    def with_id(self, call_id: str | None, name: str = "", use: int = 0, thread: Hashable = None) -> CallRecord | None:
        """Return the request with an id that was answered `use` times before.

        Of several it is the one with the name, and of these the one that was made in the conversation.
        """
        held = self._by_id.get((call_id, use)) if call_id else None
        if held is None:
            return None
        if len(held) == 1:
            return held[0] if not name or held[0].name in ("", name) else None
        named = (record for record in held if not name or not record.name or record.name == name)
        few = list(islice(named, MOST_WAITING if thread is not None else 1))
        return next((record for record in few if self.threads.get(id(record)) == thread), few[0] if few else None)

    def is_only(self, record: CallRecord) -> bool:
        """Whether no other request has the id of a request, nor the same one used it again."""
        held = self._by_id.get((record.call_id or "", 0), ())
        return len(held) == 1 and (record.call_id, 1) not in self._by_id

    def new_group(self) -> str:
        """Return a name for a new group of calls that were asked for at once."""
        self._groups += 1
        return f"turn-{self._groups}"

    def is_past(self, record: CallRecord) -> bool:
        """Whether a request is from before the run."""
        return id(record) in self._past

    def keep(
        self, call: CallRecord, key: Key, context: Any, use: int = 0, is_past: bool = False, thread: Hashable = None
    ) -> CallRecord:
        """Add a copy of a request seen for the first time; the original belongs to a cached message."""
        record = copy(call)
        record.turn = key[1]
        record.is_parent_known = record.is_parent_known and self.is_placed
        if is_past:
            self._past.add(id(record))
        record.order = len(self.known)
        self.known.append(record)
        self.contexts[id(record)], self.threads[id(record)] = context, thread
        self._by_key.setdefault(key, []).append(record)
        self.name_by_id(record, record.call_id, use)
        return record

    def written(self, call: CallRecord) -> bytes | str:
        """Return the arguments of a call as text that is equal for equal arguments; cached."""
        known = self._written.get(id(call))
        if known is None:
            # The call is kept with the text, or its `id()` could be that of another call later.
            known = self._written[id(call)] = (call, key_of(call.args))
        return known[1]

    def name_by_id(self, record: CallRecord, call_id: str | None, use: int = 0) -> None:
        """Make a request known by an id."""
        if not call_id:
            return
        if not record.call_id or has_made_up_id(record):
            record.call_id = call_id
        named = self._by_id.setdefault((call_id, use), [])
        if record not in named:
            named.append(record)

    def nth(self, key: Key, position: int) -> CallRecord | None:
        """Return the request of a name and arguments at a position; without a turn, of the last one that has any."""
        keys = [key] if key[1] is not None else [(key[0], turn, *key[2:]) for turn in (None, *sorted(self.heard)[::-1])]
        found = next((self._by_key[each] for each in keys if each in self._by_key), ())
        return found[position] if position < len(found) else None
