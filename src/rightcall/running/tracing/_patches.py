"""Temporary monkey patches of third-party classes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Change(Protocol):
    """Something that can be put in place and removed again."""

    def put(self) -> None:
        """Put the change in place."""

    def remove(self) -> None:
        """Undo the change."""


class Patch:
    """Replaces one attribute of a class for a while.

    If other code replaces the attribute after us, its version stays, and ours stays below it. So a replacement has to
    do nothing while the patch is removed, and must not act twice when the patch is put in place again.
    """

    __slots__ = ("_made", "_make", "_name", "_original", "_owner")

    def __init__(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._name = name
        self._make = make
        self._made: Any = None
        self._original: Any = None

    def put(self) -> None:
        """Replace the attribute with the result of `make(attribute)`."""
        self._original = vars(self._owner).get(self._name)
        self._made = self._make(self._original)
        setattr(self._owner, self._name, self._made)

    def remove(self) -> None:
        """Put the original attribute back, unless other code has replaced ours."""
        if vars(self._owner).get(self._name) is self._made:
            if self._original is None:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, self._original)
        self._made = self._original = None


def bound(function: Any, instance: Any) -> Any:
    """Return a class's function as a method of an instance.

    Calling `function(instance)` is not the same when the attribute is a descriptor of another library. `wrapt`, on
    which OpenTelemetry's instrumentations are built, puts such objects there.
    """
    return function.__get__(instance, type(instance))


class SharedPatches:
    """A context manager that puts patches in place for its first user and removes them after its last."""

    __slots__ = ("_changes", "_list", "_lock", "_users")

    def __init__(self, changes: Callable[[], Sequence[Change]]) -> None:
        self._list = changes
        self._changes: Sequence[Change] | None = None
        self._lock = threading.Lock()
        self._users = 0

    def __enter__(self) -> None:
        with self._lock:
            if self._changes is None:
                self._changes = self._list()
            if self._users == 0:
                for change in self._changes:
                    change.put()
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                for change in reversed(self._changes or ()):
                    change.remove()
