"""Where a value comes from: `$from` checks whether the agent had seen a value, by an index of what it had seen."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, Literal, TypeAlias, TypeVar

import msgspec

from rightcall.errors import ExpectationError, InputError, LimitError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits, current_budget, spend
from rightcall.values.decoding import decode_json, decode_text
from rightcall.values.results import value_text
from rightcall.values.trajectory import Clock, ToolCall, Trajectory

from ._equality import canonical
from ._expectations import SOURCES, CallMoment, Compiler, Expectation, is_matcher
from ._names import tool_names
from ._operators import Matcher, Operand, is_number

ANYWHERE = "anywhere"
_PARTS = ("output", "args", "input")
_TRIED = 16
"""Places to check per step of the budget."""
_WORD = re.compile(r"[^\W_]+")
_REST_OF_WORD = re.compile(r"[^\W_]*")
_BETWEEN = "\x00"
"""Separates strings that are searched together."""
_SCANS = 24
"""After this many searches through all strings, an index of their words is cheaper."""
_INDEXED = 8_000_000
"""Most characters of text to index by words. More would take too much memory."""
_FIRST = 8
"""How many of a string's words are used to look it up in the index."""
_READ, _SCANNED, _TRIED_PATHS, _LISTED = 256, 2048, 16, 16
"""Work per step of the budget: characters decoded, characters searched, places tried, and characters split into
words. Indexing one value takes one step."""
_MOST_SHOWN = 3
KeyT = TypeVar("KeyT", str, str | bytes)
_STEP = re.compile(
    r"""\.\.(?P<below>[^.\[\]*\s"']+)
    | \.(?P<key>[^.\[\]*\s"']+)
    | \[\s*"(?P<double>[^"]*)"\s*\] | \[\s*'(?P<single>[^']*)'\s*\]
    | \[\s*(?P<index>[0-9]{1,9})\s*\]
    | (?P<every>\[\s*\*\s*\] | \.\*)""",
    re.VERBOSE,
)
Step: TypeAlias = tuple[Literal["key", "index", "every", "below"], Any]


class Source(msgspec.Struct, frozen=True):
    """Where a value should come from: a part of earlier calls of a tool, the input of the run, or anywhere."""

    tool: str | None
    """The name of the tool, which may contain `*`; `None` for the input, or anywhere."""
    part: Literal["output", "args", "input", "anywhere"]
    path: ValuePath | None = None

    @property
    def phrase(self) -> str:
        """The end of a sentence about a value that was not found at this source."""
        at = "" if self.path is None or self.path.written == "$" else f" at {self.path.written}"
        if self.part == "anywhere":
            return "is in no output before it and not in the input"
        if self.part == "input":
            return f"is not in the input{at}"
        part = "output" if self.part == "output" else "arguments"
        return f"is in no {part} of `{self.tool}` before it{at}"


def source_of(operand: Operand) -> Source:
    """Parse the operand of `$from`.

    Raises:
        ExpectationError: it is not a source.
    """
    written, where = operand.value, operand.where
    if written == ANYWHERE:
        return Source(None, "anywhere")
    if isinstance(written, str):
        return Source(_tool(written, where), "output")
    if not isinstance(written, dict):
        wanted = "the name of a tool, 'anywhere', or an object such as {call: search, output: $.id}"
        raise operand.wrong(wanted, written)
    for key in written:
        if key not in ("call", *_PARTS):
            raise ExpectationError(f"{where}: unknown key {shown(key)}; {nearest(str(key), ('call', *_PARTS))}")
    parts = [part for part in _PARTS if part in written]
    if len(parts) > 1:
        raise ExpectationError(f"{where} takes one of {', '.join(_PARTS)}, not {' and '.join(parts)}")
    if ("call" in written) == (parts == ["input"]):
        missing = "'call' names the tool; without it, 'input' is what the run was given"
        raise ExpectationError(f"{where}: {missing}, not {shown(written)}")
    path = ValuePath.of(written[parts[0]], f"{where}.{parts[0]}", operand.compiler.limits) if parts else None
    if parts == ["input"]:
        return Source(None, "input", path)
    part: Literal["output", "args"] = "args" if parts == ["args"] else "output"
    return Source(_tool(written["call"], f"{where}.call"), part, path)


def _tool(name: Any, where: str) -> str:
    if not isinstance(name, str) or not name:
        raise ExpectationError(f"{where} takes the name of a tool, not {shown(name)}")
    return name


