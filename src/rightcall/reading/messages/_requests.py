"""Collect the calls that models requested in a run, each once, and separate the history in prompts from what is new."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from copy import copy
from itertools import islice, takewhile
from typing import Any

import msgspec

from rightcall.reading.spans import CallRecord, has_made_up_id

from ._conversation_reader import MOST_WAITING, ConversationReader, LastPrompt, key_of
from ._message_exchange import Exchange
from ._refusals import refusals_in, take_edit

Key = tuple[Any, int | None, str, bytes | str]
"""The context and turn of a request, its name, and its arguments as text."""
BEFORE = -1
"""The turn of messages from before the run."""

_MOST_PROMPTS = 64  # prompts kept per context; each new one is compared with all of them


class Requests:
    """The tool calls that models requested, collected from conversations that repeat each other.

    A request is identified by its id, and by how many requests with that id were answered before in the conversation:
    some producers reuse an id once it was answered. Without an id, or with one of another kind, the k-th request with a
    name and arguments in a turn of a conversation is the k-th such request of that turn in the same context, which is
    the tool call inside which the conversation took place. A request in a prompt is never new if it is from before the
    run, or from a turn whose answers are known.
    """

    def __init__(self) -> None:
        self.known: list[CallRecord] = []
        self.is_doubtful = False
        """Whether there are requests that may or may not be from before the run."""
        self.heard: set[int] = set()
        """The turns of which a model's messages, or a log, were read."""
        self.are_turns_doubtful = False
        """Whether there is a message that may or may not be the user's, and begin a turn."""
        self.is_placed = True
        """Whether it is known inside which call, if any, the current conversation took place."""
        self.is_unanswered = False
        """Whether the answer of a model was not recorded, nor shown to a model later."""
        self.gaps: set[int] = set()
        """The contexts, by `id()`, in which a model's answer is missing, so that results are not paired by order."""
        self.torn: set[int] = set()
        """The contexts, by `id()`, with an incomplete history: a request seen first in a later one may be older."""
        self.refused: set[int] = set()
        """The requests, by `id()`, that were refused, not only held back for approval."""
        self.approved: set[int] = set()
        """Those that a person approved, or that have a result after all."""
        self.unready: set[int] = set()
        """Those that were withheld as they were first shown: shown in another way, they were made, or refused."""
        self.has_ids_again = False
        """Whether an id was used for several requests, or a request has another id, too."""
        self._threads = PromptHistory()
        self._last_prompt = LastPrompt()
        self._past: set[int] = set()
        self._answered: set[tuple[int | None, int]] = set()
        self._mute: set[tuple[int | None, int]] = set()  # answers without content: not all requests are known
        self.contexts: dict[int, Any] = {}
        self.threads: dict[int, Hashable] = {}
        """The conversation of each request, by its `id()`; conversations are identified by the user's first message."""
        self.saw_messages = False
        self.strays: list[CallRecord] = []
        """Results whose requests were not found."""
        self.unasked: dict[int, CallRecord] = {}
        """Those among them that spans show in their own turn, by `id()`: their calls belong to this run."""
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
        agent: str | None = None,
    ) -> None:
        """Add one conversation of a turn: the input and the output of a model or an agent.

        An unknown turn is taken from a prompt with the same texts of the user; otherwise it is the last one.
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
        if of_model:
            reading = self._last_prompt.read(before, turns, reading)
        else:
            self._last_prompt = LastPrompt()
            reading.take_all(before, turns)
        reading.prompted, reading.answering, reading.shown = False, of_model, len(self.known)
        if not of_model:
            reading.expect_again()
        reading.agent = agent if of_model else None  # the output of a team has calls of several agents
        reading.take_all(after, [turn] * len(after))
        reading.agent = None  # the reader may read on in a later prompt
        reading.place_stray_results()
        reading.part_doubtful_groups()
        self._last_prompt.add_answer(after)
        told = before if of_model else (*before, *after)
        self.torn.update([id(context)] if any([exchange.is_mute or exchange.unread for exchange in told]) else ())
        if of_model:
            self.gaps.update([id(context)] if not any([exchange.is_of_agent for exchange in after]) else ())
            self.heard.add(turn)
            self._answered.update([(place, turn)] if after else ())
            self._mute.update([(place, turn) for exchange in after if exchange.is_mute])

    def add_log(self, exchanges: Sequence[Exchange], turn: int | None = None, asked: str | None = None) -> None:
        """Add a log of messages: a whole conversation, or the conversation up to the end of a turn."""
        self.is_placed = True
        self.are_turns_doubtful = self.are_turns_doubtful or falls_silent(exchanges)
        self.is_unanswered = self.is_unanswered or any([exchange.is_mute for exchange in exchanges])
        if turn is None:
            turns: Sequence[int | None] = turns_in_log(exchanges, asked)
            self._threads.remember(exchanges, turns)
        else:
            turns = self._threads.turns_of(exchanges, turn, asked=asked)
        reading, self._last_prompt = ConversationReader(self, None, None, None, turn), LastPrompt()
        self.heard.update([each for each in turns if each is not None] if turn is None else [turn])
        reading.take_all(exchanges, turns)
        reading.place_stray_results()
        reading.part_doubtful_groups()

    def withhold_refused(self) -> None:
        """Mark the requests whose results are refusals as withheld."""
        for record, reason in refusals_in(self.made):
            record.withheld = record.withheld or reason
            self.refused.add(id(record))

    def take_edits(self) -> None:
        """Replace requests that a person edited by the calls that were made. Nothing may be added afterwards."""
        for record in self.known:
            take_edit(record)

    def is_shown_again(self, context: Any, turn: int | None, shown_in: int | None) -> bool:
        """Whether a request that is not known yet is from before the run, or of a turn whose answers are known."""
        place = None if context is None else id(context)
        if turn is None or turn == shown_in:
            return False
        return turn == BEFORE or ((place, turn) in self._answered and (place, turn) not in self._mute)

    def first_unasked(self) -> CallRecord | None:
        """Return the first result of this run whose request is in no conversation; None if there is no such result."""
        for result in self.unasked.values():
            known = self._by_id.get((result.call_id, 0)) if result.call_id else self.known
            if not known:
                return result
        return None

    def with_id(self, call_id: str | None, name: str = "", use: int = 0, thread: Hashable = None) -> CallRecord | None:
        """Return the request with an id, which `use` answered requests had before it.

        Among several, a request with the given name is returned, preferably one of the given conversation.
        """
        value = self._by_id.get((call_id, use)) if call_id else None
        if value is None:
            return None
        if len(value) == 1:
            return value[0] if not name or value[0].name in ("", name) else None
        named = (record for record in value if not name or not record.name or record.name == name)
        few = list(islice(named, MOST_WAITING if thread is not None else 1))
        return next((record for record in few if self.threads.get(id(record)) == thread), few[0] if few else None)

    def is_only(self, record: CallRecord) -> bool:
        """Whether the id of a request belongs to it alone, and was not reused."""
        value = self._by_id.get((record.call_id or "", 0), ())
        return len(value) == 1 and (record.call_id, 1) not in self._by_id

    def new_group(self) -> str:
        """Return a name for a new group of calls that were requested at once."""
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
        if record.withheld:
            self.unready.add(id(record))
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
            # The call is kept with the text: once freed, its `id()` could become that of another call.
            known = self._written[id(call)] = (call, key_of(call.args))
        return known[1]

    def name_by_id(self, record: CallRecord, call_id: str | None, use: int = 0) -> None:
        """Register a request under an id."""
        if not call_id:
            return
        named = self._by_id.setdefault((call_id, use), [])
        if use or named or record.call_id != call_id:
            self.has_ids_again = True
        if not record.call_id or has_made_up_id(record):
            record.call_id = call_id
        if record not in named:
            named.append(record)

    def nth(self, key: Key, position: int) -> CallRecord | None:
        """Return the request with a key at a position; for a key without a turn, in the last turn that has any."""
        keys = [key] if key[1] is not None else [(key[0], turn, *key[2:]) for turn in (None, *sorted(self.heard)[::-1])]
        found = next((self._by_key[each] for each in keys if each in self._by_key), ())
        return found[position] if position < len(found) else None


class _KnownPrompt(msgspec.Struct, frozen=True):
    """A prompt seen before: the texts of the user in it, and their turns."""

    texts: tuple[str, ...]
    turns: tuple[int, ...]


class PromptHistory:
    """The prompts of a run seen so far.

    A prompt repeats the conversation, so its messages are from this turn, from earlier ones, or from before the run
    (earlier turns of a session, examples). Prompts are recognised by the texts of the user in them: in one that
    continues a known prompt, only the continuation is from this turn. The rest of a prompt (instructions, truncated
    results, a history without its beginning) may differ each time.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, list[_KnownPrompt]] = {}
        self._wordless: dict[Hashable, list[tuple[Sequence[Exchange], list[int]]]] = {}

    def turns_of(
        self,
        exchanges: Sequence[Exchange],
        turn: int,
        context: Hashable = None,
        asked: str | None = None,
        answer: Sequence[Exchange] = (),
    ) -> list[int]:
        """Return the turn of each message of a prompt, in order.

        Args:
            exchanges: The messages.
            turn: The turn of the prompt.
            context: The call inside which the conversation took place.
            asked: What the user asked in this turn, if known.
            answer: What the model answered, which later prompts repeat after these messages.
        """
        words = _places(exchanges)
        if not words:
            return self._turns_without_words(exchanges, turn, context, answer)
        texts = tuple([exchanges[place].text for place in words])
        known = self._known.setdefault(context, [])
        if known and known[-1].texts == texts:
            turns = known[-1].turns  # like most prompts of a run: the user wrote nothing new
        else:
            turns = _turns_of_words(texts, _steps_after(exchanges, words), turn, known, asked, context is not None)
        if turns[-1] < turn and words[-1] == len(exchanges) - 1:
            turns = (*turns[:-1], turn)  # the user repeated the question, in the last message
        _remember(_KnownPrompt(texts, turns), known)
        return _spread(turns, words, len(exchanges))

    def turn_of(self, exchanges: Sequence[Exchange], otherwise: int, context: Hashable = None) -> int:
        """Return the turn of a prompt without a timestamp: that of its last text of the user in a known prompt."""
        texts = words_of(exchanges)
        found = _continued(texts, self._known.get(context, ()))
        return found[-1] if found and len(found) == len(texts) else otherwise

    def remember(self, exchanges: Sequence[Exchange], turns: Sequence[int | None]) -> None:
        """Remember a conversation whose turns are known."""
        words = _places(exchanges)
        if words:
            known = self._known.setdefault(None, [])
            _remember(_KnownPrompt(words_of(exchanges), tuple([turns[place] or 0 for place in words])), known)

    def is_known(self, context: Hashable) -> bool:
        """Whether a prompt of this context was seen."""
        return bool(self._known.get(context) or self._wordless.get(context))

    def _turns_without_words(
        self, exchanges: Sequence[Exchange], turn: int, context: Hashable, answer: Sequence[Exchange]
    ) -> list[int]:
        """Return the turns of a prompt without texts of the user, by the known prompt with the longest common start."""
        known = self._wordless.setdefault(context, [])
        best: list[int] = []
        for others, turns in known:
            count = _count_shared(others, exchanges)
            best = turns[:count] if count > len(best) else best
        found = [*best, *[turn] * (len(exchanges) - len(best))]
        known.append(((*exchanges, *answer), [*found, *[turn] * len(answer)]))
        del known[:-_MOST_PROMPTS]
        return found


