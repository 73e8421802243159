"""Names of tools, exact or with `*` as a wildcard, and the policies for comparing arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set
from typing import Literal, TypeAlias

import msgspec

ArgsPolicy: TypeAlias = Literal["exact", "subset", "superset", "ignore"]
"""How the arguments of an expected call are compared with those of an actual call.

`subset`: every expected argument is present with an equal value, and there may be more. `exact`: the same keys, equal
values. `superset`: only expected arguments, some of which may be missing. `ignore`: not compared.
"""


class NamePattern(msgspec.Struct, frozen=True):
    """A name in which each `*` stands for any number of characters.

    The pieces between the stars are searched from the left, each after the one before. The leftmost match of a piece is
    as good as any other, so there is no backtracking: the time is linear in the name, whatever the pattern.
    """

    written: str
    head: str
    inner: tuple[str, ...]
    tail: str

    @classmethod
    def of(cls, written: str) -> NamePattern:
        """Parse a string with at least one `*`."""
        head, *inner, tail = written.split("*")
        return cls(written, head, tuple([piece for piece in inner if piece]), tail)

    @property
    def takes_all(self) -> bool:
        """Whether every name matches: the pattern consists of stars only."""
        return not (self.head or self.inner or self.tail)

    def matches(self, name: str) -> bool:
        """Return whether the whole of a name matches. Each piece is searched once, so this takes linear time."""
        end = len(name) - len(self.tail)
        if len(self.head) > end or not (name.startswith(self.head) and name.endswith(self.tail)):
            return False
        place = len(self.head)
        for piece in self.inner:
            place = name.find(piece, place, end)
            if place < 0:
                return False
            place += len(piece)
        return True


class NameSet(Set[str]):
    """A set of tool names, some with `*`. It contains the names that are listed or match a pattern."""

    __slots__ = ("_exact", "_patterns")

    def __init__(self, exact: frozenset[str], patterns: tuple[NamePattern, ...]) -> None:
        self._exact = exact
        self._patterns = patterns

    def __contains__(self, name: object) -> bool:
        if name in self._exact:
            return True
        return isinstance(name, str) and any([pattern.matches(name) for pattern in self._patterns])

    def __iter__(self) -> Iterator[str]:
        yield from self._exact
        yield from [pattern.written for pattern in self._patterns]

    def __len__(self) -> int:
        return len(self._exact) + len(self._patterns)

    @classmethod
    def _from_iterable(cls, names: Iterable[str]) -> frozenset[str]:  # type: ignore[override]
        return frozenset(names)


def tool_names(written: Iterable[str]) -> Set[str]:
    """Return a set of names in which those with a `*` are patterns; a plain set if there are none."""
    names = dict.fromkeys(written)
    patterns = tuple([NamePattern.of(name) for name in names if "*" in name])
    exact = frozenset([name for name in names if "*" not in name])
    return NameSet(exact, patterns) if patterns else exact


def named_tools(written: Iterable[str]) -> Set[str]:
    """Return the same set without `*` alone, which names no tool.

    Internal calls of a framework count only if they are named.
    """
    return tool_names([name for name in written if not ("*" in name and NamePattern.of(name).takes_all)])
