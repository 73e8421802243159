"""A cache for results that took time to compute."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, Protocol, TypeVar


class Weighted(Protocol):
    """A value that knows how much memory it takes."""

    @property
    def weight(self) -> int:
        """The weight now; it may grow."""


Kept = TypeVar("Kept", bound=Weighted)


class WeightedCache(Generic[Kept]):
    """An LRU cache bounded by total weight. The newest entry is never evicted."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[str, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> Kept | None:
        """Return the value under a key, and make it the newest."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: str, value: Kept) -> None:
        """Store a value, and evict the oldest ones until the rest fits. Put a value again after it has grown."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        # Weights are added up each time because they grow: an index of a running run is extended in place.
        while len(self._entries) > 1 and sum(each.weight for each in self._entries.values()) > self._capacity:
            self._entries.popitem(last=False)

    def drop(self, key: str) -> None:
        """Remove the value under a key, if there is one."""
        self._entries.pop(key, None)
