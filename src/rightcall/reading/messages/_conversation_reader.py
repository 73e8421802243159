"""Add one conversation to the requests of a run: find those already known, and pair results with requests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.reading.conventions import ASKED_FOR
from rightcall.reading.spans import ITEM, NOTHING, CallRecord, has_made_up_id, have_different_ids
from rightcall.values.decoding import dump_json

from ._acting_text import is_step
from ._agent_parts import ANSWERED, APPROVED, RUN_BY_SERVICE, UNFINISHED
from ._message_exchange import Exchange
from ._refusals import UNCONFIRMED

if TYPE_CHECKING:
    from ._requests import Key, Requests


_SUMMARY = "ToolCallSummaryMessage"
_WRITTEN = "tool_use"
"""The type of calls made by readers of transcripts. Between two in a row, a result may be missing."""
_FEWEST_SHARED = 12
"""Messages that are read again in less time than it takes to copy a reader."""
MOST_WAITING = 64
"""How many calls waiting for results are compared with one. Only hostile logs have more at once."""
_OPEN = ("", ASKED_FOR, ANSWERED, UNFINISHED)
"""What is known of a call that may still be made: nothing against it, or what it waits for."""
_encode = msgspec.json.Encoder(order="sorted").encode
_decode = msgspec.json.Decoder().decode


class ConversationReader:
    """Adds the messages of one conversation to the requests of a run."""

    def __init__(
        self, requests: Requests, context: Any, start_ns: int | None, end_ns: int | None, turn: int | None
    ) -> None:
        self._requests, self._context = requests, context
        self._shown_in = self._turn = turn  # that of the conversation, and that of the message that is being read
        self._start_ns, self._end_ns = start_ns, end_ns
        self._counts: dict[Key, int] = {}  # the last position of each request
        self._waiting: dict[int, CallRecord] = {}
        self._open: dict[str, dict[int, CallRecord]] = {}  # the requests that wait for results, by id
        self._uses: dict[str, int] = {}  # how many calls with each id were answered
        self._of_user: set[str] = set()  # ids of calls of a simulated user that wait for results
        self._stray: list[CallRecord] = []
        self._of_turn: list[CallRecord] = []  # stray results of the turn in which the conversation was shown
        self._unclear: list[CallRecord] = []  # results that several requests may have
        self._group: str | None = None
        self._answered: tuple[str, str | None] = ("", None)  # the last answer with an id, and the group of its calls
        self._last: list[CallRecord] = []  # the requests of the messages right before
        self._last_by: str | None = None
        self._ending: list[CallRecord] = []  # the requests at the end of the agent's input
        self._joined: list[list[CallRecord]] = []
        """Lists of requests, each of consecutive messages."""
        self._has_history, self.prompted, self.answering, self._step = False, False, False, 0
        self._count = len(requests.known)  # how many requests were known before
        self._met: set[int] = set()  # those among them that this conversation repeats, by `id()`
        self._new: list[CallRecord] = []  # the requests that this conversation is the first to show
        self.thread: Hashable = None  # identifies the conversation by its first messages
        self.shown: int | None = None  # how many requests were known before the model answered
        self.agent: str | None = None  # whose answer is read
        self.doubts: frozenset[int] = frozenset()
        """Positions of messages that may or may not be from before the run."""

    def take_all(self, exchanges: Sequence[Exchange], turns: Iterable[int | None], start: int = 0) -> None:
        """Add messages, each with its turn; the first of them is at position `start` of the conversation."""
        requests = self._requests
        requests.saw_messages = requests.saw_messages or bool(exchanges)
        for place, (exchange, turn) in enumerate(zip(exchanges, turns, strict=True), start):
            if self._unclear and not exchange.results:
                self._settle()
            if not (exchange.calls or exchange.results or exchange.of_user):
                self._group, self._last, self._last_by = None, [], exchange.parent_id
                continue
            count, strays, self._turn = len(requests.known), len(self._stray), turn
            self._take(exchange, turn)
            if turn == self._shown_in and len(self._stray) > strays:
                self._of_turn += self._stray[strays:]
            if place in self.doubts and len(requests.known) > count:
                requests.is_doubtful = True

    def forked(self) -> ConversationReader:
        """Return a reader that has read what this one has, all of it settled, and can read something else after it."""
        fork = copy(self)
        fork._new, fork._stray, fork._of_turn, fork._unclear = [], [], [], []
        fork._counts, fork._uses, fork._met = self._counts.copy(), self._uses.copy(), self._met.copy()
        fork._waiting, fork._joined = self._waiting.copy(), self._joined.copy()
        fork._open = {call_id: waiting.copy() for call_id, waiting in self._open.items() if waiting}
        return fork

    def replace(self, other: ConversationReader) -> None:
        """Read on in place of a reader that has read nothing yet."""
        self._start_ns, self._end_ns, self.doubts = other._start_ns, other._end_ns, other.doubts
        self._count = other._count

    def is_like(self, other: ConversationReader) -> bool:
        """Whether another reader is for the same conversation, at another time."""
        is_same_place = self._context is other._context and self._shown_in == other._shown_in
        return is_same_place and self.thread == other.thread

    @property
    def turn(self) -> int | None:
        """The turn in which the conversation was shown."""
        return self._shown_in

    def can_resume_as(self, other: ConversationReader) -> bool:
        """Whether this reader, if it has read an answer, can read the next prompt in place of a new reader."""
        if self._stray or self._unclear or self._joined or self._requests.has_ids_again or other._start_ns is None:
            return False
        return self.is_like(other)

    def is_repeated(self, answer: Exchange, again: Exchange) -> bool:
        """Whether a message of a prompt makes the requests of an answer once more."""
        if answer.results or again.results or len(answer.calls) != len(again.calls):
            return False
        # An item goes on with what is right before it, and nothing is, if the last requests are its own.
        if answer.item != again.item and not (answer.item and len(self._last) == len(answer.calls)):
            return False
        written = self._requests.written
        return all(
            [
                (call.call_id, call.name, call.step) == (other.call_id, other.name, other.step)
                and (call.agent == other.agent or other.agent is None)
                and written(call) == written(other)
                for call, other in zip(answer.calls, again.calls, strict=True)
            ]
        )

    def resumed(self, other: ConversationReader) -> ConversationReader:
        """Return this reader as it would be if it had read the answer in a prompt, in place of a new reader."""
        self._met.update(map(id, self._new))
        self._new, self._has_history = [], bool(self._counts)
        self.prompted, self.answering, self.shown = True, False, None
        self.replace(other)
        return self

    @property
    def is_settled(self) -> bool:
        """Whether all requests were known before, and all results belong to one of them."""
        return not (self._new or self._stray or self._unclear)

    def expect_again(self) -> None:
        """Expect the agent's output to begin by repeating the pending requests at the end of its input.

        When Strands resumes after a person's decision, it does not ask the model again: it reports the model's old
        answer as the agent's.
        """
        self._ending = self._last[:MOST_WAITING]

    def _take(self, exchange: Exchange, turn: int | None) -> None:
        """Add the calls of one message to the requests, and its results to theirs."""
        context = self._context
        if exchange.parent_id is not None:
            context = self._requests.with_id(exchange.parent_id) or context
        if not exchange.calls or not (exchange.item or self._goes_on(exchange)):
            self._group, self._last = None, []
        answer = exchange.answer_id if exchange.calls else ""
        if answer and answer == self._answered[0]:
            self._group = self._answered[1]  # lines about hooks, or early results, may lie between its calls
        made = [self._call(call, context, turn) for call in exchange.calls if not self._is_summed_up(call, exchange)]
        self._last_by, self._ending = exchange.parent_id, []
        self._answered = (answer, self._group) if answer else self._answered
        if self._last and (not exchange.item or exchange.message.get("type") == _WRITTEN):
            self._joined.append([*self._last, *made])
        self._last = [*self._last, *made]
        if made and len(self._last) > 1:
            beside = self._last[-len(made) - 1 :]  # a service may have run its calls one after the other
            ungroup([each for each in beside if each.format in RUN_BY_SERVICE])
        if exchange.of_user:
            self._of_user.update([call.call_id for call in exchange.of_user if call.call_id])
        for result in exchange.results:
            if result.call_id in self._of_user:
                self._of_user.discard(result.call_id)
            elif not result.of_user:
                self._result(result)

    def _goes_on(self, exchange: Exchange) -> bool:
        """Whether a message adds calls to those right before it, none of which is answered; a new step never does."""
        is_same = bool(self._last) and exchange.parent_id == self._last_by and not is_step(exchange.message)
        return is_same and all([id(record) in self._waiting and not is_answered(record) for record in self._last])

    def _is_summed_up(self, call: CallRecord, exchange: Exchange) -> bool:
        """Whether a message repeats a call together with its result (AutoGen's summary)."""
        if not exchange.results:
            return False
        use = self._uses.get(call.call_id or "")
        known = self._requests.with_id(call.call_id, call.name, use - 1) if use else None
        outputs = [result.output for result in exchange.results if result.call_id == call.call_id]
        if known is None and exchange.message.get("type") == _SUMMARY:  # the event before it may lack the id
            made = [record for record in self._requests.known if record.name == call.name and not record.call_id]
            known = next((record for record in made if record.output in outputs), None)
        return known is not None and bool(outputs) and known.args == call.args

    def part_doubtful_groups(self) -> None:
        """Ungroup calls of several messages unless all were answered: results between them may be missing."""
        for records in self._joined:
            ungroup(records if not all(map(is_answered, records)) else ())

    def _call(self, call: CallRecord, context: Any, turn: int | None) -> CallRecord:
        """Return the request of a call: the known one that it repeats, with gaps filled, or a new one."""
        requests = self._requests
        context = requests.with_id(call.caller) or context if call.caller else context
        key = (id(context) if context is not None else None, turn, call.name, requests.written(call))
        position = self._counts[key] = self._counts.get(key, -1) + 1
        self._group, self._step = self._group if call.step == self._step else None, call.step or 0
        self._free_earlier(call.call_id, turn)
        use = self._uses.get(call.call_id or "", 0)
        known = (self._told_again(call, key) if self._ending else None) or self._same(call, key, position, use)
        if known is None:
            self._group = self._group or requests.new_group()
            is_past = requests.is_shown_again(context, turn, self._shown_in)
            known = requests.keep(call, key, context, use, is_past, self.thread)
            known.group = self._group if call.step is not None else None
            known.agent = known.agent or self.agent
            # The span of an agent reports calls requested while it ran: its start is not the time of any of them.
            known.asked_ns = self._start_ns if self.prompted or self.answering else None
            known.answered_ns, known.is_told_later = self._end_ns, self.prompted
            if not self.answering and len(self._met) < self._count and id(self._context) in requests.torn:
                known.order = -1  # it may be missing in an earlier conversation, and be older
            self._new.append(known)
        else:
            self._met.add(id(known))
            if self._new:
                self._place_before(known)
            self._group = self._group or known.group
            if call.call_id != known.call_id:
                requests.name_by_id(known, call.call_id, use)
            known.turn = turn if known.turn is None else known.turn
            known.name, known.agent = known.name or call.name, known.agent or call.agent
            if known.args is NOTHING:
                known.args = call.args
            # A request that a result withheld is told again as it was made: that does not approve it.
            if is_answered(call) or (known.withheld and id(known) in requests.unready):
                self._answer(known, call)
        self._has_history = self._has_history or not self.answering
        self._waiting[id(known)] = known
        if call.call_id:
            self._open.setdefault(call.call_id, {})[id(known)] = known
        return known

    def _place_before(self, known: CallRecord) -> None:
        """Note that the new requests of this conversation were made before a known one, or together with it.

        The answers that made them were not recorded, so they became known later than they were made.
        """
        is_late = False
        while self._new and 0 <= known.order < self._count:
            record = self._new.pop()
            record.order, is_late = -1, True
            if self._group and record.group == self._group:
                record.group = known.group
        self._group = known.group if is_late else self._group

    def _told_again(self, call: CallRecord, key: Key) -> CallRecord | None:
        """Return the pending request that this call repeats when an agent resumes and ids are missing; else None."""
        for each in self._ending:
            is_same = each.name == call.name and key_of(each.args) == key[3]
            if is_same and not (each.call_id and call.call_id):
                self._counts[key] -= 1
                self._ending = [other for other in self._ending if other is not each]
                return each
        return None

    def _same(self, call: CallRecord, key: Key, position: int, use: int) -> CallRecord | None:
        """Return the known request that a call repeats: by id, or by position among equal requests; else None."""
        requests = self._requests
        if call.call_id:
            known = requests.with_id(call.call_id, call.name, use, self.thread)
            if known and (NOTHING in (known.args, call.args) or known.args == call.args):
                return None if self._is_older(known) or self._is_of_other(known) else known
        known = requests.nth(key, position)
        if known is None or have_different_ids(known, call):
            return self._changed(call, use)
        # With state on the server (OpenAI's previous_response_id) a prompt has new messages only, so the same request
        # in a later answer is another call.
        return None if self.answering and self._is_later(known) and not self._has_history else known

    def _changed(self, call: CallRecord, use: int) -> CallRecord | None:
        """Return the request that a history repeats under its id with the arguments of the call that was made.

        A hook (Strands) or a person may change them before the tool runs, and the history is changed, too.
        """
        if self.answering or not call.call_id or has_made_up_id(call):
            return None
        known = self._requests.with_id(call.call_id, call.name, use, self.thread)
        if known is None or known.name != call.name or id(known) in self._met or not self._is_of_thread(known):
            return None
        if any([each is known for each in self._new]):
            return None
        # A history that lost an argument changes nothing.
        if not all([key in known.args and known.args[key] == held for key, held in call.args.items()]):
            known.args = call.args
        return known

    def _is_of_thread(self, known: CallRecord) -> bool:
        return self.thread is None or self._requests.threads.get(id(known)) == self.thread

    def _is_older(self, known: CallRecord) -> bool:
        """Whether a known request is of an earlier turn, and the model now makes a new one with the same id."""
        if not self.answering or self._shown_in is None:
            return False
        return self._requests.is_past(known) or (known.turn is not None and known.turn < self._shown_in)

    def _is_of_other(self, known: CallRecord) -> bool:
        """Whether a known request with the id of a new one is of an earlier answer in another conversation.

        Some models number their calls, so two agents that begin with the same tool have the same ids.
        """
        if not self.answering or self.thread is None or known.is_told_later:
            return False
        thread = self._requests.threads.get(id(known))
        return thread is not None and thread != self.thread and self._is_later(known)

    def _is_later(self, known: CallRecord) -> bool:
        """Whether this conversation began after the answer with a known request had ended."""
        return None not in (self._start_ns, known.answered_ns) and (self._start_ns or 0) >= (known.answered_ns or 0)

    def _result(self, result: CallRecord) -> None:
        """Assign a result to its request, by id or by order. If neither is certain, keep it for later."""
        request = self._with_id_of(result)
        if result.format == APPROVED:
            self._approve(request)
            return
        if request is not None:
            self._close(request, result)
            return
        if call_id := result.call_id:
            first = list(islice(self._waiting.values(), MOST_WAITING))
            named = next((each.name for each in first if _is_named_by(each, call_id)), "")
            result.name, result.call_id = (named, None) if named else (result.name, call_id)
        waiting = list(islice((each for each in self._waiting.values() if may_answer(result, each)), MOST_WAITING))
        if not waiting:
            self._stray.append(result)
        elif len(waiting) > 1 and (self._unclear or result.call_id or any([has_own_id(record) for record in waiting])):
            self._unclear.append(result)
        else:
            self._close(waiting[0], result)

    def _approve(self, request: CallRecord | None) -> None:
        """Note that a person approved a call: from now on it counts as made, with or without a result."""
        if request is not None:
            request.withheld = ""
            self._requests.approved.add(id(request))

    def _close(self, request: CallRecord, result: CallRecord) -> None:
        self._waiting.pop(id(request), None)
        self._free_id(request, result.call_id or request.call_id)
        self._answer(request, result)

    def _settle(self) -> None:
        """Assign results with unclear requests to those that wait, where only one assignment is possible."""
        if self._unclear:
            pairs, strays = only_pairing(self._unclear, list(self._waiting.values()))
            self._requests.strays += strays
            for request, result in pairs:
                self._close(request, result)
            self._unclear, self._waiting = [], {}  # later results belong to later requests

    def _with_id_of(self, result: CallRecord) -> CallRecord | None:
        """Return the request with the id of a result: one that waits, one known from elsewhere, or an answered one."""
        if not (call_id := result.call_id):
            return None
        waiting = self._open.get(call_id)
        if waiting:
            if len(waiting) == 1:
                return next(iter(waiting.values()))
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

    def _free_earlier(self, call_id: str | None, turn: int | None) -> None:
        """Free the id of a request of an earlier turn that got no result: that turn is over.

        A call that waits for approval is asked for again under its own id.
        """
        waiting = self._open.get(call_id) if call_id else None
        if not waiting or turn is None:
            return
        for record in list(islice(waiting.values(), MOST_WAITING)):
            if not record.withheld and record.turn is not None and record.turn < turn:
                self._free_id(record, call_id)

    def _answer(self, request: CallRecord, result: CallRecord) -> None:
        """Fill a request from its result. A later result replaces it only after an approval, or to add a failure."""
        if result.call_id and request.call_id and request.call_id.startswith(ITEM):
            request.call_id = None
            self._requests.name_by_id(request, result.call_id)
        if self._is_approved(request, result):
            self._approve(request)
            turn = self._turn if self._shown_in is None else self._shown_in
            request.turn = request.turn if turn is None else turn
            request.output, request.failed, request.error = result.output, result.failed, result.error
        is_refused = result.withheld not in _OPEN and not _precedes(self._turn, request.turn)
        if is_refused:
            self._requests.refused.add(id(request))
        # A log that repeats an approved call tells first again that it waited, or was refused.
        if request.withheld in _OPEN and (is_refused or id(request) not in self._requests.approved):
            request.withheld = result.withheld or request.withheld
        if not is_answered(request) or (result.failed and result.output == request.output):
            request.output, request.failed, request.error = result.output, result.failed, result.error

    def _is_approved(self, request: CallRecord, result: CallRecord) -> bool:
        """Whether a log has the result of a call that waited for approval, or was refused in an earlier turn.

        Spans do not count: they may repeat the refusal in a format that does not mark it as one.
        """
        if not request.withheld or result.withheld or self._start_ns is not None or result.error in UNCONFIRMED:
            return False
        return _precedes(request.turn, self._turn) or id(request) not in self._requests.refused

    def place_stray_results(self) -> None:
        """Assign results without a request before them: by id to a later one, else by order to those known before."""
        self._settle()
        self._turn = self._shown_in
        strays = [result for result in self._stray if not self._answer_later_request(result)]
        if not strays:
            return
        requests, context = self._requests, self._context
        known = [record for record in requests.known[: self.shown] if requests.contexts[id(record)] is context]
        for request, result in only_order(strays, known) if id(context) not in requests.gaps else ():
            self._answer(request, result)
            strays.remove(result)
        requests.strays += strays
        if self._start_ns is not None:
            left = set(map(id, strays))
            requests.unasked |= {id(result): result for result in self._of_turn if id(result) in left}

    def _answer_later_request(self, result: CallRecord) -> bool:
        waiting = self._open.get(result.call_id or "")
        if not waiting:
            return False
        self._answer(waiting.pop(next(iter(waiting))), result)
        return True


class LastPrompt:
    """The prompt that was read last, and its answer, which the next prompt usually repeats and goes on from.

    An agent of n steps has n prompts, each with all messages so far: reading every one from its beginning takes time
    that grows with n². Requests and results that are known are not changed by reading them once more, only the reader
    is. So if a prompt repeats both and all of it is simple, the reader that has read them reads on. Otherwise a long
    prompt is read on from where the last one ended, by a reader that is kept as it was there.
    """

    def __init__(self) -> None:
        self._said: Sequence[Exchange] = ()
        self._turns: Sequence[int] = ()
        self._answer: Sequence[Exchange] = ()
        self._read_by: ConversationReader | None = None
        self._was_settled = False
        """Whether all of the prompt was known before."""
        self._simple = 0
        """How many of its messages are known to be simple."""
        self._kept: ConversationReader | None = None
        self._count = 0
        """How many messages the kept reader has read."""

    def read(
        self, exchanges: Sequence[Exchange], turns: Sequence[int], reader: ConversationReader
    ) -> ConversationReader:
        """Read a prompt of a model, and return the reader that has read it."""
        known = self._read_with_answer(exchanges, turns, reader)
        shared = 0 if known else self._shared(exchanges, turns, reader)
        if known and self._read_by is not None:
            self._kept, reader = None, self._read_by.resumed(reader)
            reader.take_all(exchanges[known:], turns[known:], known)
        elif shared:
            reader = self._repeated(exchanges[:shared], turns[:shared], reader)
            reader.take_all(exchanges[shared:], turns[shared:], shared)
        else:
            self._kept = None
            reader.take_all(exchanges, turns)
        self._said, self._turns, self._read_by = exchanges, turns, reader
        self._was_settled, self._simple, self._answer = reader.is_settled, known, ()
        return reader

    def add_answer(self, answer: Sequence[Exchange]) -> None:
        """Note the answer that the same reader has read after the prompt."""
        self._answer = answer

    def _read_with_answer(self, exchanges: Sequence[Exchange], turns: Sequence[int], reader: ConversationReader) -> int:
        """Return how many messages of a prompt the last reader has read, as prompt and as answer; 0 if it cannot go on.

        All of them have to be such that reading them again finds the same requests, and changes none.
        """
        last, answer, count = self._read_by, self._answer, len(self._said)
        known = count + len(answer)
        if (
            last is None
            or not answer
            or not self._was_settled
            or len(exchanges) < known
            or exchanges[:count] != self._said
        ):
            return 0
        if not last.can_resume_as(reader) or turns[:known] != [*self._turns, *[last.turn] * len(answer)]:
            return 0
        again = exchanges[count:known]
        if not all(map(last.is_repeated, answer, again)) or not all(map(_is_simple, exchanges[self._simple : known])):
            return 0
        return known

    def _repeated(
        self, exchanges: Sequence[Exchange], turns: Sequence[int], reader: ConversationReader
    ) -> ConversationReader:
        """Read what a prompt repeats, as far as the kept reader has not, and keep one that has read all of it."""
        count = 0
        if self._kept is not None:
            self._kept.replace(reader)
            reader, count = self._kept, self._count
        reader.take_all(exchanges[count:], turns[count:], count)
        is_kept = reader.is_settled and all(map(_is_of_agent, exchanges[count:]))
        self._kept, self._count = reader.forked() if is_kept else None, len(exchanges)
        return reader

    def _shared(self, exchanges: Sequence[Exchange], turns: Sequence[int], reader: ConversationReader) -> int:
        """Return how many messages of the last prompt another one begins with: all of them, or none."""
        count = len(self._said)
        if count < _FEWEST_SHARED or self._read_by is None or not self._read_by.is_like(reader):
            return 0
        return count if exchanges[:count] == self._said and turns[:count] == self._turns else 0


def _is_simple(exchange: Exchange) -> bool:
    """Whether all calls and results of a message have ids, and it tells nothing else of them."""
    if exchange.parent_id is not None or exchange.of_user:
        return False
    for call in exchange.calls:
        is_whole = call.name and call.call_id and call.step is not None
        if not is_whole or call.caller or call.withheld or is_answered(call) or call.format in RUN_BY_SERVICE:
            return False
    return all([result.call_id and not result.withheld and result.format != APPROVED for result in exchange.results])


def _is_of_agent(exchange: Exchange) -> bool:
    """Whether the calls of a message are the agent's own: those of others depend on which requests are known by now."""
    if exchange.parent_id is not None or exchange.of_user:
        return False
    return not any([call.caller for call in exchange.calls])


def _precedes(turn: int | None, other: int | None) -> bool:
    """Whether a turn is known to be before another."""
    return turn is not None and other is not None and turn < other


def ungroup(records: Sequence[CallRecord]) -> None:
    """Take calls out of their groups: it is not known whether they were requested at once."""
    for record in records:
        record.group = None


def may_answer(result: CallRecord, request: CallRecord) -> bool:
    """Whether a result can belong to a request, by name and id."""
    if result.name and result.name != request.name:
        return False
    return not result.call_id or not request.call_id or request.call_id.startswith(ITEM)


def _is_named_by(request: CallRecord, call_id: str) -> bool:
    """Whether the id of a result is made of the name of a request.

    LlamaIndex writes the name as the id where Gemini gave none. ADK and Google's instrumentation add the place in the
    message, which is another one for the result.
    """
    if not request.call_id:
        return request.name == call_id
    return all(
        [each.rpartition("_")[0] == request.name and each[-1].isdecimal() for each in (request.call_id, call_id)]
    )


def is_answered(record: CallRecord) -> bool:
    """Whether a request has a result."""
    return record.failed or record.output is not NOTHING


def has_own_id(record: CallRecord) -> bool:
    """Whether a call has an id that its model gave it."""
    return bool(record.call_id) and not has_made_up_id(record)


def only_pairing(
    results: Sequence[CallRecord], requests: Sequence[CallRecord]
) -> tuple[list[tuple[CallRecord, CallRecord]], Sequence[CallRecord]]:
    """Pair results with requests where only one pairing is possible, and return it with the results left without one.

    Equal results are paired in order. With more results than requests no pair is certain, so none is returned, and the
    surplus of results counts as those whose requests are missing.
    """
    if not len(results) <= len(requests) <= MOST_WAITING:
        return [], results[len(requests) :]
    if len(results) == len(requests) and _are_in_order(results, requests):
        return list(zip(requests, results, strict=True)), []
    open_results, left, pairs = list(results), list(requests), []
    while open_results:
        found = [(result, [each for each in left if may_answer(result, each)]) for result in open_results]
        only = next(((each[0], result) for result, each in found if len(each) == 1), None)
        if only is None:
            break
        request, result = only
        pairs.append(only)
        open_results.remove(result)
        left.remove(request)
    # Which of several equal results belongs to which request makes no difference, as long as each can.
    are_equal = all([_are_equal(open_results[0], each) for each in open_results])
    if len(open_results) == len(left) and are_equal and all(map(may_answer, open_results, left)):
        return [*pairs, *zip(left, open_results, strict=True)], []
    return pairs, [result for result in open_results if not any([may_answer(result, each) for each in left])]


def _are_in_order(results: Sequence[CallRecord], requests: Sequence[CallRecord]) -> bool:
    """Whether results can be paired by order: their ids were recorded, but cannot match those of the requests.

    Either all results share one id and no request has any, or the requests have only ids of items (`ITEM`).
    """
    if not all(map(may_answer, results, requests)):
        return False
    ids = {result.call_id for result in results}
    if len(ids) == 1:
        return None not in ids and not any([request.call_id for request in requests])
    return None not in ids and all([(request.call_id or "").startswith(ITEM) for request in requests])


def only_order(results: Sequence[CallRecord], requests: Sequence[CallRecord]) -> list[tuple[CallRecord, CallRecord]]:
    """Pair results with requests in order, as far as only one pairing is possible; nothing if a result has no request.

    A result may repeat that of an answered request. Results with ids that no request has are in the order in which
    tools ended, so that among calls requested at once any may be theirs.
    """
    first, last = _embedded(results, requests), _embedded(results[::-1], requests[::-1])
    sure = [(one, result) for one, other, result in zip(first, last[::-1], results, strict=False) if one is other]
    sizes = Counter([record.group for record in requests])
    return [(request, result) for request, result in sure if not result.call_id or sizes[request.group] == 1]


def _embedded(results: Sequence[CallRecord], requests: Sequence[CallRecord]) -> list[CallRecord]:
    """Return the first request in order that each result can belong to; an empty list if a result has none."""
    found: list[CallRecord] = []
    for request in requests:
        result = results[len(found)] if len(found) < len(results) else None
        if (
            result is not None
            and may_answer(result, request)
            and (not is_answered(request) or _repeats(result, request))
        ):
            found.append(request)
    return found if len(found) == len(results) else []


def _repeats(result: CallRecord, request: CallRecord) -> bool:
    return result.failed == request.failed and key_of(result.output) == key_of(request.output)


def _are_equal(first: CallRecord, second: CallRecord) -> bool:
    is_same = (first.name, first.error, first.failed) == (second.name, second.error, second.failed)
    return is_same and key_of(first.output) == key_of(second.output)


def key_of(args: Any) -> bytes | str:
    """Return arguments as text that is equal for equal arguments."""
    if args is NOTHING:
        return b""
    try:
        written = _encode(args)
    except (OverflowError, UnicodeError, msgspec.MsgspecError, RecursionError):
        return dump_json(_sorted(args))
    # msgspec writes NaN as null, and the two are different arguments.
    return dump_json(_sorted(args)) if b"null" in written and _decode(written) != args else written


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    return [_sorted(item) for item in value] if isinstance(value, list) else value