def _count_shared(known: Sequence[Exchange], exchanges: Sequence[Exchange]) -> int:
    pairs = zip(known, exchanges, strict=False)
    return sum([1 for _ in takewhile(lambda pair: pair[0] is pair[1] or pair[0].message == pair[1].message, pairs)])


def _turns_of_words(
    texts: tuple[str, ...], steps: list[int], turn: int, known: list[_KnownPrompt], asked: str | None, is_inner: bool
) -> tuple[int, ...]:
    found = _continued(texts, known)
    if found:
        new = [max(turn - steps[place], found[-1]) for place in range(len(found), len(texts))]
        return (*found, *new)
    asked_at = max([place for place, text in enumerate(texts) if text == asked], default=len(texts) - 1)
    since = steps[asked_at]
    # If prompts of other conversations are known, the history in this one is of none of their turns; and the history
    # in a conversation inside a call is older than the call.
    earliest = turn if known or is_inner else 0
    turns = [turn - max(step - since, 0) for step in steps]
    return tuple([each if each >= earliest else BEFORE for each in turns])


def turns_in_log(exchanges: Sequence[Exchange], asked: str | None = None) -> list[int | None]:
    """Return the turn of each message of a log that is a whole conversation. A text of the user begins a turn.

    Messages before the first such text have no turn. If it is known what was `asked` first, texts before it are from
    before the run.
    """
    words = _places(exchanges)
    if not words:
        return [None] * len(exchanges)
    steps = _steps_after(exchanges, words)
    first = max([place for place, word in enumerate(words) if exchanges[word].text == asked], default=0)
    turns = tuple([max(steps[first] - step, BEFORE) for step in steps])
    return [None if place < words[0] else turn for place, turn in enumerate(_spread(turns, words, len(exchanges)))]


