"""Steps of an expected path as people write them: calls, and the six words that group them."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from rightcall.errors import CriteriaError, meant_word, nearest, shown
from rightcall.judging.core import ExpectedCall, UserModel

Word: TypeAlias = Literal["any_order", "at_once", "optional", "one_of", "repeat", "steps"]
WORDS: tuple[str, ...] = ("any_order", "at_once", "optional", "one_of", "repeat", "steps")
"""The words that begin a step that is not a call."""
_BESIDE: dict[str, tuple[str, ...]] = {"repeat": ("at_least", "at_most"), "steps": ("agent",)}
"""The keys that are allowed beside a word."""
_OF_CALLS = ("name", "args", "output", "status", "agent", "turn")
_PLAIN = frozenset({"name", "args"})
_MOST_ROUNDS = 1_000
_DEEPEST = 20
_NO_ORDER = "calls made at once have no order; put the sequence into any_order"

Place: TypeAlias = Any
"""A path in what was written, as the checks of models pass it: `(the path around it, key or index)`."""
Mistakes: TypeAlias = list[tuple[tuple[str | int, ...], str]]


class StepGroup(UserModel):
    """Several steps under one of the six words."""

    word: Word
    items: tuple[Any, ...]
    at_least: int = 1
    at_most: int | None = None
    agent: str | None = None
    """The agent that makes all calls in it, unless a step in it names another."""
    is_list: bool = False
    """Whether it is written as a list, without a word."""

    def dumped(self) -> Any:
        """Return the step as people write it."""
        items = self.items
        if self.is_list:
            return items
        written: dict[str, Any] = {self.word: items[0] if self.word in ("optional", "repeat") else items}
        given = {"at_least": self.at_least, "at_most": self.at_most, "agent": self.agent}
        return written | {key: given[key] for key in _BESIDE.get(self.word, ()) if given[key] is not None}


Step: TypeAlias = ExpectedCall | StepGroup


class WrittenStep:
    """A step in any form in which people write it, for the annotation of a key."""

    @classmethod
    def check_value(cls, value: Any, place: Place, mistakes: Mistakes) -> Any:
        """Return the step that was written."""
        # Nearly all steps are calls like these, and need no check for words: that saves a fifth of reading a list.
        if value.__class__ is dict and value.keys() <= _PLAIN and value.get("name").__class__ is str:
            return ExpectedCall.check_value(value, place, mistakes)
        return _Reading(mistakes).step(value, place, 1)


def names_to_miss(steps: Sequence[Any], *, may_miss: bool = False) -> Iterator[tuple[str, bool]]:
    """Yield the name of each call, and whether a typo in it goes unnoticed, because the path can be taken without it.

    In `one_of` it does not: one alternative is taken, and the others are missing in the trace for that reason alone.
    """
    for step in steps:
        if not isinstance(step, StepGroup):
            yield step.name, may_miss
            continue
        never_needed = step.word == "optional" or (step.word == "repeat" and step.at_least == 0)
        yield from names_to_miss(step.items, may_miss=may_miss or never_needed)


def placed_calls(steps: Sequence[Any], where: str) -> Iterator[tuple[str, ExpectedCall]]:
    """Yield the calls in steps, in the order they are written, each with its path: `expected[1].any_order[0]`."""
    for index, step in enumerate(steps):
        path = f"{where}[{index}]"
        if step.__class__ is ExpectedCall:
            yield path, step
        else:
            yield from _placed(step, path)


def _placed(step: Any, path: str) -> Iterator[tuple[str, ExpectedCall]]:
    if not isinstance(step, StepGroup):
        yield path, step
    elif step.word in ("optional", "repeat"):
        yield from _placed(step.items[0], f"{path}.{step.word}")
    else:
        yield from placed_calls(step.items, path if step.is_list else f"{path}.{step.word}")


class _Reading:
    """Reads steps. A mistake is noted with its path, and reading continues."""

    def __init__(self, mistakes: Mistakes) -> None:
        self._mistakes = mistakes

    def step(self, value: Any, place: Place, depth: int) -> Any:
        if isinstance(value, (ExpectedCall, StepGroup)):
            return value
        if depth > _DEEPEST:
            return self._wrong(place, f"steps are nested more than {_DEEPEST} deep")
        if isinstance(value, str):
            return self._call({"name": value}, place)
        if isinstance(value, (list, tuple)):
            return StepGroup(word="steps", items=self._items(value, place, depth), is_list=True)
        if not isinstance(value, dict):
            return self._wrong(place, f"a step is a name, an object or a list, not {shown(value)}")
        return self._object(value, place, depth)

    def _object(self, value: dict[Any, Any], place: Place, depth: int) -> Any:
        words = {_snake(key): key for key in value if _snake(key) in WORDS}
        if isinstance(value.get("name"), str):
            return (
                self._wrong(place, _beside_a_call(value, next(iter(words.values()))))
                if words
                else self._call(value, place)
            )
        if len(words) > 1:
            first, second = list(words)[:2]
            return self._wrong(
                place, f"{first!r} and {second!r} in one step; put one into the other: {{{first}: {{{second}: …}}}}"
            )
        if words:
            [(word, key)] = words.items()
            return self._group(word, key, value, place, depth)
        return self._short_call(value, place)

    def _short_call(self, value: dict[Any, Any], place: Place) -> Any:
        """Return a call that is written as its name, followed by its arguments."""
        if problem := _misplaced(value):
            return self._wrong(place, problem)
        if value.keys() & {"args", "output"} and "name" not in value:
            return ExpectedCall.check_value(value, place, self._mistakes)
        if len(value) != 1:
            return self._wrong(place, f"a call is a name or an object with one key, its name, not {shown(value)}")
        [(name, args)] = value.items()
        if not isinstance(args, dict) and (problem := _not_a_step(name, args)):
            return self._wrong((place, name), problem)
        return self._call({"name": name, "args": args}, place)

    def _call(self, value: dict[str, Any], place: Place) -> Any:
        if "nth" in value:
            return self._wrong(
                (place, "nth"),
                "'nth' has no place in a list of calls: which one is meant follows from its place in the list",
            )
        if bound := next((key for key in value if _snake(key) in _BESIDE["repeat"]), None):
            return self._wrong((place, bound), _not_beside("a call", bound, ()))
        for key in [key for key in value if key not in _OF_CALLS and isinstance(key, str)]:
            if not meant_word(key, _OF_CALLS) and (word := meant_word(key, WORDS)):
                return self._wrong((place, key), f"{shown(key)} is not part of a call; put it into {{{word}: …}}")
        return ExpectedCall.check_value(value, place, self._mistakes)

    def _group(self, word: str, key: str, value: dict[Any, Any], place: Place, depth: int) -> Any:
        beside = {_snake(other): (other, item) for other, item in value.items() if other != key}
        allowed = _BESIDE.get(word, ())
        for name, (written, _) in beside.items():
            if name not in allowed:
                return self._wrong((place, written), _not_beside(word, written, allowed))
        inside = value[key]
        if word in ("optional", "repeat"):
            items = (self.step(inside, (place, key), depth + 1),)
        elif isinstance(inside, (list, tuple)):
            items = self._items(inside, (place, key), depth)
        else:
            return self._wrong((place, key), f"{word} takes a list of steps, not {shown(inside)}")
        if word == "at_once":
            self._check_at_once(items, (place, key))
        settings = self._settings(beside, place)
        return None if settings is None else StepGroup(word=word, items=items, **settings)  # type: ignore[arg-type]

    def _items(self, values: Sequence[Any], place: Place, depth: int) -> tuple[Any, ...]:
        if not values:
            self._wrong(place, "is empty; a group has at least one step")
        return tuple([self.step(item, (place, index), depth + 1) for index, item in enumerate(values)])

    def _settings(self, beside: Mapping[str, tuple[str, Any]], place: Place) -> dict[str, Any] | None:
        """Return the values beside a word, checked together; `None` if one of them is wrong."""
        settings = {name: item for name, (_, item) in beside.items()}
        count = len(self._mistakes)
        if "agent" in settings and (not isinstance(settings["agent"], str) or "*" in settings["agent"]):
            self._wrong((place, "agent"), f"an agent's whole name is expected, not {shown(settings['agent'])}")
        for name, least in (("at_least", 0), ("at_most", 1)):
            number = settings.get(name, least)
            if isinstance(number, bool) or not isinstance(number, int) or not least <= number <= _MOST_ROUNDS:
                self._wrong(
                    (place, name), f"a whole number from {least} to {_MOST_ROUNDS:,} is expected, not {shown(number)}"
                )
        if len(self._mistakes) > count:
            return None
        if "at_most" in settings and settings["at_most"] < settings.get("at_least", 1):
            self._wrong(
                (place, "at_most"), f"{settings['at_most']} is less than at_least, {settings.get('at_least', 1)}"
            )
        return settings

    def _check_at_once(self, items: Sequence[Any], place: Place) -> None:
        for index, item in enumerate(items):
            if isinstance(item, StepGroup) and not _is_call_like(item):
                self._wrong((place, index), _NO_ORDER)

    def _wrong(self, place: Place, problem: str) -> None:
        steps: list[str | int] = []
        while place is not None:
            place, step = place
            steps.append(step)
        steps.reverse()
        text = "".join([f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps]).lstrip(".")[:200]
        separator = " " if problem.startswith("is empty") else ": "
        self._mistakes.append((tuple(steps), f"{text}{separator}{problem}" if text else problem))


def _snake(key: Any) -> str:
    """Return a key in snake_case: `any-order` and `anyOrder` are understood, too."""
    if not isinstance(key, str):
        return ""
    return (
        re.sub(r"(?<=[a-z])([A-Z])", r"_\1", key).lower().replace("-", "_") if not key.islower() or "-" in key else key
    )


def _is_call_like(group: StepGroup) -> bool:
    """Return whether a group is a single call, which may be chosen, left out or repeated."""
    if group.word not in ("optional", "one_of", "repeat") and len(group.items) > 1:
        return False
    return all([not isinstance(item, StepGroup) or _is_call_like(item) for item in group.items])


def _beside_a_call(value: Mapping[Any, Any], word: Any) -> str:
    call = {key: item for key, item in value.items() if key != word}
    return f"{word!r} goes around a call: {{{word}: {shown(call)}}}, not beside its name"


def _misplaced(value: Mapping[Any, Any]) -> str:
    """Say what to write if a matcher, or another value, is in the place of a name; nothing if neither is."""
    matcher = next((key for key in value if isinstance(key, str) and key.startswith("$")), "")
    name = value.get("name")
    if matcher:
        return (
            f"{shown(matcher)} is a matcher, and a call begins with the name of its tool; for one of several use one_of"
        )
    if isinstance(name, dict) and len(value) == 1 and not any([str(key).startswith("$") for key in name]):
        return ""  # a tool that is called `name`
    return "" if name is None else f"'name' is the name of a tool, not {shown(name)}; for one of several use one_of"


def _near_word(name: Any) -> str:
    """Return the word that a name is probably meant to be; nothing if it is like none."""
    if meant := meant_word(str(name), WORDS):
        return meant
    return next(iter(difflib.get_close_matches(_snake(name)[:100], WORDS)), "")


def _not_a_step(name: Any, inside: Any) -> str:
    """Say what to write instead of a key that is not followed by arguments; nothing if that is not known."""
    if _snake(name) in ("never", "not") or meant_word(str(name), ("never",)):
        return f"{shown(name)} is not a step; what must not be called is 'never', beside 'calls'"
    if word := _near_word(name):
        return f"unknown word {shown(name)}; did you mean {word!r}?"
    if isinstance(inside, str) and meant_word(str(name), _OF_CALLS) == "name":
        return f"unknown key {shown(name)}; did you mean 'name'? The name alone will do: {inside[:80]}"
    if isinstance(inside, (list, tuple)):
        return f"unknown word {shown(name)}; a group is one of {', '.join(WORDS)}"
    return ""


def _not_beside(word: str, key: Any, allowed: Sequence[str]) -> str:
    name = _snake(key)
    owner = next((owner for owner, keys in _BESIDE.items() if name in keys), None)
    if owner is not None:
        return f"{name!r} belongs to {owner!r}, not to {word}"
    if name in _OF_CALLS:
        return f"{name!r} belongs to a call: put it into a step of {word!r}"
    return f"unknown key {shown(key)} beside {word!r}; {nearest(name, [*allowed, *WORDS])}"


def read_steps(value: Any) -> list[Any]:
    """Return a list of steps as it is written: the criteria read every form of a step themselves.

    Raises:
        CriteriaError: it is not a list.
    """
    if not isinstance(value, (list, tuple)):
        raise CriteriaError(f"a list of calls is expected, not {shown(value)}{_as_list(value)}")
    return [_spelt_out(item) for item in value]


def _as_list(value: Any) -> str:
    """Suggest how to write a value as a list."""
    if isinstance(value, str):
        return f"; write [{value[:80]}]"
    if not isinstance(value, dict) or not value:
        return ""
    key = next(iter(value))
    if meant_word(str(key), ("expected",)) and isinstance(value[key], (list, tuple)) and _snake(key) != "steps":
        return f"; did you mean 'expected' instead of {shown(key)}?"
    return f"; write [{{{key}: …}}]" if len(value) == 1 or _snake(key) in WORDS else ""


def _spelt_out(item: Any) -> Any:
    """Return a call that is written as its name, followed by its arguments, as an object with `name` and `args`."""
    if not isinstance(item, dict) or len(item) != 1:
        return item
    [(name, args)] = item.items()
    is_call = (
        _snake(name) not in WORDS and not _misplaced(item) and (isinstance(args, dict) or not _not_a_step(name, args))
    )
    return {"name": name, "args": args} if is_call else item
