"""Which turn each message of a prompt was said in: the one place that tells history from what is new."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import takewhile

import msgspec

from ._message_exchange import Exchange

BEFORE = -1
"""The turn of what was said before the run began."""

_MOST_THREADS = 64


class _KnownPrompt(msgspec.Struct, frozen=True):
    """A conversation as a model was shown it: what the user said, and in which turn."""

    texts: tuple[str, ...]
    turns: tuple[int, ...]


class PromptHistory:
    """The conversations of a run that models were shown so far.

    A prompt repeats the conversation, so what it holds was said in earlier turns as well as in this one, and before
    the run began: in earlier turns of a session, or in examples. Prompts are recognised by what the user says in them:
    one that goes on where a known one ends has only its end from this turn. Whatever else a prompt holds (instructions,
    cut results, a history that forgets its beginning) may differ each time.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, list[_KnownPrompt]] = {}
        self._wordless: dict[Hashable, list[tuple[Sequence[Exchange], list[int]]]] = {}

    def turns_of(
        self,
        said: Sequence[Exchange],
        turn: int,
        context: Hashable = None,
        asked: str | None = None,
        answer: Sequence[Exchange] = (),
    ) -> list[int]:
        """The turn of each message that was shown in a turn, in the order of the messages.

        Args:
            said: The messages.
            turn: The turn in which they were shown.
            context: Inside of which call the conversation was held.
            asked: What the user asked in this turn, where that is known.
            answer: What the model answered to the messages, which later prompts repeat after them.
        """
        words = _places(said)
        if not words:
            return self._turns_without_words(said, turn, context, answer)
        texts = words_of(said)
        known = self._known.setdefault(context, [])
        turns = _turns_of_words(texts, _steps_after(said, words), turn, known, asked, context is not None)
        if turns[-1] < turn and words[-1] == len(said) - 1:
            turns = (*turns[:-1], turn)  # asked again in the same words: nothing was said since
        _remember(_KnownPrompt(texts, turns), known)
        return _spread(turns, words, len(said))

    def remember(self, said: Sequence[Exchange], turns: Sequence[int | None]) -> None:
        """Keep a conversation whose turns are known."""
        words = _places(said)
        if words:
            known = self._known.setdefault(None, [])
            _remember(_KnownPrompt(words_of(said), tuple([turns[place] or 0 for place in words])), known)

    def is_known(self, context: Hashable) -> bool:
        """Whether any conversation was shown in a context."""
        return bool(self._known.get(context) or self._wordless.get(context))

    def _turns_without_words(
        self, said: Sequence[Exchange], turn: int, context: Hashable, answer: Sequence[Exchange]
    ) -> list[int]:
        """The turns of messages without any of the user: those with which a known prompt begins are of its turns."""
        known = self._wordless.setdefault(context, [])
        best: list[int] = []
        for others, turns in known:
            count = _count_shared(others, said)
            best = turns[:count] if count > len(best) else best
        found = [*best, *[turn] * (len(said) - len(best))]
        known.append(((*said, *answer), [*found, *[turn] * len(answer)]))
        del known[:-_MOST_THREADS]
        return found


def _count_shared(known: Sequence[Exchange], said: Sequence[Exchange]) -> int:
    pairs = zip(known, said, strict=False)
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
    # Where earlier turns showed other conversations, what this one begins with is of none of them; and what a call's
    # own conversation begins with is older than the call.
    earliest = turn if known or is_inner else 0
    turns = [turn - max(step - since, 0) for step in steps]
    return tuple([each if each >= earliest else BEFORE for each in turns])


def turns_in_log(said: Sequence[Exchange], asked: str | None = None) -> list[int | None]:
    """The turn of each message of a log that is a whole conversation: the words of the user begin them.

    What stands before the first words is of no turn. Where it is known what was `asked` first, the words before that
    were said before the run began.
    """
    words = _places(said)
    if not words:
        return [None] * len(said)
    steps = _steps_after(said, words)
    first = max([place for place, word in enumerate(words) if said[word].text == asked], default=0)
    turns = tuple([max(steps[first] - step, BEFORE) for step in steps])
    return [None if place < words[0] else turn for place, turn in enumerate(_spread(turns, words, len(said)))]