def falls_silent(exchanges: Sequence[Exchange]) -> bool:
    """Whether a message after the agent's first one may or may not be a question of the user.

    Either it is the user's and its content was not recorded, or its writer was not recorded.
    """
    is_at_work = False
    for exchange in exchanges:
        if exchange.calls or exchange.results:
            is_at_work = True
        elif not is_at_work:
            is_at_work = exchange.is_of_agent
        elif exchange.is_silent or exchange.is_anonymous:
            return True
    return False


def doubtful_places(
    exchanges: Sequence[Exchange], turns: Sequence[int], models_tell: bool, is_first: bool
) -> frozenset[int]:
    """Return the positions of messages whose calls look older than the run, but may be of it.

    These are calls that no answer to the user followed: frameworks also write in the role of the user, to make a model
    try again. Earlier model spans would show that the run had begun; if they are missing, or only the agent's span was
    recorded, nothing does. In the first prompt all messages are doubtful if it has no text of the user.
    """
    if is_first and not any([exchange.is_of_user for exchange in exchanges]):
        return frozenset(range(len(exchanges)))
    older = [place for place, turn in enumerate(turns) if turn == BEFORE and exchanges[place].calls]
    if not older:
        return frozenset()
    found = []
    is_answered = False
    for place in range(len(exchanges) - 1, older[0] - 1, -1):
        exchange = exchanges[place]
        if exchange.is_of_user:
            is_answered = False
        elif exchange.is_of_agent and not exchange.calls and not exchange.results:
            is_answered = True
        if exchange.calls and turns[place] == BEFORE and not (is_answered and models_tell):
            found.append(place)
    return frozenset(found)


