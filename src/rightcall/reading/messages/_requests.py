"""Collect the calls that models asked for in a run, each once, however often prompts repeat it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from itertools import islice
from typing import Any

from rightcall.reading.conventions import ASKED_FOR
from rightcall.reading.spans import NOTHING, CallRecord, has_made_up_id, have_different_ids

from ._argument_keys import key_of
from ._asides import UNCONFIRMED
from ._message_exchange import Exchange
from ._prompt_history import BEFORE, PromptHistory, doubtful_places, falls_silent, turns_in_log
from ._result_pairing import ITEM, MOST_WAITING, has_own_id, is_answered, may_answer, only_order, only_pairing, ungroup
from ._service_parts import RUN_BY_SERVICE
from ._step_parts import is_step

Key = tuple[Any, int | None, str, bytes | str]
"""The context and turn of a request, its name, and its arguments as text."""

_SUMMARY = "ToolCallSummaryMessage"
_WRITTEN = "tool_use"
"""The type of calls as readers of transcripts write them: two in a row may have lost the result between them."""


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
        self.saw_messages = False
        self.strays: list[CallRecord] = []
        """Results whose requests were not found."""
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
        turn: int = 0,
        of_model: bool = True,
    ) -> None:
        """Add one conversation of a turn: what a model or an agent was given, and what it answered."""
        self.are_turns_doubtful = self.are_turns_doubtful or falls_silent(before)
        place = None if context is None else id(context)
        is_first = not self._threads.is_known(place)
        turns = self._threads.turns_of(before, turn, place, answer=after)
        reading = _ConversationReader(self, context, start_ns, end_ns, turn)
        reading.doubts = doubtful_places(before, turns, of_model or bool(self._answered), is_first)
        reading.prompted = of_model
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
        reading = _ConversationReader(self, None, None, None, turn)
        self.heard.update([each for each in turns if each is not None] if turn is None else [turn])
        reading.take_all(said, turns)
        reading.place_stray_results()
        reading.part_doubtful_groups()

    def is_shown_again(self, context: Any, turn: int | None, shown_in: int | None) -> bool:
        """Whether an unknown request is from before the run, or from an earlier turn whose requests are known."""
        place = None if context is None else id(context)
        if turn is None or turn == shown_in:
            return False
        return turn == BEFORE or ((place, turn) in self._answered and (place, turn) not in self._mute)

    def with_id(self, call_id: str | None, name: str = "", use: int = 0) -> CallRecord | None:
        """Return the request with an id that was answered `use` times before; of several, the one with the name."""
        for record in self._by_id.get((call_id or "", use), ()):
            if not name or not record.name or record.name == name:
                return record
        return None

    def new_group(self) -> str:
        """Return a name for a new group of calls that were asked for at once."""
        self._groups += 1
        return f"turn-{self._groups}"

    def is_past(self, record: CallRecord) -> bool:
        """Whether a request is from before the run."""
        return id(record) in self._past

    def keep(self, call: CallRecord, key: Key, context: Any, use: int = 0, is_past: bool = False) -> CallRecord:
        """Add a copy of a request seen for the first time; the original belongs to a cached message."""
        record = copy(call)
        record.turn = key[1]
        record.is_parent_known = record.is_parent_known and self.is_placed
        if is_past:
            self._past.add(id(record))
        record.order = len(self.known)
        self.known.append(record)
        self.contexts[id(record)] = context
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


class _ConversationReader:
    """Adds one conversation to the requests."""

    def __init__(
        self, requests: Requests, context: Any, start_ns: int | None, end_ns: int | None, turn: int | None
    ) -> None:
        self._requests, self._context, self._shown_in = requests, context, turn
        self._start_ns, self._end_ns = start_ns, end_ns
        self._counts: dict[Key, int] = {}  # the last position of each request
        self._waiting: dict[int, CallRecord] = {}
        self._open: dict[str, dict[int, CallRecord]] = {}  # the requests that wait for results, by id
        self._uses: dict[str, int] = {}  # how often each id was answered
        self._of_user: set[str] = set()  # ids of calls of a simulated user that wait for results
        self._stray: list[CallRecord] = []
        self._unclear: list[CallRecord] = []  # results that several requests may have
        self._group: str | None = None
        self._last: list[CallRecord] = []  # the requests of the messages right before
        self._last_by: str | None = None
        self._joined: list[list[CallRecord]] = []
        """Requests of consecutive messages."""
        self._has_history, self.prompted, self.answering, self._step = False, False, False, 0
        self.shown: int | None = None  # how many requests were known before the model answered
        self.doubts: frozenset[int] = frozenset()
        """Positions of messages that may or may not be from before the run."""

    def take_all(self, said: Sequence[Exchange], turns: Iterable[int | None]) -> None:
        """Add messages, each with its turn."""
        for place, (exchange, turn) in enumerate(zip(said, turns, strict=True)):
            count = len(self._requests.known)
            if not exchange.results:
                self._settle()
            self._take(exchange, turn)
            if place in self.doubts and len(self._requests.known) > count:
                self._requests.is_doubtful = True

    def _take(self, exchange: Exchange, turn: int | None) -> None:
        requests = self._requests
        requests.saw_messages = True
        if not (exchange.calls or exchange.results or exchange.of_user):
            self._group, self._last, self._last_by = None, [], exchange.parent_id
            return
        context = self._context
        if exchange.parent_id is not None:
            context = requests.with_id(exchange.parent_id) or context
        if not exchange.calls or not (exchange.item or self._goes_on(exchange)):
            self._group, self._last = None, []
        made = [self._call(call, context, turn) for call in exchange.calls if not self._is_summed_up(call, exchange)]
        self._last_by = exchange.parent_id
        if self._last and (not exchange.item or exchange.message.get("type") == _WRITTEN):
            self._joined.append([*self._last, *made])
        self._last = [*self._last, *made]
        beside = self._last[-len(made) - 1 :]  # what a service ran, it may have run one after the other
        ungroup([each for each in beside if each.format in RUN_BY_SERVICE] if len(beside) > 1 else ())
        self._of_user.update([call.call_id for call in exchange.of_user if call.call_id])
        for result in exchange.results:
            if result.call_id in self._of_user:
                self._of_user.discard(result.call_id)
            elif not result.of_user:
                self._result(result)

    def _goes_on(self, exchange: Exchange) -> bool:
        """Whether a message asks for more calls while those before it are all unanswered; a step never does."""
        is_same = bool(self._last) and exchange.parent_id == self._last_by and not is_step(exchange.message)
        return is_same and all([id(record) in self._waiting and not is_answered(record) for record in self._last])

    def _is_summed_up(self, call: CallRecord, exchange: Exchange) -> bool:
        """Whether a message repeats a call together with its result (AutoGen's summary)."""
        if not exchange.results:
            return False
        use = self._uses.get(call.call_id or "")
        known = self._requests.with_id(call.call_id, call.name, use - 1) if use else None
        outputs = [result.output for result in exchange.results if result.call_id == call.call_id]
        if known is None and exchange.message.get("type") == _SUMMARY:  # the event before it may have lost the id
            made = [record for record in self._requests.known if record.name == call.name and not record.call_id]
            known = next((record for record in made if record.output in outputs), None)
        return known is not None and bool(outputs) and known.args == call.args

    def part_doubtful_groups(self) -> None:
        """Ungroup calls of several messages unless all were answered: results between them may be missing."""
        for records in self._joined:
            ungroup(records if not all(map(is_answered, records)) else ())

    def _call(self, call: CallRecord, context: Any, turn: int | None) -> CallRecord:
        requests = self._requests
        context = requests.with_id(call.caller) or context
        key = (id(context) if context is not None else None, turn, call.name, requests.written(call))
        position = self._counts[key] = self._counts.get(key, -1) + 1
        self._group, self._step = self._group if call.step == self._step else None, call.step or 0
        use = self._uses.get(call.call_id or "", 0)
        known = self._same(call, key, position, use)
        if known is None:
            self._group = self._group or requests.new_group()
            is_past = requests.is_shown_again(context, turn, self._shown_in)
            known = requests.keep(call, key, context, use, is_past)
            known.group = self._group if call.step is not None else None
            known.asked_ns, known.answered_ns, known.is_told_later = self._start_ns, self._end_ns, self.prompted
        else:
            self._group = self._group or known.group
            requests.name_by_id(known, call.call_id if call.call_id != known.call_id else None, use)
            known.turn = turn if known.turn is None else known.turn
            known.name, known.agent = known.name or call.name, known.agent or call.agent
            if known.args is NOTHING:
                known.args = call.args
            if is_answered(call) or (known.withheld and not call.withheld):
                self._answer(known, call)
        self._has_history = self._has_history or not self.answering
        self._waiting[id(known)] = known
        if call.call_id:
            self._open.setdefault(call.call_id, {})[id(known)] = known
        return known

    def _same(self, call: CallRecord, key: Key, position: int, use: int) -> CallRecord | None:
        requests = self._requests
        if call.call_id:
            known = requests.with_id(call.call_id, call.name, use)
            if known and (NOTHING in (known.args, call.args) or known.args == call.args):
                return None if self._is_older(known) else known
        known = requests.nth(key, position)
        if known is None or have_different_ids(known, call):
            return None
        # With state on the server (OpenAI's previous_response_id) a prompt has new messages only, so the same request
        # in a later answer is another call.
        answered = known.answered_ns
        later = self._start_ns is not None and answered is not None and self._start_ns >= answered
        return None if self.answering and later and not self._has_history else known

    def _is_older(self, known: CallRecord) -> bool:
        """Whether a request is from before the turn in which the model now makes one with the same id."""
        if not self.answering or self._shown_in is None:
            return False
        return self._requests.is_past(known) or (known.turn is not None and known.turn < self._shown_in)

    def _result(self, result: CallRecord) -> None:
        request = self._with_id_of(result)
        if request is not None:
            self._close(request, result)
            return
        possible = (record for record in self._waiting.values() if may_answer(result, record))
        waiting = list(islice(possible, MOST_WAITING))
        if not waiting:
            self._stray.append(result)
        elif len(waiting) > 1 and (result.call_id or any([has_own_id(record) for record in waiting])):
            self._unclear.append(result)
        else:
            self._close(waiting[0], result)

    def _close(self, request: CallRecord, result: CallRecord) -> None:
        self._waiting.pop(id(request), None)
        self._free_id(request, result.call_id or request.call_id)
        self._answer(request, result)

    def _settle(self) -> None:
        """Assign results without ids to the requests that wait, where there is one possibility."""
        if self._unclear:
            self._requests.strays += self._unclear[len(self._waiting) :]  # more results than calls: some are missing
            for request, result in only_pairing(self._unclear, list(self._waiting.values())):
                self._close(request, result)
            self._unclear, self._waiting = [], {}  # whatever comes later is not theirs

    def _with_id_of(self, result: CallRecord) -> CallRecord | None:
        """Return the request with the id of a result: one that waits, one known from elsewhere, or an answered one."""
        if not (call_id := result.call_id):
            return None
        waiting = self._open.get(call_id)
        if waiting:
            # Without the bound, n calls and n results of one id would take n² steps.
            few = list(islice(waiting.values(), MOST_WAITING))
            return next((record for record in few if record.name == result.name), few[0])
        use = self._uses.get(call_id, 0)
        # A second result of an answered call repeats it, unless it is of another tool: then its call is missing.
        return self._requests.with_id(call_id, use=use) or self._requests.with_id(call_id, result.name, max(use - 1, 0))

    def _free_id(self, request: CallRecord, call_id: str | None) -> None:
        """Free the id of a request that is answered now, so that another call may use it."""
        waiting = self._open.get(call_id or "")
        if call_id and waiting and waiting.pop(id(request), None):
            self._uses[call_id] = self._uses.get(call_id, 0) + 1

    def _answer(self, request: CallRecord, result: CallRecord) -> None:
        if result.call_id and request.call_id and request.call_id.startswith(ITEM):
            request.call_id = None
            self._requests.name_by_id(request, result.call_id)
        if self._is_approved(request, result):
            request.withheld = ""
            request.turn = request.turn if self._shown_in is None else self._shown_in
            request.output, request.failed, request.error = result.output, result.failed, result.error
        if result.withheld and result.withheld != ASKED_FOR:
            self._requests.refused.add(id(request))
        request.withheld = request.withheld or result.withheld
        if not is_answered(request) or (result.failed and result.output == request.output):
            request.output, request.failed, request.error = result.output, result.failed, result.error

    def _is_approved(self, request: CallRecord, result: CallRecord) -> bool:
        """Whether a log has the result of a call that waited for approval, or was refused in an earlier turn.

        Spans do not count: they may repeat the refusal in a format that does not mark it as one.
        """
        if not request.withheld or result.withheld or self._start_ns is not None or result.error in UNCONFIRMED:
            return False
        is_later = self._shown_in is not None and request.turn is not None and request.turn < self._shown_in
        return is_later or id(request) not in self._requests.refused

    def place_stray_results(self) -> None:
        """Assign results without a request before them: by id to a later request, or in order to earlier ones."""
        self._settle()
        strays = [result for result in self._stray if not self._answer_later_request(result)]
        if not strays:
            return
        requests, context = self._requests, self._context
        known = [record for record in requests.known[: self.shown] if requests.contexts[id(record)] is context]
        for request, result in only_order(strays, known) if id(context) not in requests.gaps else ():
            self._answer(request, result)
            strays.remove(result)
        requests.strays += strays

    def _answer_later_request(self, result: CallRecord) -> bool:
        waiting = self._open.get(result.call_id or "")
        if not waiting:
            return False
        self._answer(waiting.pop(next(iter(waiting))), result)
        return True
