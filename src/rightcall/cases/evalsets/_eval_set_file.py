"""What people write in an eval set: files with the position of every part, and models of their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import reduce
from operator import getitem
from pathlib import Path as FilePath
from typing import Annotated, Any, Literal

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import (
    ConfigurationError,
    CriteriaError,
    DocumentError,
    ExpectationError,
    InputError,
    RightcallError,
    pattern_problem,
    shown,
)
from rightcall.judging import FINITE, After, Before, Bounds, Key, Length, ModelError, UserModel, camel
from rightcall.limits import Limits
from rightcall.values.decoding import Document, Path, decode_document, dump_json
from rightcall.values.results import Source

_QUOTED = 500
_MOST_JOINED = 40
"""The most parts of a value that is quoted on one line."""
_LEADING = lazy_pattern(r"[\w-]+(?:\[\d+\]|\.[^\s.:\[\]]+)+")
"""The path that the message about an expected value begins with: `expected[0].args.id`."""
_PART = lazy_pattern(r"\.?([^.\[\]]+)|\[(\d+)\]")
_LINE_END = lazy_pattern(r"\r\n|\r|\n")


Number = Annotated[int | float, Bounds(least=0, most=FINITE)]
Repeats = Annotated[int, Bounds(least=1, most=10_000)]
CaseId = Annotated[str, Length(1, 300, "an id has 1 to 300 characters, this one {:,}")]


class WrittenDefaults(UserModel):
    """Defaults for expectations that do not say otherwise."""

    # `Any`, because `check_defaults` has an evaluator validate these: it knows all spellings, and the right message.
    match: Any = "EXACT"
    args: Any = "subset"
    threshold: Any = 1.0
    partial_credit: Any = None
    extra: Any = None
    parallel: Any = "recorded"
    failed: Any = None
    ignore_tools: Any = None
    agent: Any = None
    top_level: Any = None
    wildcards: Any = True
    weight: Number = 1.0
    timeout: Number | None = None
    repeat: Repeats | None = None
    min_repeat_pass: Repeats | None = None


SETTINGS = ("extra", "parallel", "failed", "ignore_tools", "agent", "top_level", "wildcards", "partial_credit")
"""The defaults that are keys of criteria or of configuration, in evaluators that have them."""


AS_RECORDED = {"parallel": "in_order"}
"""The defaults of eval sets of other tools, which compare calls in the order in which they were recorded."""


class WrittenEvaluator(UserModel):
    """A custom evaluator: a type id, its configuration and its weight."""

    type: str
    config: dict[str, Any] = {}
    weight: Number = 1.0


class WrittenTurn(UserModel):
    """One turn of a conversation."""

    input: Any = None
    expect: dict[str, Any] = {}


def _day(value: str) -> str:
    from datetime import date  # few eval sets have a quarantine

    try:
        return date.fromisoformat(value).isoformat()
    except ValueError:
        raise ValueError(f"a day is written as 2026-12-31, not {shown(value)}") from None


def _reason(value: str) -> str:
    if not value.strip():
        raise ValueError("a quarantine has a reason, in words")
    return value


class WrittenQuarantine(UserModel):
    """Why a case runs and counts in nothing, and the last day of that."""

    reason: Annotated[str, After(_reason)]
    until: Annotated[str, After(_day)] | None = None


class WrittenWhen(UserModel):
    """What a case applies to, in place of an input: every trajectory that fits is a trial of it."""

    input: Any = None
    output: Any = None
    metadata: dict[str, Any] = {}
    agent: Any = None
    calls: Any = None
    tags: Any = None
    unrecorded: Literal["not_measured", "leave_out"] = "not_measured"

    def check(self) -> None:
        if not self.model_fields_set - {"unrecorded"}:
            raise ValueError("'when' is empty; give at least one of input, output, metadata, agent, calls, tags")


class WrittenCase(UserModel):
    """A case: what the agent is given, and what is expected of it."""

    id: CaseId
    name: str = ""
    description: str = ""
    input: Any = None
    turns: tuple[WrittenTurn, ...] | None = None
    when: WrittenWhen | None = None
    expected_behavior: str = ""
    session: Any = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, Any] = {}
    mocks: dict[str, Any] = {}
    repeat: Repeats | None = None
    min_repeat_pass: Repeats | None = None
    quarantine: WrittenQuarantine | None = None
    expect: dict[str, Any] = {}

    def check(self) -> None:
        if self.turns is not None and self.input is not None:
            raise ValueError("a case has 'input' or 'turns', not both")
        if self.turns == ():
            raise ValueError("'turns' is empty; a conversation has at least one turn")
        if self.when is not None:
            given = [key for key in _OF_AGENTS if key in self.model_fields_set]
            if given:
                raise ValueError(f"a case has 'when' or {given[0]!r}, not both: 'when' is about traces, {_NOT_RUN}")


_OF_AGENTS = ("input", "turns", "session", "mocks", "repeat")
"""Keys of cases that an agent is run for."""
_NOT_RUN = "and no agent is run for it"


class WrittenOverall(UserModel):
    """An evaluator of all cases together: `classification` or code, and its configuration."""

    type: str
    config: dict[str, Any] = {}


class WrittenEvalSet(UserModel):
    """An eval set: cases, and what they have in common."""

    json_schema: Annotated[Any, Key("$schema")] = None
    name: str = ""
    description: str = ""
    agent: str | None = None
    defaults: WrittenDefaults = WrittenDefaults()
    evaluators: dict[str, WrittenEvaluator] = {}
    rules: Any = None
    """Rules for every case, as a case writes them under `expect`."""
    expect: dict[str, Any] = {}
    """What is expected of every trajectory, also of one that belongs to no case."""
    overall: dict[str, WrittenOverall] = {}
    metadata: dict[str, Any] = {}
    cases: tuple[WrittenCase, ...]


ANSWERS = ("returns", "sequence", "raises", "then")
"""The keys for the answer of a mocked call. A rule has exactly one of them."""


class WrittenError(UserModel):
    """An exception that a mocked tool raises: the name of its type, and its message."""

    type: Annotated[str, Length(1)]
    message: str = ""


def _named(value: Any) -> Any:
    return {"type": value} if isinstance(value, str) else value


Raised = Annotated[WrittenError | None, Before(_named)]


class WrittenAnswer(UserModel):
    """One of the answers under `then`: a value or an exception."""

    returns: Any = None
    raises: Raised = None

    def check(self) -> None:
        if len(self.model_fields_set) != 1:
            raise ValueError("an answer needs either 'returns' or 'raises'")


class WrittenMock(UserModel):
    """One rule: which calls it applies to, and their answer. The first rule that matches a call answers it.

    `when` has arguments by name, `positional` the first ones in order; without either, the rule applies to all calls.
    `sequence`, or `returns` with `each`, has one value per call; `then` has answers, of which the last is repeated.
    """

    when: dict[str, Any] | None = None
    positional: tuple[Any, ...] | None = None
    returns: Any = None
    each: bool = False
    sequence: Annotated[tuple[Any, ...], Length(1)] | None = None
    raises: Raised = None
    then: Annotated[tuple[WrittenAnswer, ...], Length(1)] | None = None

    def check(self) -> None:
        given = [key for key in ANSWERS if key in self.model_fields_set]
        if len(given) != 1:
            found = " and ".join(given) if given else "none of them"
            raise ValueError(f"a mock has one of {', '.join(ANSWERS)}; this one has {found}")
        if self.each and not isinstance(self.returns, list):
            raise ValueError("'each' needs a list under 'returns'")


def check_mocks(mocks: dict[str, Any], place: Path, document: EvalSetDocument, *, wildcards: bool = True) -> None:
    """Check that mocks are rules or lists of rules. `rightcall.running.mocking` gives them their meaning.

    With `wildcards`, `*` in the name of a tool stands for any characters.

    Raises:
        DocumentError: the first mistake, with its position and what would be right.
    """
    for tool, written in mocks.items():
        at: Path = (*place, tool)
        if not wildcards and (problem := pattern_problem(tool)):
            raise document.problem(f"mocks: {problem}", at)
        if written == []:
            raise document.problem(f"the mock of {tool!r} has no rules", at)
        if not isinstance(written, list):
            _check_rule(written, tool, at, document)
            continue
        for number, rule in enumerate(written):
            _check_rule(rule, tool, (*at, number), document)


def _check_rule(written: Any, tool: str, place: Path, document: EvalSetDocument) -> None:
    if not isinstance(written, dict):
        raise document.problem(f"the mock of {tool!r} is an object such as {{returns: 1}}, not {shown(written)}", place)
    try:
        WrittenMock.model_validate(written)
    except ModelError as problem:
        location, reason = problem.first
        raise document.problem(f"mock of {tool!r}: {reason}", (*place, *location)) from None


class SourceFile:
    """One decoded file: the one at a path or, with `content`, one that was read already.

    Raises:
        DocumentError: it is neither YAML nor JSON, has a key twice, or exceeds the limits.
        InputError: it cannot be read.
    """

    def __init__(self, path: str | FilePath, limits: Limits, content: str | bytes | None = None) -> None:
        self.name = str(path)
        try:
            content = FilePath(path).read_bytes() if content is None else content
            self._document: Document = decode_document(content, limits)
            self.value = self._document.value
            """The decoded content."""
        except IsADirectoryError:
            raise InputError(f"{path} is a folder; name the eval set in it") from None
        except OSError as problem:
            raise InputError(f"{path}: {problem.strerror or problem}") from None
        except DocumentError as problem:
            raise self._placed(str(problem), problem.line, problem.column) from None
        # Decoding may replace characters here: the lines are only quoted, the values come from the decoder above.
        text = content if isinstance(content, str) else content.decode("utf-8", "replace")
        self._lines = _LINE_END.split(text)

    def source(self, path: Path) -> Source:
        """Return where a part is written or, if it is not in the file, the nearest part around it."""
        try:
            spelt, part = path, reduce(getitem, path, self.value)
        except (KeyError, IndexError, TypeError):
            spelt, part = self._spelt(path)
        position = self._document.position(spelt)
        number, column = position.line, position.column
        # A minified file has everything on one line, and reports quote the beginning.
        line, below = [each[:_QUOTED] for each in (*self._lines[number - 1 : number + 1], "", "")[:2]]
        # A JSON object often starts with a brace alone on its line, which says nothing: point to its first key.
        if is_below := line.strip() == "{" and below.lstrip().startswith('"'):
            number, column, line = number + 1, len(below) - len(below.lstrip()) + 1, below
        if is_below or line.rstrip().endswith((":", "{")):
            line = _joined(line, part) or line
        return Source(self.name, number, column, line)

    def problem(self, message: str, path: Path = ()) -> DocumentError:
        """Return the exception for a mistake in a part."""
        spelt, _ = self._spelt(path)
        position = self._document.position(spelt)
        return self._placed(message, position.line, position.column)

    def _placed(self, message: str, line: int, column: int) -> DocumentError:
        return DocumentError(f"{self.name}:{line}:{column}: {message}", line, column)

    def _spelt(self, path: Path) -> tuple[Path, Any]:
        """Return a path with its keys as the file spells them, in snake_case or camelCase, and the value there."""
        value, spelt = self.value, list[str | int]()
        for step in path:
            if isinstance(value, dict) and step not in value and isinstance(step, str) and camel(step) in value:
                step = camel(step)
            spelt.append(step)
            inside = isinstance(value, dict) and step in value
            inside |= isinstance(value, list) and isinstance(step, int) and step < len(value)
            value = value[step] if inside else None
        return tuple(spelt), value


def _joined(line: str, value: Any) -> str:
    """Return the first line of a small object with the rest of the object on it; empty if it is not one.

    `"search": {` does not say what was expected of the call, and `"search": {"query": "laptop"}` does.
    """
    if not isinstance(value, dict) or not value or not _is_small(value):
        return ""
    first, indent = next(iter(value)), line[: len(line) - len(line.lstrip(" -"))]
    written = dump_json(first)
    begun = next((each for each in (written, str(first)) if line.startswith(f"{each}:", len(indent))), "")
    if not begun or (len(value) > 1 and begun != written):
        return ""
    inner = dump_json(value)[1:-1] if begun == written else f"{first}: {dump_json(value[first])}"
    return f"{indent}{inner}" if len(indent) + len(inner) <= _QUOTED else ""


def _is_small(value: Any, room: int = _MOST_JOINED) -> bool:
    """Return whether a value has few enough parts to be quoted. It does not walk a large one to its end."""
    waiting = [value]
    while waiting and room > 0:
        part = waiting.pop()
        room -= 1
        if isinstance(part, (dict, list)):
            if len(part) > room:
                return False
            waiting += part.values() if isinstance(part, dict) else part
    return not waiting


def path_of(problem: ConfigurationError | CriteriaError) -> Path:
    """Return the path to a mistake in criteria or configuration, as far as it is known."""
    if problem.path or not isinstance(problem, ExpectationError):
        return problem.path
    # The message about a matcher begins with its path, as text.
    found = _LEADING.match(str(problem))
    return () if found is None else tuple([int(index) if index else name for name, index in _PART.findall(found[0])])


class EvalSetDocument(msgspec.Struct, eq=False):
    """An eval set in the native format, and where each part of it was written, whatever the format and file."""

    file: SourceFile
    value: Any
    _origins: dict[Path, tuple[SourceFile, Path]] = {}

    def record_origin(self, path: Path, file: SourceFile, origin: Path) -> None:
        """Note that the part at `path`, and everything inside it, was written at `origin`."""
        self._origins[path] = (file, origin)

    def source(self, path: Path) -> Source:
        """Return where a part was written."""
        file, origin = self._origin(path) if self._origins else (self.file, path)
        return file.source(origin)

    def problem(self, message: str, path: Path) -> DocumentError:
        """Return the exception for a mistake in a part."""
        file, origin = self._origin(_as_written(self.value, path))
        return file.problem(message, origin)

    @contextmanager
    def locating_errors(
        self, path: Path, place: Callable[[Path], Path] | None = None, reword: Callable[[str], str] = str
    ) -> Iterator[None]:
        """Give errors raised inside the block the position of a part.

        With `place`, an error that has a path of its own gets the position of that: `place` turns the path, in criteria
        or configuration, into one in the part. `reword` does the same for its message.
        """
        try:
            yield
        except DocumentError:
            raise
        except (ConfigurationError, CriteriaError) as problem:
            raise self._located(problem, path, place or (lambda _: ()), reword) from None
        except RightcallError as problem:
            raise self.problem(str(problem), path) from None

    def _located(
        self,
        problem: ConfigurationError | CriteriaError,
        path: Path,
        place: Callable[[Path], Path],
        reword: Callable[[str], str],
    ) -> DocumentError:
        """Return the exception for an error in a part, with the position of each of its mistakes."""
        found = self.problem(reword(str(problem)), (*path, *place(path_of(problem))))
        if len(problem.mistakes) > 1:
            each = [self.problem(reword(reason), (*path, *place(steps))) for steps, reason in problem.mistakes]
            found.each = tuple(each)
        return found

    def _origin(self, path: Path) -> tuple[SourceFile, Path]:
        """Return where a translated part was written; one that was not translated is where it is."""
        # The longest prefix with a known origin; what is below it was copied as it is.
        for length in range(len(path), 0, -1):
            if path[:length] in self._origins:
                file, origin = self._origins[path[:length]]
                return file, (*origin, *path[length:])
        return self.file, path


def _as_written(value: Any, path: Path) -> Path:
    """Return a path through the file: in `search: {query: a}`, the arguments are under the tool's name."""
    steps: list[str | int] = []
    for step in path:
        short = step == "args" and isinstance(value, dict) and len(value) == 1 and step not in value
        steps.append(next(iter(value)) if short else step)
        try:
            value = value[steps[-1]]
        except (KeyError, IndexError, TypeError):  # the rest of the path was added by Rightcall
            value = None
    return tuple(steps)