def words_of(exchanges: Iterable[Exchange]) -> tuple[str, ...]:
    """Return the texts of the user in messages."""
    return tuple([exchange.text for exchange in exchanges if exchange.is_of_user])


def words_shared(known: tuple[str, ...], texts: tuple[str, ...]) -> range | None:
    """Return which texts of a known prompt another prompt begins with, up to the end of either; None if with none.

    The other prompt may lack texts at its beginning.
    """
    for start, text in enumerate(known):
        if texts and text == texts[0]:
            count = min(len(known) - start, len(texts))
            if known[start : start + count] == texts[:count]:
                return range(start, start + count)
    return None


def _places(exchanges: Sequence[Exchange]) -> list[int]:
    return [place for place, exchange in enumerate(exchanges) if exchange.is_of_user]


def _steps_after(exchanges: Sequence[Exchange], words: Sequence[int]) -> list[int]:
    """For each text of the user, count how often the agent worked and the user wrote again after it."""
    steps = [0] * len(words)
    for place in range(len(words) - 2, -1, -1):
        between = exchanges[words[place] + 1 : words[place + 1]]
        steps[place] = steps[place + 1] + any([exchange.is_of_agent for exchange in between])
    return steps


def _continued(texts: tuple[str, ...], known: Sequence[_KnownPrompt]) -> tuple[int, ...]:
    """Return the turns of those texts, from the first one on, that a known prompt also has; the longest match wins."""
    best: tuple[int, ...] = ()
    # The newest prompt first: of equally long matches it wins.
    for prompt in reversed(known):
        shared = words_shared(prompt.texts, texts)
        if shared is not None and len(shared) > len(best):
            best = prompt.turns[shared.start : shared.stop]
    return best


def _remember(prompt: _KnownPrompt, known: list[_KnownPrompt]) -> None:
    """Remember a prompt, and forget the one that it continues."""
    for place, other in enumerate(known):
        if prompt.texts[: len(other.texts)] == other.texts and prompt.turns[: len(other.turns)] == other.turns:
            del known[place]
            break
    known.append(prompt)
    del known[:-_MOST_PROMPTS]


def _spread(turns: tuple[int, ...], words: Sequence[int], length: int) -> list[int]:
    """Return the turns of all messages, given those of the user's texts: what follows a text is of its turn."""
    found = [max(turns[0] - 1, BEFORE)] * words[0]
    for place, start in enumerate(words):
        end = words[place + 1] if place + 1 < len(words) else length
        found += [turns[place]] * (end - start)
    return found
