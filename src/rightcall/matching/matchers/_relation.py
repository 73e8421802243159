"""Which actual calls satisfy which expected calls, and the values that `$bind` names in one call for others."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence, Set
from itertools import compress, product, repeat
from math import prod
from operator import attrgetter
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import ExpectationError, LimitError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits
from rightcall.matching.alignment import MarkedRow, Row, only_pairing
from rightcall.values.trajectory import ToolCall

from ._equality import canonical
from ._expectations import NAMES, CallColumns, MomentOf, is_matcher
from ._names import tool_names
from ._patterns import NOT_LITERAL, OutputReading, Pattern, Projection

Place: TypeAlias = tuple[str | int, ...]
"""The path, as keys and indices, from the arguments of a call to a value."""

Assignment: TypeAlias = Mapping[str, Any]
"""A value for each name; `NOTHING` for a name that no call can bind."""

NOTHING = object()


class Tests(msgspec.Struct, frozen=True, gc=False):
    """What to ask of a few calls."""

    by_name: dict[str, list[tuple[int, Any, Callable[[Any], Any] | None]]]
    """Of the calls of a tool: the index of each expected one, a value that is as expected, and the test of others; none
    if no other can be."""
    are_exclusive: bool
    """Whether no call can be as several of them expect."""
    readings: dict[str, OutputReading]
    """How strings are read before they are compared, by tool; not if each test reads them."""

    def read(self, name: str, output: str) -> Any:
        """Return a string that a tool returned in the form in which it is compared."""
        reading = self.readings.get(name)
        return output if reading is None else reading.of(output)


class Lookup(msgspec.Struct, frozen=True):
    """Expected calls of one tool that share one index of the actual calls, or that must be tried."""

    name: str
    projection: Projection | None
    numbers: list[int]
    """Their indices among the expected calls."""
    keys: list[Hashable]
    """The index key of each."""
    confusable: list[int]
    """Those that have to be tried on what the index finds, because Python confuses `1` and `true`."""

    trials: list[int]
    """Those that have to be tried on every call of the tool."""


class ExpectedCalls:
    """Expected calls in order.

    Most trajectories that pass begin with exactly the expected calls. If all expectations are literal, two comparisons
    of whole lists show that, and only values that Python confuses are compared one by one.
    """

    __slots__ = (
        "_confusable",
        "_literals",
        "_tests",
        "few",
        "length",
        "lookups",
        "name_counts",
        "name_set",
        "names",
        "names_only",
        "numbers_calls",
        "of_args",
        "part_of",
        "patterns",
        "places",
        "special",
        "spends",
        "starred",
        "tools",
        "walks",
    )

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self.patterns = patterns
        self.names = tuple([pattern.name for pattern in patterns])
        self.length = len("".join(self.names))
        """The characters of all names."""
        self.places: dict[str, list[int]] = {}
        """The indices of the expected calls of each name."""
        for number, name in enumerate(self.names):
            self.places.setdefault(name, []).append(number)
        self.name_counts = {name: len(numbers) for name, numbers in self.places.items()}
        """The number of expected calls by name."""
        self.name_set = frozenset(self.name_counts)
        # The name `*` does not name any tool: internal calls of a framework count only if they are named.
        named = [pattern.name for pattern in patterns if not pattern.takes_every_name]
        self.tools: Set[str] = tool_names(named) if any(["*" in name for name in named]) else self.name_set
        """The names of expected tools. Names with a `*` are patterns in it."""
        self.special = [number for number, pattern in enumerate(patterns) if not pattern.is_plain]
        """Indices of those that no index can answer: a name with `*`, several parts, or values from earlier calls."""
        self.starred = {at: patterns[at] for at in self.special if "*" in patterns[at].name}
        """Those with a wildcard in their names, by index."""
        self.numbers_calls = any([pattern.nth is not None for pattern in patterns])
        """Whether one of them has `nth`, so that the number of earlier calls matters."""
        self.names_only = not self.special and all([pattern.accepts_all for pattern in patterns])
        """Whether only the names of calls are expected."""
        self.spends = any([pattern.spends for pattern in patterns])
        """Whether comparing needs a budget, because one of them has a matcher."""
        self.walks = any([pattern.walks for pattern in patterns])
        """Whether finding differences takes a budget."""
        self.lookups = _lookups(patterns)
        self._tests: Tests | None = None
        is_quick = not self.spends and not self.special
        self.few = _FEW // max(self.name_counts.values(), default=1) if is_quick else -1
        """The most calls for which trying all of them on each is quicker than looking anything up."""
        self._literals = [pattern.literal for pattern in patterns]
        self._confusable = [index for index, pattern in enumerate(patterns) if pattern.is_delicate]
        plain = [pattern for pattern in patterns if pattern.is_plain]
        part = plain[0].part if plain else "args"
        self.of_args = part == "args"
        """Whether all plain ones compare the arguments of calls, and not the outputs."""
        self.part_of: Callable[[ToolCall], Any] = attrgetter(part)
        """Returns that part of a call."""

    def __len__(self) -> int:
        return len(self.patterns)

    def numbered(self, names: Sequence[str]) -> dict[int, int]:
        """Return which call each expected one with `nth` means, by index; -1 where there are not so many.

        `names` are those of the calls.
        """
        found: dict[int, int] = {}
        for index, pattern in enumerate(self.patterns if self.numbers_calls else ()):
            if pattern.nth is not None:
                row = [position for position, name in enumerate(names) if pattern.takes(name)]
                found[index] = next(iter(_nth_of(row, pattern.nth)), -1)
        return found

    def tests(self) -> Tests:
        """Return what to ask of the part of a call that is compared; made on first use."""
        if self._tests is None:
            self._tests = _tests(self.patterns, self.lookups)
        return self._tests

    def is_beginning_of(self, calls: Sequence[ToolCall], names: tuple[str, ...]) -> bool:
        """Return whether the first calls, which have these names, surely satisfy the expected calls one by one."""
        size = len(self.patterns)
        if names[:size] != self.names or self.special:
            return False
        # In Python, 1 and True are equal, and in JSON they are not, so calls with such values are compared again.
        equal = list(map(self.part_of, calls[:size])) == self._literals
        for index in self._confusable if equal else range(size):  # noqa: SIM110 - faster than a generator
            if not self.patterns[index].accepts(calls[index]):
                return False
        return True


def _lookups(patterns: Sequence[Pattern]) -> list[Lookup]:
    found: dict[tuple[str, Projection | None], Lookup] = {}
    for number, pattern in enumerate(patterns):
        if not pattern.is_plain:
            continue
        projection, key = pattern.index or (None, None)
        lookup = found.get((pattern.name, projection))
        if lookup is None:
            lookup = found[pattern.name, projection] = Lookup(pattern.name, projection, [], [], [], [])
        lookup.numbers.append(number)
        lookup.keys.append(key)
        if pattern.is_delicate:
            lookup.confusable.append(number)
        if projection is None and not pattern.accepts_all:
            lookup.trials.append(number)
    return list(found.values())


def _tests(patterns: Sequence[Pattern], lookups: Sequence[Lookup]) -> Tests:
    by_name: dict[str, list[Lookup]] = {}
    for lookup in lookups:
        by_name.setdefault(lookup.name, []).append(lookup)
    found = Tests({}, all(map(_are_exclusive, by_name.values())), {})
    for name, of_name in by_name.items():
        candidates = [(number, patterns[number]) for lookup in of_name for number in lookup.numbers]
        reading = candidates[0][1].reading
        is_read = all([pattern.reading == reading for _, pattern in candidates])
        if is_read and reading is not None:
            found.readings[name] = reading
        found.by_name[name] = [_asked(number, pattern, is_read) for number, pattern in candidates]
    return found


def _are_exclusive(of_name: Sequence[Lookup]) -> bool:
    """Return whether no call can be as several of the expected ones of its name."""
    # One index finds a call by one key: expected calls with different keys in it exclude each other.
    first = of_name[0]
    return len(of_name) == 1 and first.projection is not None and len(set(first.keys)) == len(first.keys)


def _asked(number: int, pattern: Pattern, is_read: bool) -> tuple[int, Any, Callable[[Any], Any] | None]:
    """Return a value that satisfies a pattern if Python calls it equal, and the test of other values, if one may."""
    if is_read and pattern.is_equality:
        return number, pattern.literal, None
    return number, NOT_LITERAL if pattern.is_delicate or not is_read else pattern.literal, pattern.test


def _taken(pattern: Pattern, positions: dict[str, list[int]]) -> Row:
    """Return the positions of calls whose names match a pattern; with `nth`, only that one."""
    rows = [of_name for name, of_name in positions.items() if pattern.takes(name)]
    row: Row = rows[0] if len(rows) == 1 else sorted([position for row in rows for position in row])
    return row if pattern.nth is None else _nth_of(row, pattern.nth)


def _nth_of(row: Row, nth: int) -> Row:
    place = nth - 1 if nth > 0 else len(row) + nth
    return (row[place],) if 0 <= place < len(row) else _NONE


def _no_moment(position: int) -> None:
    return None


_FEW = 64
"""Up to this many comparisons of calls of one name, building an index does not pay off."""

_NONE: tuple[int, ...] = ()


class Relation(msgspec.Struct):
    """The positions of the actual calls that satisfy each expected call."""

    rows: list[Row] | None
    """Those that surely do; made on first use if there is only one pairing."""
    open: list[Row] | None = None
    """Also those for which the trace did not record enough to tell; `None` if everything is recorded."""
    only: list[int] | None = None
    """The pairing by sure matches, if there is only one possibility: see `only_pairing`."""
    left: list[int] | None = None
    """The calls that are in no pair of the only pairing, if they are known."""

    @property
    def sure(self) -> list[Row]:
        """The calls that satisfy each expected one."""
        if self.rows is None:
            self.rows = [_NONE if position < 0 else (position,) for position in self.only or ()]
        return self.rows

    @property
    def possible(self) -> list[Row]:
        """The same, with the calls for which the trace did not record enough to tell."""
        return self.sure if self.open is None else self.open

    @property
    def is_certain(self) -> bool:
        """Whether the trace recorded everything that the comparison needs."""
        return self.open is None


def relate(
    expected: ExpectedCalls,
    calls: Sequence[ToolCall],
    limits: Limits = DEFAULT_LIMITS,
    moment_of: MomentOf | None = None,
) -> Relation:
    """Return which calls satisfy which expected calls.

    Literal expectations are looked up in an index of the calls; only matchers are tried call by call. `moment_of`
    returns the moment of a call in its run; without it, what depends on that is unknown.

    Raises:
        LimitError: more comparisons than the limits allow.
    """
    if len(calls) <= expected.few and (related := _relate_few(expected, calls)):
        return related
    rows: list[Row] = [_NONE] * len(expected)
    return _Relating(expected, calls, moment_of, limits.comparisons, rows, {}).relation()


def _relate_few(expected: ExpectedCalls, calls: Sequence[ToolCall]) -> Relation | None:
    """Relate calls by trying each on all expectations of its name; `None` if some value was not recorded."""
    tests, of_args = expected.tests(), expected.of_args
    by_name, are_exclusive = tests.by_name, tests.are_exclusive
    first = [-1] * len(expected.names)
    left: list[int] = []
    more: list[tuple[int, int]] = []
    for position, call in enumerate(calls):
        name = call.name
        if name not in by_name:
            left.append(position)
            continue
        part = call.args if of_args else call.output
        if not of_args and part.__class__ is str:
            part = tests.read(name, part)
        for number, literal, test in by_name[name]:
            if literal == part or (test is not None and part is not None and test(part)):
                if first[number] < 0:
                    first[number] = position
                else:
                    more.append((number, position))
                if are_exclusive:
                    break
        else:
            if part is None:
                return None
            left.append(position)
    if more:
        return _with_choices(first, more)
    return Relation(None, None, first, left) if are_exclusive else _if_distinct(first, left)


def _if_distinct(first: list[int], left: Sequence[int]) -> Relation:
    """Return a relation, given the only call for each expected one, which may be the same for several of them.

    `left` are the calls that are for none of them, and perhaps others.
    """
    taken = {*first}
    if len(taken) - (-1 in taken) < len(first) - first.count(-1):
        return _with_choices(first, ())
    return Relation(None, None, first, [position for position in left if position not in taken])


def _with_choices(first: Sequence[int], more: Iterable[tuple[int, int]]) -> Relation:
    """Return a relation, given the first call for each expected one, and the other pairs in ascending order."""
    rows: list[Row] = [_NONE if position < 0 else (position,) for position in first]
    for number, position in more:
        rows[number] = (*rows[number], position)
    return Relation(rows)


class _Relating(msgspec.Struct):
    """The state of comparing expected with actual calls."""

    expected: ExpectedCalls
    calls: Sequence[ToolCall]
    moment_of: MomentOf | None
    budget: int
    sure: list[Row]
    unknown: dict[int, Row]

    def relation(self) -> Relation:
        positions: dict[str, list[int]] = {}
        for position, call in enumerate(self.calls):
            if (value := positions.get(call.name)) is None:
                positions[call.name] = [position]
            else:
                value.append(position)
        lookups = self.expected.lookups
        # Add up the work before it begins, so that too much of it is refused at once.
        if self.expected.spends:
            self._spend(sum([len(positions.get(lookup.name, ())) * len(lookup.trials) for lookup in lookups]))
        for lookup in lookups:
            of_name = positions.get(lookup.name)
            if of_name is None:
                continue
            if len(of_name) * len(lookup.numbers) <= _FEW:
                self._try_each(lookup.numbers, of_name)
            elif lookup.projection is None:
                self._try_columns(lookup, of_name)
            else:
                self._look_up(lookup, lookup.projection, of_name)
        if self.expected.special:
            self._try_special(positions)
        return Relation(self.sure, self._possible() if self.unknown else None, only_pairing(self.sure))

    def _try_each(self, numbers: Sequence[int], positions: Row) -> None:
        """Try each of these expectations on each of these calls."""
        patterns, calls = self.expected.patterns, self.calls
        for number in numbers:
            pattern = patterns[number]
            if pattern.accepts_all:
                self.sure[number] = positions
                continue
            row: list[int] = []
            undecided: list[int] = []
            for position in positions:
                holds = pattern.accepts(calls[position])
                if holds:
                    row.append(position)
                elif holds is None:
                    undecided.append(position)
            self.sure[number] = row
            if undecided:
                self.unknown[number] = undecided

    def _try_columns(self, lookup: Lookup, positions: Row) -> None:
        """Try many expectations on many calls, reading what they need from the calls once."""
        alone = len(positions) == len(self.calls)
        columns = CallColumns(self.calls if alone else [self.calls[position] for position in positions])
        for number in lookup.numbers:
            pattern = self.expected.patterns[number]
            flags = None if pattern.accepts_all else pattern.accepts_each(columns)
            if flags is None:
                self._try_each([number], positions)
            else:
                self.sure[number] = MarkedRow(flags) if alone else list(compress(positions, flags))

    def _try_special(self, positions: dict[str, list[int]]) -> None:
        patterns = self.expected.patterns
        taken = {number: _taken(patterns[number], positions) for number in self.expected.special}
        self._spend(sum([0 if patterns[number].accepts_all else len(row) for number, row in taken.items()]))
        for number, row in taken.items():
            if not patterns[number].needs_moment:
                self._try_each([number], row)
            else:
                self._try_at_moments(number, row)

    def _try_at_moments(self, number: int, positions: Row) -> None:
        pattern, calls = self.expected.patterns[number], self.calls
        moment_of = self.moment_of or _no_moment
        answers = [(position, pattern.accepts_at(calls[position], moment_of(position))) for position in positions]
        self.sure[number] = [position for position, accepted in answers if accepted]
        if undecided := [position for position, accepted in answers if accepted is None]:
            self.unknown[number] = undecided

    def _look_up(self, lookup: Lookup, projection: Projection, positions: Row) -> None:
        # Building an index is linear in the calls; trying each expectation on each call would take the product.
        alone = len(positions) == len(self.calls)
        keys = projection(self.calls if alone else [self.calls[position] for position in positions])
        index: dict[Hashable, Row] = dict(zip(keys, zip(positions), strict=True))
        undecided: Row = _NONE
        # Fewer keys than calls: the same call was made twice. The key `None`: the part was not recorded.
        if len(index) < len(keys) or None in index:
            index, undecided = self._index(lookup, keys, positions)
        for number, found in zip(lookup.numbers, map(index.get, lookup.keys, repeat(_NONE)), strict=True):
            self.sure[number] = found
        for number in lookup.confusable:
            self._try_each([number], self.sure[number])
        if undecided:
            self.unknown.update(dict.fromkeys(lookup.numbers, undecided))

    def _index(self, lookup: Lookup, keys: Sequence[Hashable], positions: Row) -> tuple[dict[Hashable, Row], Row]:
        """Return positions by key, several for one key, and the positions of calls with too little recorded."""
        pattern = self.expected.patterns[lookup.numbers[0]]
        index: dict[Hashable, list[int]] = {}
        undecided: list[int] = []
        for position, key in zip(positions, keys, strict=True):
            if key is not None:
                index.setdefault(key, []).append(position)
            elif pattern.accepts(self.calls[position]) is None:
                undecided.append(position)
        return dict(index), undecided

    def _possible(self) -> list[Row]:
        return [self._joined(row, self.unknown.get(number)) for number, row in enumerate(self.sure)]

    def _joined(self, row: Row, undecided: Row | None) -> Row:
        if undecided is None or not row:
            return row if undecided is None else undecided
        self._spend(len(row) + len(undecided))
        return sorted((*row, *undecided))

    def _spend(self, comparisons: int) -> None:
        self.budget -= comparisons
        if self.budget < 0:
            raise LimitError("comparing each expected call with each actual one takes more comparisons than allowed")


class NamesIn(msgspec.Struct, frozen=True):
    """The names in the arguments of one expected call, with their paths."""

    binds: tuple[tuple[str, Place], ...] = ()
    uses: tuple[tuple[str, Place], ...] = ()
    """Names used by `$ref`. Inside another matcher there is no exact path: it ends at that matcher."""

    def __bool__(self) -> bool:
        return bool(self.binds or self.uses)


def names_in(args: Any, where: str = "args") -> NamesIn:
    """Return the names that expected arguments bind and use.

    Raises:
        ExpectationError: a name is bound inside another matcher.
    """
    found = list(_names(args, (), inside=False, where=where))
    binds = [(name, place) for key, name, place in found if key == "$bind"]
    return NamesIn(tuple(binds), tuple([(name, place) for key, name, place in found if key == "$ref"]))


def _names(expected: Any, place: Place, *, inside: bool, where: str) -> Iterator[tuple[str, str, Place]]:
    if isinstance(expected, list):
        for index, item in enumerate(expected):
            yield from _names(item, place if inside else (*place, index), inside=inside, where=f"{where}[{index}]")
    elif isinstance(expected, dict) and "$literal" not in expected:
        beyond = inside or is_matcher(expected)
        for key, item in expected.items():
            if key in NAMES and isinstance(item, str):
                if key == "$bind" and inside:
                    raise ExpectationError(
                        f"{where}: a name is bound at a place of the arguments, not inside of another matcher"
                    )
                yield key, item, place
            else:
                yield from _names(item, place if beyond else (*place, key), inside=beyond, where=f"{where}.{key}")


def check_names(steps: Sequence[tuple[str, NamesIn, bool]]) -> None:
    """Check the names in all expected calls, each given by its path, its names, and whether it may repeat.

    Raises:
        ExpectationError: a name is bound twice, in a call that is repeated, or never used; or used and never bound.
    """
    bound: dict[str, str] = {}
    for where, names, repeats in steps:
        for name, _ in names.binds:
            if repeats:
                raise ExpectationError(f"{where}: $bind {shown(name)} is in a repeat, where it would have many values")
            if name in bound:
                raise ExpectationError(f"{where}: $bind {shown(name)} is bound already, at {bound[name]}; use $ref")
            bound[name] = where
    used = {name: where for where, names, _ in steps for name, _ in names.uses}
    for name, where in used.items():
        if name not in bound:
            hint = nearest(name, tuple(bound)) if bound else 'bind it in another call: {"$bind": …}'
            raise ExpectationError(f"{where}: $ref {shown(name)} is bound nowhere; {hint}")
    for name, where in bound.items():
        if name not in used:
            raise ExpectationError(f"{where}: $bind {shown(name)} is never used; use it with $ref")


def close_names(args: Any, assignment: Assignment) -> Any:
    """Replace every name in expected arguments with its value."""
    if isinstance(args, list):
        return [close_names(item, assignment) for item in args]
    if not isinstance(args, dict) or "$literal" in args:
        return args
    for key in NAMES:
        if key in args and args[key] in assignment:
            value = assignment[args[key]]
            return {"$not": {"$any": True}} if value is NOTHING else {"$literal": value}
    return {key: close_names(item, assignment) for key, item in args.items()}


def assignments(
    steps: Sequence[tuple[Pattern, NamesIn]],
    calls: Sequence[ToolCall],
    limits: Limits = DEFAULT_LIMITS,
    moment_of: MomentOf | None = None,
) -> list[Assignment]:
    """Return every choice of values for the names: each step that binds names takes its values from one call.

    If a call's arguments were not recorded, its values may be any that are used elsewhere, or others. There is always
    at least one choice: a name that no call can bind is `NOTHING`, which matches nothing.

    Raises:
        LimitError: there are more choices than the limits allow.
    """
    choices = [_choices(pattern, names, steps, calls, moment_of) for pattern, names in steps if names.binds]
    count = prod([len(each) for each in choices])
    if count > limits.combinations:
        bound = ", ".join([name for _, names in steps for name, _ in names.binds])
        raise LimitError(f"there are {count:,} choices of values for {bound:.80}; at most {limits.combinations:,}")
    return [{name: value for chosen in each for name, value in chosen.items()} for each in product(*choices)]


def _choices(
    pattern: Pattern,
    names: NamesIn,
    steps: Sequence[tuple[Pattern, NamesIn]],
    calls: Sequence[ToolCall],
    moment_of: MomentOf | None,
) -> list[Assignment]:
    """Return the values that one step may bind to its names."""
    found: dict[tuple[str, ...], Assignment] = {}
    unknown = False
    for index, call in enumerate(calls):
        if not pattern.takes(call.name) or pattern.accepts_at(call, moment_of(index) if moment_of else None) is False:
            continue
        if call.args is None and "args" in call.unrecorded:
            unknown = True
            continue
        values = {name: _value_at(call.args or {}, place) for name, place in names.binds}
        if NOTHING not in values.values():
            found.setdefault(tuple(map(_key, values.values())), values)
    if unknown:
        used = [list(_used_values(name, steps, calls)) for name, _ in names.binds]
        for chosen in product(*[[*values, NOTHING] for values in used]):
            values = {name: value for (name, _), value in zip(names.binds, chosen, strict=True)}
            found.setdefault(tuple(map(_key, chosen)), values)
    return list(found.values()) or [{name: NOTHING for name, _ in names.binds}]


def _used_values(name: str, steps: Sequence[tuple[Pattern, NamesIn]], calls: Sequence[ToolCall]) -> Iterator[Any]:
    """Yield the different values that calls have where a name is used."""
    seen: set[str] = set()
    for pattern, names in steps:
        for place in [place for used, place in names.uses if used == name]:
            for call in calls:
                value = _value_at(call.args, place) if call.args and pattern.takes(call.name) else NOTHING
                if value is not NOTHING and _key(value) not in seen:
                    seen.add(_key(value))
                    yield value


def _value_at(args: Any, place: Place) -> Any:
    value = args
    for step in place:
        is_there = step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))
        if not is_there:
            return NOTHING
        value = value[step]
    return value


def _key(value: Any) -> str:
    return "" if value is NOTHING else canonical(value, Budget())
