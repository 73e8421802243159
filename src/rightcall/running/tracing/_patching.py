"""Changes to classes of others: made for a while, and undone."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol


class Change(Protocol):
    """Something that is done and undone."""

    def put(self) -> None:
        """Do it."""

    def remove(self) -> None:
        """Undo it."""


class Patch:
    """One attribute of a class, and what stands there for a while.

    Whoever replaced the attribute after us keeps what they put there: then ours stays below theirs, where it has to
    do nothing while there is nothing to do, and nothing twice once it is put in place again.
    """

    __slots__ = ("_made", "_make", "_name", "_original", "_owner")

    def __init__(self, owner: type, name: str, make: Callable[[Any], Any]) -> None:
        self._owner = owner
        self._name = name
        self._make = make
        self._made: Any = None
        self._original: Any = None

    def put(self) -> None:
        """Replace the attribute by what `make` makes of it."""
        self._original = vars(self._owner).get(self._name)
        self._made = self._make(self._original)
        setattr(self._owner, self._name, self._made)

    def remove(self) -> None:
        """Put the attribute back as it was, unless somebody has replaced ours."""
        if vars(self._owner).get(self._name) is self._made:
            if self._original is None:
                delattr(self._owner, self._name)
            else:
                setattr(self._owner, self._name, self._original)
        self._made = self._original = None


def bound(function: Any, instance: Any) -> Any:
    """A function of a class as a method of an instance.

    Calling it with the instance as an argument is not the same where others have put an object of their own there,
    as `wrapt` does, with which OpenTelemetry's instrumentations are made.
    """
    return function.__get__(instance, type(instance))


class Changes:
    """Changes that are in place while anybody needs them."""

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
