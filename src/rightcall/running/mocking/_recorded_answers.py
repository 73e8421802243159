"""Recordings of the answers of real tools and models: written as JSON lines beside an eval set, and replayed."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Hashable, Iterable
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from rightcall.errors import InputError, MockError, shown, type_name
from rightcall.files import replace_file
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.running.tracing import ToolAnswer
from rightcall.values.decoding import admit, dump_json, load_json

from ._mocks import MockLog, exception_named
from ._model_answers import ModelReplay, RecordedModelCall, equality_key, expanded

_MODE = 0o600
_LONGEST_MESSAGE = 10_000


class RecordedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exception that a tool raised: module and name of its type, message, and arguments if they are JSON."""

    type: str
    message: str = ""
    args: list[Any] | None = None


class RecordedCall(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One call of one case, with its output, its exception, or why neither could be recorded (`unfit`).

    A tool that called other tools, such as one that runs another agent, has `runs`: it is run when it is replayed,
    because the other agent is part of what is tested, and the calls of its own tools and models are answered.
    """

    case: str
    tool: str
    args: dict[str, Any]
    output: Any = UNSET
    error: RecordedError | msgspec.UnsetType = UNSET
    unfit: str | msgspec.UnsetType = UNSET
    runs: bool | msgspec.UnsetType = UNSET

    def line(self) -> str:
        """Return the call as a line of JSON."""
        return dump_json(msgspec.to_builtins(self)) + "\n"


class Recorder:
    """An observer that records the results of tools in one run of a case."""

    def __init__(self, case: str) -> None:
        self._case = case
        self._lock = threading.Lock()
        self._entries: list[RecordedCall] = []

    @property
    def entries(self) -> tuple[RecordedCall, ...]:
        """The calls so far, in the order in which they ended."""
        with self._lock:
            return tuple(self._entries)

    def __call__(self, tool: str, args: dict[str, Any], answer: ToolAnswer) -> None:
        """Record a call. A value that is not JSON cannot be replayed, so the reason is recorded instead."""
        entry = RecordedCall(case=self._case, tool=tool, args=args, **_outcome(answer))
        with self._lock:
            self._entries.append(entry)


class Recording:
    """The calls of tools and models of many cases, with their outcomes. Immutable."""

    def __init__(self, entries: Iterable[RecordedCall | RecordedModelCall] = ()) -> None:
        self.entries = tuple(entries)

    @classmethod
    def load(cls, path: str | Path, limits: Limits = DEFAULT_LIMITS) -> Recording:
        """Load a recording from a file.

        Raises:
            InputError: the file cannot be read, or a line is not a recorded call.
        """
        try:
            with open(path, encoding="utf-8") as file:
                return cls.of_lines(file, str(path), limits)
        except (OSError, UnicodeDecodeError) as problem:
            raise InputError(f"{path}: {getattr(problem, 'strerror', None) or problem}") from None

    @classmethod
    def of_lines(cls, lines: Iterable[str], name: str = "recording", limits: Limits = DEFAULT_LIMITS) -> Recording:
        """Read a recording from lines of JSON, as `save` writes them; `name` is for messages.

        Raises:
            InputError: a line is not a recorded call.
        """
        entries: list[RecordedCall | RecordedModelCall] = []
        latest: dict[str, RecordedModelCall] = {}
        for number, line in enumerate(lines, 1):
            if line.strip():
                entries.append(entry := _entry(line, f"{name}:{number}", limits, latest))
                if isinstance(entry, RecordedModelCall):
                    latest[entry.case] = entry
        return cls(entries)

    @classmethod
    def of_values(cls, values: Iterable[Any]) -> Recording:
        """Return a recording of entries that are plain data. Raises `msgspec.ValidationError`."""
        return cls([_converted(value) for value in values])

    def updated(self, cases: Iterable[str], entries: Iterable[RecordedCall | RecordedModelCall]) -> Recording:
        """Return this recording with the entries of these cases replaced; other cases keep theirs."""
        replaced = frozenset(cases)
        return Recording([*(entry for entry in self.entries if entry.case not in replaced), *entries])

    def save(self, path: str | Path) -> None:
        """Write the recording to a file atomically, grouped by case.

        Raises:
            InputError: the file cannot be written.
        """
        order = {case: number for number, case in enumerate(dict.fromkeys(entry.case for entry in self.entries))}
        lines, before = [], None
        for entry in sorted(self.entries, key=lambda entry: order[entry.case]):
            if isinstance(entry, RecordedCall):
                lines.append(entry.line())
                continue
            lines.append(entry.line(before if before is not None and before.case == entry.case else None))
            before = entry
        try:
            replace_file(Path(path), "".join(lines).encode(), _MODE)
        except OSError as problem:
            raise InputError(f"{path}: {problem.strerror or problem}") from None

    def limited_to(self, cases: Iterable[str]) -> Recording:
        """Return this recording with the entries of these cases only."""
        kept = frozenset(cases)
        return Recording([entry for entry in self.entries if entry.case in kept])

    def replay(self, case: str) -> Replay:
        """Return a mock that answers the tool calls of one run of a case from this recording."""
        return Replay(case, [each for each in self.entries if isinstance(each, RecordedCall) and each.case == case])

    def model_replay(self, case: str) -> ModelReplay:
        """Return a tap that answers the model requests of one run of a case from this recording."""
        mine = [each for each in self.entries if isinstance(each, RecordedModelCall) and each.case == case]
        return ModelReplay(case, mine)


class Replay(MockLog):
    """Answers the calls of one run of a case from a recording; each entry answers once.

    A call gets the first unused entry of the same tool with equal arguments, compared as evaluators do: `1` equals
    `1.0`, `true` is not `1`, NaN equals NaN. Only tools that called others run. A call that was not recorded is an
    error.
    """

    def __init__(self, case: str, entries: Iterable[RecordedCall]) -> None:
        super().__init__()
        self._case = case
        self._lock = threading.Lock()
        self._left: dict[Hashable, deque[RecordedCall]] = {}
        for entry in entries:
            # Indexed, because searching all entries for each call would take quadratic time.
            self._left.setdefault((entry.tool, equality_key(entry.args)), deque()).append(entry)

    def answer(self, tool: str, args: dict[str, Any]) -> ToolAnswer | None:
        """Return the recorded outcome of a call; None for a tool that called others, which has to run.

        Raises:
            MockError: the call was not recorded, or fewer times.
        """
        return self._answer_logged(tool, lambda: self._answer(tool, args))

    def answers_for(self, tool: str) -> bool:
        """Return True for every tool: a tool that is not in the recording must not run."""
        return True

    def _answer(self, tool: str, args: dict[str, Any]) -> ToolAnswer | None:
        left = self._left.get((tool, equality_key(args)))
        with self._lock:
            # Under the lock: calls in several threads must not get the same entry.
            entry = left.popleft() if left else None
        if entry is None:
            often = "is not in the recording" if left is None else "was not recorded as often"
            raise MockError(
                f"the call of {shown(tool)} with {shown(args)} {often} of {shown(self._case)}; record the case again"
            )
        if entry.runs is not UNSET:
            return None
        if entry.unfit is not UNSET:
            raise MockError(f"what {shown(tool)} returned could not be recorded: {entry.unfit}")
        if entry.error is UNSET:
            return ToolAnswer(admit(entry.output))
        raised = entry.error
        arguments = [raised.message] if raised.args is None else raised.args
        return ToolAnswer(error=exception_named(raised.type, arguments, f"the recording of {shown(tool)}"))


def _outcome(answer: ToolAnswer) -> dict[str, Any]:
    error = answer.error
    if answer.has_inner:
        return {"runs": True}
    try:
        if error is None:
            return {"output": admit(answer.value)}
        return {"error": RecordedError(type_name(error), _message(error), _arguments(error))}
    except Exception as problem:  # noqa: BLE001 - copying a foreign object may raise, although the tool did not fail
        return {"unfit": str(problem)}


def _message(error: BaseException) -> str:
    try:
        return str(error)[:_LONGEST_MESSAGE]
    except Exception:  # noqa: BLE001 - an exception whose `__str__` fails is recorded without a message
        return ""


def _arguments(error: BaseException) -> list[Any] | None:
    try:
        arguments: list[Any] = admit(list(error.args))
    except InputError:
        return None
    return arguments


def _converted(value: Any) -> RecordedCall | RecordedModelCall:
    if isinstance(value, dict) and "answer" in value:
        return msgspec.convert(value, RecordedModelCall)
    return msgspec.convert(value, RecordedCall)


def _entry(
    line: str, where: str, limits: Limits, latest: dict[str, RecordedModelCall]
) -> RecordedCall | RecordedModelCall:
    try:
        written = load_json(line, limits)
        if isinstance(written, dict) and "answer" in written:
            written = expanded(written, latest.get(str(written.get("case"))))
        entry = _converted(written)
    except (InputError, msgspec.ValidationError) as problem:
        raise InputError(f"{where}: not an entry of a recording: {problem}") from None
    if isinstance(entry, RecordedModelCall):
        return entry
    if sum([given is not UNSET for given in (entry.output, entry.error, entry.unfit, entry.runs)]) != 1:
        raise InputError(f"{where}: an entry has one of output, error, unfit and runs, not {shown(line.strip())}")
    return entry
