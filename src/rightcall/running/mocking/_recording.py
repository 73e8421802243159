"""What real tools gave back, kept as JSON lines beside an eval set."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from rightcall.errors import InputError, shown
from rightcall.files import replace_file
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.tracing import Answer
from rightcall.values.decoding import admit, dump_json, load_json

from ._replaying import Replay

_MODE = 0o600
_LONGEST_MESSAGE = 10_000


class RaisedEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exception that a tool raised: the module and name of its type, its message, its arguments if they are JSON."""

    type: str
    message: str = ""
    args: list[Any] | None = None


class Entry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of one case: an output, an exception, or why neither could be kept."""

    case: str
    tool: str
    args: dict[str, Any]
    output: Any = UNSET
    error: RaisedEntry | msgspec.UnsetType = UNSET
    unfit: str | msgspec.UnsetType = UNSET

    def line(self) -> str:
        """The entry as a line of JSON."""
        return dump_json(msgspec.to_builtins(self)) + "\n"


class Recorder:
    """An observer that keeps what the tools of one run of a case give back."""

    def __init__(self, case: str) -> None:
        self._case = case
        self._lock = threading.Lock()
        self._entries: list[Entry] = []

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The calls so far, in the order in which they were over."""
        with self._lock:
            return tuple(self._entries)

    def __call__(self, tool: str, args: dict[str, Any], answer: Answer) -> None:
        """Keep a call. A value that is not JSON cannot be given back one day; it is kept that there was one."""
        entry = Entry(case=self._case, tool=tool, args=args, **_outcome(answer))
        with self._lock:
            self._entries.append(entry)


class Recording:
    """The calls of many cases, with what they gave back. Immutable."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self.entries = tuple(entries)

    @classmethod
    def load(cls, path: str | Path, limits: Limits = DEFAULT_LIMITS) -> Recording:
        """The recording in a file.

        Raises:
            InputError: the file cannot be read, or a line of it is no entry.
        """
        try:
            with open(path, encoding="utf-8") as file:
                return cls.of_lines(file, str(path), limits)
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{path}: {getattr(problem, 'strerror', None) or problem}") from None

    @classmethod
    def of_lines(cls, lines: Iterable[str], name: str = "recording", limits: Limits = DEFAULT_LIMITS) -> Recording:
        """The recording that lines of JSON stand for, as `Entry.line` writes them; `name` is for messages.

        Raises:
            InputError: a line is no entry.
        """
        return cls([_entry(line, f"{name}:{n}", limits) for n, line in enumerate(lines, 1) if line.strip()])

    def updated(self, cases: Iterable[str], entries: Iterable[Entry]) -> Recording:
        """This recording with these entries in the place of all that these cases had; the other cases keep theirs."""
        replaced = frozenset(cases)
        return Recording([*(entry for entry in self.entries if entry.case not in replaced), *entries])

    def save(self, path: str | Path) -> None:
        """Write the recording to a file: whole, or not at all. Entries of one case stand together.

        Raises:
            InputError: the file cannot be written.
        """
        order = {case: number for number, case in enumerate(dict.fromkeys(entry.case for entry in self.entries))}
        lines = [entry.line() for entry in sorted(self.entries, key=lambda entry: order[entry.case])]
        try:
            replace_file(Path(path), "".join(lines).encode(), _MODE)
        except OSError as problem:
            raise InputError(f"{path}: {problem.strerror or problem}") from None

    def replay(self, case: str) -> Replay:
        """What answers the calls of one run of a case from what was recorded of it."""
        return Replay(case, [entry for entry in self.entries if entry.case == case])


def _outcome(answer: Answer) -> dict[str, Any]:
    error = answer.error
    try:
        if error is None:
            return {"output": admit(answer.value)}
        return {"error": RaisedEntry(_type_name(error), _message(error), _arguments(error))}
    except Exception as problem:  # noqa: BLE001 - objects of others may fail while they are copied; the tool did not
        return {"unfit": str(problem)}


def _type_name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - an exception that cannot say what it is about is recorded all the same
        return ""


def _arguments(error: BaseException) -> list[Any] | None:
    try:
        arguments: list[Any] = admit(list(error.args))
    except InputError:
        return None
    return arguments


def _entry(line: str, where: str, limits: Limits) -> Entry:
    try:
        entry = msgspec.convert(load_json(line, limits), Entry)
    except (InputError, msgspec.ValidationError) as problem:
        raise InputError(f"{where}: no entry of a recording: {problem}") from None
    if sum([entry.output is not UNSET, entry.error is not UNSET, entry.unfit is not UNSET]) != 1:
        raise InputError(f"{where}: an entry has one of output, error and unfit, not {shown(line.strip())}")
    return entry