_SUSPICIOUS = 0.85
"""How similar an unknown key must be to a missing one to count as a typing error."""

_KINDS: dict[type, str] = {str: "a string", dict: "an object", list: "a list", bool: "true or false"}


class SourceObject:
    """An object in another tool's file. Keys are asked for in snake_case; the file may have them in camelCase.

    Raises:
        DocumentError: it is not an object.
    """

    def __init__(self, file: SourceFile, value: Any, path: Path = ()) -> None:
        self.file = file
        self.path = path
        if not isinstance(value, dict):
            raise file.problem(f"an object is expected, not {shown(value)}", path)
        self.value: dict[str, Any] = value
        self._asked: set[str] = set()

    def place(self, *steps: str | int) -> Path:
        """Return the path of something inside it."""
        return (*self.path, *steps)

    def problem(self, message: str, *steps: str | int) -> DocumentError:
        """Return the exception for a mistake in something inside it."""
        return self.file.problem(message, self.place(*steps))

    def has(self, key: str) -> bool:
        """Return whether the key has a value other than null."""
        return self.get(key) is not None

    def get(self, key: str) -> Any:
        """Return the value of a key, None if it is missing."""
        self._asked.update((key, camel(key)))
        if key in self.value and camel(key) in self.value and camel(key) != key:
            raise self.problem(f"{key!r} is given twice, in snake_case and in camelCase", key)
        return self.value.get(key, self.value.get(camel(key)))

    def text(self, key: str, default: str | None = None) -> str:
        """Return the text of a key. It is required unless there is a default."""
        return str(self._of(str, key, default))

    def object(self, key: str) -> SourceObject | None:
        """Return the object of a key, if there is one."""
        return SourceObject(self.file, self.get(key), self.place(key)) if self.has(key) else None

    def items(self, key: str, *, required: bool = False) -> list[Any]:
        """Return the list of a key. An optional list that is missing is empty."""
        items: list[Any] = self._of(list, key, None if required else [])
        return items

    def objects(self, key: str, *, required: bool = False) -> list[SourceObject]:
        """Return the objects in the list of a key."""
        items = self.items(key, required=required)
        return [SourceObject(self.file, item, self.place(key, number)) for number, item in enumerate(items)]

    def rest(self, known: Iterable[str] = ()) -> dict[str, Any]:
        """Return the keys that were not asked for.

        Other tools ignore keys that they do not know, so these are kept, unless one is nearly the same as a known key
        that is missing.

        Raises:
            DocumentError: a key is misspelt.
        """
        from difflib import get_close_matches

        spellings = {*self._asked, *known, *map(camel, known)}
        absent = [key for key in spellings if key not in self.value]
        for key in self.value:
            close = get_close_matches(key, absent, n=1, cutoff=_SUSPICIOUS) if key not in spellings else []
            if close:
                raise self.problem(f"unknown key {key!r}; did you mean {close[0]!r}?", key)
        return {key: value for key, value in self.value.items() if key not in self._asked}

    def _of(self, kind: type, key: str, default: Any) -> Any:
        value = self.get(key)
        if value is None and default is None:
            self.rest()  # a misspelt key is the better message
            raise self.problem(f"{key!r} is missing")
        if value is None:
            return default
        if not isinstance(value, kind):
            raise self.problem(f"{key}: {_KINDS[kind]} is expected, not {shown(value)}", key)
        return value
