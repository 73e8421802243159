"""Things that took time to make, kept while there is room for them."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar


class Weighty(Protocol):
    """What knows how much room it takes."""

    @property
    def weight(self) -> int:
        """How much; it may grow."""


Kept = TypeVar("Kept", bound=Weighty)


class Shelf(Generic[Kept]):
    """So much of what was asked for last; the one asked for longest ago goes first, the newest one never does."""

    def __init__(self, room: int) -> None:
        self._room = room
        self._kept: OrderedDict[str, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, name: str) -> Kept | None:
        """What is kept under a name."""
        found = self._kept.get(name)
        if found is not None:
            self._kept.move_to_end(name)
        return found

    def put(self, name: str, thing: Kept) -> None:
        """Keep a thing, and let go of others until there is room; ask again when it has grown."""
        self._kept[name] = thing
        self._kept.move_to_end(name)
        while len(self._kept) > 1 and sum(each.weight for each in self._kept.values()) > self._room:
            self._kept.popitem(last=False)

    def drop(self, name: str) -> None:
        """Let go of what is kept under a name."""
        self._kept.pop(name, None)
