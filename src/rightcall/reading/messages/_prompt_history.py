"""Find the turn of each message of a prompt: the one place that separates history from what is new."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import takewhile

import msgspec

from ._message_exchange import Exchange

BEFORE = -1
"""The turn of messages from before the run."""

_MOST_PROMPTS = 64  # prompts kept per context; each new one is compared with all of them


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
        said: Sequence[Exchange],
        turn: int,
        context: Hashable = None,
        asked: str | None = None,
        answer: Sequence[Exchange] = (),
    ) -> list[int]:
        """Return the turn of each message of a prompt, in order.

        Args:
            said: The messages.
            turn: The turn of the prompt.
            context: The call inside which the conversation was held.
            asked: What the user asked in this turn, if known.
            answer: What the model answered, which later prompts repeat after these messages.
        """
        words = _places(said)
        if not words:
            return self._turns_without_words(said, turn, context, answer)
        texts = tuple([said[place].text for place in words])
        known = self._known.setdefault(context, [])
        if known and known[-1].texts == texts:
            turns = known[-1].turns  # most prompts of a run: the agent worked, and the user wrote nothing more
        else:
            turns = _turns_of_words(texts, _steps_after(said, words), turn, known, asked, context is not None)
        if turns[-1] < turn and words[-1] == len(said) - 1:
            turns = (*turns[:-1], turn)  # asked again in the same words: nothing was said since
        _remember(_KnownPrompt(texts, turns), known)
        return _spread(turns, words, len(said))

    def turn_of(self, said: Sequence[Exchange], otherwise: int, context: Hashable = None) -> int:
        """Return the turn of a prompt whose time is lost: that in which the last text of the user in it was known."""
        texts = words_of(said)
        found = _continued(texts, self._known.get(context, ()))
        return found[-1] if found and len(found) == len(texts) else otherwise

    def remember(self, said: Sequence[Exchange], turns: Sequence[int | None]) -> None:
        """Remember a conversation whose turns are known."""
        words = _places(said)
        if words:
            known = self._known.setdefault(None, [])
            _remember(_KnownPrompt(words_of(said), tuple([turns[place] or 0 for place in words])), known)

    def is_known(self, context: Hashable) -> bool:
        """Whether a prompt of this context was seen."""
        return bool(self._known.get(context) or self._wordless.get(context))

    def _turns_without_words(
        self, said: Sequence[Exchange], turn: int, context: Hashable, answer: Sequence[Exchange]
    ) -> list[int]:
        """Return the turns of a prompt without texts of the user, by the known prompt with the longest common start."""
        known = self._wordless.setdefault(context, [])
        best: list[int] = []
        for others, turns in known:
            count = _count_shared(others, said)
            best = turns[:count] if count > len(best) else best
        found = [*best, *[turn] * (len(said) - len(best))]
        known.append(((*said, *answer), [*found, *[turn] * len(answer)]))
        del known[:-_MOST_PROMPTS]
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
    # If earlier turns had other conversations, the beginning of this one is from none of them; and the beginning of a
    # conversation inside a call is older than the call.
    earliest = turn if known or is_inner else 0
    turns = [turn - max(step - since, 0) for step in steps]
    return tuple([each if each >= earliest else BEFORE for each in turns])


def turns_in_log(said: Sequence[Exchange], asked: str | None = None) -> list[int | None]:
    """Return the turn of each message of a log that is a whole conversation: a text of the user begins a turn.

    Messages before the first such text have no turn. If it is known what was `asked` first, texts before it are from
    before the run.
    """
    words = _places(said)
    if not words:
        return [None] * len(said)
    steps = _steps_after(said, words)
    first = max([place for place, word in enumerate(words) if said[word].text == asked], default=0)
    turns = tuple([max(steps[first] - step, BEFORE) for step in steps])
    return [None if place < words[0] else turn for place, turn in enumerate(_spread(turns, words, len(said)))]


def falls_silent(said: Sequence[Exchange]) -> bool:
    """Whether a message after the agent's work may or may not be a question of the user.

    It is the user's and has no content, not even an empty text; or it does not say whose it is.
    """
    is_at_work = False
    for exchange in said:
        if exchange.calls or exchange.results:
            is_at_work = True
        elif not is_at_work:
            is_at_work = exchange.is_of_agent
        elif exchange.is_silent or exchange.is_anonymous:
            return True
    return False


def doubtful_places(
    said: Sequence[Exchange], turns: Sequence[int], models_tell: bool, is_first: bool
) -> frozenset[int]:
    """Return the calls that may be of this run though they look older: those that no answer to the user followed.

    Frameworks also write as the user, to make a model try again. Then earlier model spans show that the run had begun;
    if those are missing, or only the agent's span is left, nothing does. And nothing shows the age of calls in the very
    first prompt if it has no text of the user.
    """
    if is_first and not any([exchange.is_of_user for exchange in said]):
        return frozenset(range(len(said)))
    older = [place for place, turn in enumerate(turns) if turn == BEFORE and said[place].calls]
    if not older:
        return frozenset()
    found = []
    is_answered = False
    for place in range(len(said) - 1, older[0] - 1, -1):
        exchange = said[place]
        if exchange.is_of_user:
            is_answered = False
        elif exchange.is_of_agent and not exchange.calls and not exchange.results:
            is_answered = True
        if exchange.calls and turns[place] == BEFORE and not (is_answered and models_tell):
            found.append(place)
    return frozenset(found)


def words_of(said: Iterable[Exchange]) -> tuple[str, ...]:
    """Return the texts of the user in messages."""
    return tuple([exchange.text for exchange in said if exchange.is_of_user])


def words_shared(known: tuple[str, ...], texts: tuple[str, ...]) -> range | None:
    """Return which texts of a known prompt another one begins with, up to the end of either; None if it does not.

    The other one may have lost texts at its beginning.
    """
    for start, text in enumerate(known):
        if texts and text == texts[0]:
            count = min(len(known) - start, len(texts))
            if known[start : start + count] == texts[:count]:
                return range(start, start + count)
    return None


def _places(said: Sequence[Exchange]) -> list[int]:
    return [place for place, exchange in enumerate(said) if exchange.is_of_user]


def _steps_after(said: Sequence[Exchange], words: Sequence[int]) -> list[int]:
    """For each text of the user, count how often the agent worked and the user wrote again after it."""
    steps = [0] * len(words)
    for place in range(len(words) - 2, -1, -1):
        between = said[words[place] + 1 : words[place + 1]]
        steps[place] = steps[place + 1] + any([exchange.is_of_agent for exchange in between])
    return steps


def _continued(texts: tuple[str, ...], known: Sequence[_KnownPrompt]) -> tuple[int, ...]:
    """Return the turns of the texts that a known prompt has, too, at the beginning of these."""
    best: tuple[int, ...] = ()
    # The newest prompt first: of equally long matches it wins.
    for prompt in reversed(known):
        shared = words_shared(prompt.texts, texts)
        if shared is not None and len(shared) > len(best):
            best = prompt.turns[shared.start : shared.stop]
    return best


def _remember(prompt: _KnownPrompt, known: list[_KnownPrompt]) -> None:
    """Remember a prompt, instead of the one that it continues."""
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