class FromSource(Expectation):
    """A value that was seen at a source before the call. What had been seen depends on the call's moment."""

    __slots__ = ("source",)

    needs_moment = True

    def __init__(self, source: Source) -> None:
        self.source = source

    def matches(self, actual: Any) -> bool:
        raise TypeError("where a value comes from is not known without the moment of its call")

    def at(self, moment: CallMoment) -> Expectation:
        def test(actual: Any) -> bool:
            seen = history_of(moment.trajectory).has_seen(self.source, actual, moment.position)
            return seen is True or (seen is None and not moment.surely)

        return Matcher(test)


def history_of(trajectory: Trajectory) -> History:
    """Return the history of a run, cached on its trajectory."""
    # Cached in `__dict__`, as `cached_property` does: a trajectory never changes.
    kept = trajectory.__dict__
    found: History | None = kept.get("_history")
    return found if found is not None else kept.setdefault("_history", History(trajectory))


def seen_before(trajectory: Trajectory, position: int, value: Any, tool: str | None) -> bool:
    """Return whether the agent had surely seen a value before a call: in an output of a tool, or anywhere."""
    source = Source(None, "anywhere") if tool is None else Source(tool, "output")
    try:
        with Budget():
            return history_of(trajectory).has_seen(source, value, position) is True
    except LimitError:  # too expensive to find out, so nothing is claimed
        return False