def falls_silent(said: Sequence[Exchange]) -> bool:
    """Whether a message of the user that follows the agent's work has nothing in it, not even an empty text."""
    is_at_work = False
    for exchange in said:
        if is_at_work and exchange.is_silent:
            return True
        is_at_work = is_at_work or exchange.is_of_agent
    return False


def doubtful_places(
    said: Sequence[Exchange], turns: Sequence[int], models_tell: bool, is_first: bool
) -> frozenset[int]:
    """Which calls may be of this run, though they seem older: those that no answer to the user followed.

    Frameworks speak as the user, too, to have a model try again. Models that were asked before then show that the run
    had begun; where their spans are missing, or only that of the agent is left, nothing does. And nothing tells how old
    calls are in the first prompt of all, if the user says nothing in it.
    """
    if is_first and not any([exchange.is_of_user for exchange in said]):
        return frozenset(range(len(said)))
    found = []
    is_answered = False
    for place in range(len(said) - 1, -1, -1):
        exchange = said[place]
        if exchange.is_of_user:
            is_answered = False
        elif exchange.is_of_agent and not exchange.calls and not exchange.results:
            is_answered = True
        if exchange.calls and turns[place] == BEFORE and not (is_answered and models_tell):
            found.append(place)
    return frozenset(found)


def words_of(said: Iterable[Exchange]) -> tuple[str, ...]:
    """What the user says in messages."""
    return tuple([exchange.text for exchange in said if exchange.is_of_user])


def words_shared(known: tuple[str, ...], texts: tuple[str, ...]) -> range | None:
    """Which words of a known prompt another begins with: all up to either's end, but for forgotten ones."""
    for start, text in enumerate(known):
        if texts and text == texts[0]:
            count = min(len(known) - start, len(texts))
            if known[start : start + count] == texts[:count]:
                return range(start, start + count)
    return None


def _places(said: Sequence[Exchange]) -> list[int]:
    return [place for place, exchange in enumerate(said) if exchange.is_of_user]


def _steps_after(said: Sequence[Exchange], words: Sequence[int]) -> list[int]:
    """For each word of the user how often the agent was at work, and the user spoke again, after it."""
    steps = [0] * len(words)
    for place in range(len(words) - 2, -1, -1):
        between = said[words[place] + 1 : words[place + 1]]
        steps[place] = steps[place + 1] + any([exchange.is_of_agent for exchange in between])
    return steps


def _continued(texts: tuple[str, ...], known: Sequence[_KnownPrompt]) -> tuple[int, ...]:
    """The turns of the words with which these begin and that a thread known shows, too; none where none does."""
    best: tuple[int, ...] = ()
    for thread in reversed(known):
        shared = words_shared(thread.texts, texts)
        if shared is not None and len(shared) > len(best):
            best = thread.turns[shared.start : shared.stop]
    return best


def _remember(thread: _KnownPrompt, known: list[_KnownPrompt]) -> None:
    """Keep a thread in the place of the one that it continues."""
    for place, other in enumerate(known):
        if thread.texts[: len(other.texts)] == other.texts and thread.turns[: len(other.turns)] == other.turns:
            del known[place]
            break
    known.append(thread)
    del known[:-_MOST_THREADS]


def _spread(turns: tuple[int, ...], words: Sequence[int], length: int) -> list[int]:
    """The turns of all messages, by those of the user's words: what follows a word is of its turn."""
    found = [max(turns[0] - 1, BEFORE)] * words[0]
    for place, start in enumerate(words):
        end = words[place + 1] if place + 1 < len(words) else length
        found += [turns[place]] * (end - start)
    return found
