"""Names for values: `$bind` gives one to a value of a call, `$ref` stands for it in others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import msgspec

from rightcall.errors import ExpectationError, LimitError, nearest, shown
from rightcall.limits import DEFAULT_LIMITS, Budget, Limits
from rightcall.values.trajectory import ToolCall

from ._equality import canonical
from ._expectations import NAMES, is_matcher
from ._moments import MomentOf
from ._patterns import Pattern

Place: TypeAlias = tuple[str | int, ...]
"""Keys and indices from the arguments of a call to a value in them."""

Assignment: TypeAlias = Mapping[str, Any]
"""A value for each name; `NOTHING` for one that no call can bind."""

NOTHING = object()


class NamesIn(msgspec.Struct, frozen=True):
    """The names in the arguments of one expected call, with their places."""

    binds: tuple[tuple[str, Place], ...] = ()
    uses: tuple[tuple[str, Place], ...] = ()
    """Names that are used; those inside of another matcher have no place of their own: it ends there."""

    def __bool__(self) -> bool:
        return bool(self.binds or self.uses)


def names_in(args: Any, where: str = "args") -> NamesIn:
    """The names that expected arguments bind and use.

    Raises:
        ExpectationError: a name is bound where its value has no place of its own.
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
    """Check the names of all expected calls: where each is, its names, and whether it may be made several times.

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
    """Expected arguments in which every name stands for its value."""
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
    """Every choice of values for the names: for each step that binds some, the values of one call that it may mean.

    Where a call's arguments were not recorded, its values may be those that are used elsewhere, or others. There is
    always one choice: a name that no call can bind is `NOTHING`, which matches nothing.

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
    """The values that one step may bind, all its names together."""
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
    """The different values that calls have where a name is used."""
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