class History:
    """What the agent of one run had seen by each of its calls: earlier outputs, and inputs."""

    def __init__(self, trajectory: Trajectory) -> None:
        self._run = trajectory
        self._calls = trajectory.calls
        self._unordered = sorted(trajectory.unordered)
        self._clock = Clock(trajectory)
        self._shelves: dict[Source, tuple[Shelf, list[int]]] = {}

    def has_seen(self, source: Source, value: Any, position: int) -> bool | None:
        """Return whether a value was seen at a source before the call at `position`; `None` if unknown.

        Raises:
            LimitError: the search takes more steps than the budget has left.
        """
        if source.path is not None:
            return self._has_seen(source, value, position)
        leaves = leaves_of(value)
        spend(1 + len(leaves) // 4)
        answers = {self._has_seen(source, leaf, position) for leaf in leaves}
        return False if False in answers else None if None in answers else True

    def unseen(self, source: Source, value: Any, position: int) -> Any:
        """Return the first part of a value that was surely not seen; the value itself if it is compared as a whole."""
        if source.path is not None:
            return value
        return next((leaf for leaf in leaves_of(value) if self._has_seen(source, leaf, position) is False), value)

    def sample(self, source: Source, position: int) -> tuple[int, list[str]]:
        """Count the different values surely seen at a source before a call, and return the first of them as text."""
        shelves = [self._shelf(each) for each in _single(source)]
        counted = [
            shelf.sample(lambda number, each=each: self._is_earlier(each, number, position) is True)  # type: ignore[misc]
            for each, (shelf, _) in zip(_single(source), shelves, strict=True)
        ]
        return sum([count for count, _ in counted]), [text for _, texts in counted for text in texts][:3]

    def _has_seen(self, source: Source, value: Any, position: int) -> bool | None:
        known = True
        for each in _single(source):
            shelf, unrecorded = self._shelf(each)
            for holders in shelf.holders(value):
                earlier = self._earlier(each, holders, position)
                if earlier is True:
                    return True
                known = known and earlier is False
            known = known and self._earlier(each, unrecorded, position) is False
        return False if known and (source.part == "input" or self._run.calls_recorded) else None

    def _earlier(self, source: Source, numbers: list[int], position: int) -> bool | None:
        """Return whether any of several places was seen before the call; `None` if one only may have been."""
        answer: bool | None = False
        for tried, number in enumerate(numbers):
            if tried % _TRIED == 0:
                spend(1)
            earlier = self._is_earlier(source, number, position)
            if earlier is True:
                return True
            answer = answer if earlier is False else None
        return answer

    def _is_earlier(self, source: Source, number: int, position: int) -> bool | None:
        if source.part == "input":
            turn = self._calls[position].turn
            return True if number == 0 else None if turn is None else number <= turn
        return self._had_ended(number, position)

    def _had_ended(self, earlier: int, position: int) -> bool | None:
        """Return whether the result of one call was available when another was made."""
        first, second = self._calls[earlier], self._calls[position]
        if earlier == position or (first.group is not None and first.group == second.group):
            return False
        if self._clock.made(earlier, position):
            return False
        if self._is_unordered(earlier, position):
            return None
        if earlier > position:
            return False
        return first.end_ns is None or second.start_ns is None or first.end_ns <= second.start_ns

    def _is_unordered(self, one: int, other: int) -> bool:
        low, high = min(one, other), max(one, other)
        place = bisect_right(self._unordered, (low, len(self._calls)))
        return place > 0 and high < self._unordered[place - 1][1]

    def _shelf(self, source: Source) -> tuple[Shelf, list[int]]:
        """Return an index of what was seen at a source, and the numbers of entries that were not recorded."""
        found = self._shelves.get(source)
        if found is None:
            entries = list(self._inputs() if source.part == "input" else self._parts(source))
            shelf = Shelf([(number, value) for number, value in entries if value is not _UNRECORDED], source.path)
            found = shelf, [number for number, value in entries if value is _UNRECORDED]
            self._shelves[source] = found
        return found

    def calls_of(self, tool: str | None, end: int) -> Iterator[tuple[int, ToolCall]]:
        """Yield the calls of a tool before a position, each with its own position; of all tools if `tool` is None."""
        names = None if tool is None else tool_names([tool])
        for position, call in enumerate(self._calls[:end]):
            if names is None or call.name in names:
                yield position, call

    def _parts(self, source: Source) -> Iterator[tuple[int, Any]]:
        for position, call in self.calls_of(source.tool, len(self._calls)):
            yield from [(position, value) for value in _part_of(call, source.part)]

    def _inputs(self) -> Iterator[tuple[int, Any]]:
        """Yield the input of the run as number 0, and the input of each turn by its number."""
        run = self._run
        if run.input is None and not run.turn_inputs:
            yield 0, _UNRECORDED
        if run.input is not None:
            yield 0, run.input
        yield from ((turn, _UNRECORDED if given is None else given) for turn, given in enumerate(run.turn_inputs))


_UNRECORDED = object()


def _single(source: Source) -> tuple[Source, ...]:
    """Split a source into its single sources: `anywhere` is outputs and inputs."""
    return _EVERYWHERE if source.part == "anywhere" else (source,)


_EVERYWHERE = (Source(None, "output"), Source(None, "input"))


def _part_of(call: ToolCall, part: str) -> list[Any]:
    """Return the output or the arguments of a call in a list; empty if the call failed without an output."""
    if part == "args":
        return [_UNRECORDED if call.args is None and "args" in call.unrecorded else call.args]
    if call.output is not None or "output" not in call.unrecorded:
        return [] if call.output is None and call.error is not None else [call.output]
    return [] if call.error is not None else [_UNRECORDED]


_MOST = 20


class MadeUp(msgspec.Struct, frozen=True):
    """An argument that was not seen at its source before."""

    argument: str
    """The path of the argument: `id`, `seats[0]`."""
    value: Any
    """The value that was not seen: the argument, or the first such value inside it."""
    source: Source
    seen: int
    """The number of different values seen at the source before the call."""
    examples: tuple[str, ...]
    """The first of these values as text."""
    was_called: bool = True
    """Whether the source's tool was called before. If not, its name may be misspelt."""

    def __str__(self) -> str:
        text = f"{self.argument} {value_text(self.value, 60)} {self.source.phrase}"
        if not self.was_called:
            return f"{text} (no call of it came before)"
        if not self.seen:
            return f"{text} (nothing there)"
        more = ", …" if self.seen > len(self.examples) else ""
        return f"{text} ({self.seen:,} value{'s' * (self.seen > 1)} there: {', '.join(self.examples)}{more})"


def made_up_values(expected: Any, call: ToolCall, moment: CallMoment | None) -> tuple[MadeUp, ...]:
    """Return the arguments of a call that surely do not come from their expected sources, at most 20.

    Those inside another matcher, such as `$anyOf`, are not reported: they are one alternative of several.
    """
    if moment is None or call.args is None:
        return ()
    found: list[MadeUp] = []
    with Budget():
        try:
            for path, source, value in _asked(expected, call.args, ""):
                if (
                    len(found) < _MOST
                    and history_of(moment.trajectory).has_seen(source, value, moment.position) is False
                ):
                    found.append(_made_up(path, source, value, moment))
        except LimitError:
            pass  # The verdict is already known, so an explanation that is too expensive is shortened.
    return tuple(found)


def _made_up(path: str, source: Source, value: Any, moment: CallMoment) -> MadeUp:
    history = history_of(moment.trajectory)
    seen, examples = history.sample(source, moment.position)
    was_called = source.tool is None or any(True for _ in history.calls_of(source.tool, moment.position))
    return MadeUp(path, history.unseen(source, value, moment.position), source, seen, tuple(examples), was_called)


def _asked(expected: Any, actual: Any, path: str) -> Iterator[tuple[str, Source, Any]]:
    """Yield every `$from` in the expected arguments: its path, its source, and the actual value there."""
    if is_matcher(expected):
        if "$from" in expected:
            operand = Operand(expected["$from"], "$from", Compiler(DEFAULT_LIMITS, SOURCES))
            yield path or "the arguments", source_of(operand), actual
    elif isinstance(expected, dict) and isinstance(actual, dict):
        for key, item in expected.items():
            if key in actual:
                yield from _asked(item, actual[key], f"{path}.{key}" if path else key)
    elif isinstance(expected, list) and isinstance(actual, list):
        for index, (item, value) in enumerate(zip(expected, actual, strict=False)):
            yield from _asked(item, value, f"{path}[{index}]")


class Shelf:
    """An index of values by the number of the call or input in which each was seen, in ascending order.

    With a path, the values at that path are indexed, as a whole. Without, every leaf value is and, for strings and
    numbers, every place in a string where they occur as a whole word.
    """

    def __init__(self, entries: Iterable[tuple[int, Any]], path: ValuePath | None = None) -> None:
        self._path = path
        self._equal: dict[str | bytes, list[int]] = {}
        self._texts: dict[str, list[int]] = {}
        self._values: dict[str | bytes, Any] = {}
        self._found: dict[str, list[int]] = {}
        self._words: dict[str, list[int]] | None = None
        self._scans = 0
        read: dict[str, Any] = {}
        for number, value in entries:
            self._put(number, _read(value, path is not None, read))
        self._joined = list(self._texts)
        self._size = sum(map(len, self._joined))

    def holders(self, value: Any) -> Iterator[list[int]]:
        """Yield ascending lists of where a value was seen: first as an equal value, then as a word in a string.

        Without a path, the value must be a leaf.
        """
        yield self._equal.get(_key(value), [])
        if self._path is None and (isinstance(value, str) or is_number(value)):
            for text in _as_words(value):
                yield self._standing(text)

    def sample(self, counts: Callable[[int], bool]) -> tuple[int, list[str]]:
        """Count the different values seen at numbers for which `counts` is true, and return the first as text."""
        seen = [key for key, numbers in self._equal.items() if any(map(counts, numbers))]
        return len(seen), [value_text(self._values[key], 40) for key in seen[:_MOST_SHOWN]]

    def _put(self, number: int, value: Any) -> None:
        found = leaves_of(value) if self._path is None else self._path.values_in(value)
        spend(1 + len(found))
        for each in found:
            key = _key(each)
            self._values.setdefault(key, each)
            _note(self._equal, key, number)
        if self._path is None and (texts := [each for each in found if isinstance(each, str)]):
            _note(self._texts, texts[0] if len(texts) == 1 else _BETWEEN.join(texts), number)

    def _standing(self, needle: str) -> list[int]:
        """Return where a string occurs as a whole word."""
        if needle not in self._found:
            self._found[needle] = self._search(needle)
        return self._found[needle]

    def _search(self, needle: str) -> list[int]:
        # Any word narrows the search, so the first few are enough: a string may have a million.
        words = [found[0] for found in islice(_WORD.finditer(needle), _FIRST)]
        places: Sequence[int] = range(len(self._joined))
        if self._words is None and self._scans >= _SCANS and self._size <= _INDEXED:
            self._words = self._listed()
        if self._words is not None and words:
            places = min([self._words.get(word, []) for word in words], key=len)
        self._scans += 1
        # Strings are joined with a separator. If it is in the needle, split them, or a match could extend over two.
        apart = _BETWEEN in needle
        spend(1 + len(places) // _TRIED_PATHS + len(needle) // _SCANNED)
        found: set[int] = set()
        for place in places:
            text = self._joined[place]
            if any([_stands_in(needle, each) for each in (text.split(_BETWEEN) if apart else [text])]):
                found.update(self._texts[text])
        return sorted(found)

    def _listed(self) -> dict[str, list[int]]:
        spend(self._size // _LISTED)
        listed: dict[str, list[int]] = {}
        for place, text in enumerate(self._joined):
            for word in set(_WORD.findall(text)):
                listed.setdefault(word, []).append(place)
        return listed


def leaves_of(value: Any) -> list[Any]:
    """Return the leaf values inside a value, in order; of a plain value, itself."""
    found: list[Any] = []
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting.extend(reversed(each.values()))
        elif isinstance(each, (list, tuple)):
            waiting.extend(reversed(each))
        else:
            found.append(each)
    return found


def _stands_in(needle: str, text: str) -> bool:
    """Return whether a string contains another one with no letter or digit next to it."""
    spend(len(text) // _SCANNED)
    place, tries = text.find(needle), 0
    begins_word = needle[:1].isalnum()
    while place >= 0:
        end = place + len(needle)
        if not text[end : end + 1].isalnum() and not (place and text[place - 1].isalnum()):
            return True
        # Skip the rest of this word: a match inside it would not be a whole word.
        behind = _REST_OF_WORD.match(text, place).end() if begins_word else place + 1  # type: ignore[union-attr]
        place = text.find(needle, behind)
        tries += 1
        if tries % _TRIED_PATHS == 0:
            spend(1)
    return False


def _as_words(value: Any) -> list[str]:
    """Return a string, or the spellings of a number; nothing for an empty string, which occurs everywhere."""
    if isinstance(value, str):
        return [value] if value else []
    if isinstance(value, float) and value.is_integer():
        return [repr(value), str(int(value))]
    return [repr(value)]


def _key(value: Any) -> str | bytes:
    """Return a key that only equal values share. Strings are their own keys; those of other values are bytes."""
    if value.__class__ is str:
        return value
    if not isinstance(value, (dict, list)):
        return repr(int(value) if isinstance(value, float) and value.is_integer() else value).encode()
    return canonical(value, current_budget() or Budget()).encode(errors="surrogatepass")


def _note(index: dict[KeyT, list[int]], key: KeyT, number: int) -> None:
    numbers = index.setdefault(key, [])
    if not numbers or numbers[-1] != number:
        numbers.append(number)


def _read(value: Any, literals: bool, known: dict[str, Any]) -> Any:
    """Decode a string that is a JSON object or list or, with `literals`, a Python one; keep other values."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", "("):
        return value
    if value not in known:
        known[value] = _decoded(value, literals)
    return known[value]


def _decoded(text: str, literals: bool) -> Any:
    spend(1 + len(text) // _READ)
    try:
        value = decode_json(text)
    except InputError:
        if not literals:
            return text
        # `literal_eval` takes about a microsecond per character.
        spend(len(text) // 2)
        try:
            value = decode_text(text)
        except InputError:
            return text
    return value if isinstance(value, (dict, list)) else text


class ValuePath(msgspec.Struct, frozen=True):
    """A path that selects values inside a JSON value, such as `$.flights[*].id`."""

    written: str
    steps: tuple[Step, ...]

    @classmethod
    def of(cls, written: Any, where: str, limits: Limits) -> ValuePath:
        """Parse a path.

        Raises:
            ExpectationError: it is not a path, or too long.
        """
        if not isinstance(written, str) or not written.startswith("$"):
            raise ExpectationError(f"{where} takes a path such as $.flights[*].id, not {shown(written)}")
        if len(written) > limits.pattern_length:
            raise ExpectationError(f"{where}: a path of {len(written):,} characters; at most {limits.pattern_length:,}")
        steps: list[Step] = []
        place = 1
        while place < len(written):
            found = _STEP.match(written, place)
            if found is None:
                raise ExpectationError(
                    f"{where}: {shown(written[place:])} in the path {shown(written)} is not a step; "
                    'a step is .key, ["key"], [0], [*], .* or ..key'
                )
            steps.append(_step(found))
            place = found.end()
        return cls(written, tuple(steps))

    def values_in(self, value: Any) -> list[Any]:
        """Return the values at this path, in document order."""
        found = [value]
        for kind, wanted in self.steps:
            if kind == "below":
                found = list(_below(found, wanted))
            elif kind == "every":
                found = [item for each in found for item in _children(each)]
            elif kind == "key":
                found = [each[wanted] for each in found if isinstance(each, dict) and wanted in each]
            else:
                found = [each[wanted] for each in found if isinstance(each, list) and wanted < len(each)]
        return found


def _step(found: re.Match[str]) -> Step:
    if found["below"] is not None:
        return "below", found["below"]
    if found["index"] is not None:
        return "index", int(found["index"])
    if found["every"] is not None:
        return "every", None
    return "key", next(found[name] for name in ("key", "double", "single") if found[name] is not None)


def _below(starts: list[Any], key: Any) -> Iterator[Any]:
    """Yield the values of a key at any depth. Each part is walked once, even if one start is inside another."""
    seen: set[int] = set()
    waiting = list(reversed(starts))
    while waiting:
        value = waiting.pop()
        if not isinstance(value, (dict, list)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, dict) and key in value:
            yield value[key]
        waiting.extend(reversed(_children(value)))


def _children(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return list(value.values())
    return value if isinstance(value, list) else []
