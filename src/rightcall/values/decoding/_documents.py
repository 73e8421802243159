"""YAML and JSON files that people write: values with the line and column of each, and edits of the text."""

from __future__ import annotations

import base64
import json
import re
import zlib
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import msgspec

from rightcall._lazy import lazy_pattern, light_imports
from rightcall.errors import DocumentError
from rightcall.limits import DEFAULT_LIMITS, Limits

if TYPE_CHECKING:
    from array import array


_PLAIN = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
}
# YAML 1.2.2, section 10.3.2: how the core schema resolves plain scalars. PyYAML's own rules are those of 1.1.
_INTEGER = lazy_pattern(r"[-+]?[0-9]+")
_BASED = lazy_pattern(r"0o[0-7]+|0x[0-9a-fA-F]+")
_FLOAT = lazy_pattern(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
_SPECIAL = lazy_pattern(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
_TAGS = {"tag:yaml.org,2002:str", "tag:yaml.org,2002:seq", "tag:yaml.org,2002:map"}
_BINARY = "tag:yaml.org,2002:binary"
Path: TypeAlias = tuple[str | int, ...]
"""The path to a value in a document: keys and indices."""
_SPACE = lazy_pattern(r"[ \t\n\r]*")
_COLON = lazy_pattern(r"[ \t\n\r]*:[ \t\n\r]*")
_COMMA = lazy_pattern(r"[ \t\n\r]*(,?)[ \t\n\r]*")
_DECODER = json.JSONDecoder()
_BETWEEN = lazy_pattern(r"(?:\s|#[^\r\n]*)*")


def decode_document(data: str | bytes, limits: Limits = DEFAULT_LIMITS) -> Document:
    """Decode a string in YAML or JSON, with the line and column of everything in it.

    Raises:
        DocumentError: the text is neither, names a key twice, or exceeds the limits.
    """
    if len(data) > limits.text_bytes:
        raise DocumentError(f"a string of {len(data):,} bytes exceeds the limit of {limits.text_bytes:,}", 1, 1)
    try:
        text = (data if isinstance(data, str) else data.decode("utf-8")).removeprefix("\ufeff")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise DocumentError("the text is not UTF-8", line, 1) from None
    if not text.lstrip().startswith(("{", "[")):
        return decode_located_yaml(text, limits)
    try:
        return decode_located_json(text, limits)
    except TooDeepError:
        raise  # libyaml's composer recurses for each level, and would overflow the C stack
    except DocumentError as problem:
        return _flow_yaml(text, limits, problem)


_BEGINS_NOTHING = "found character that cannot start any token"
_TAB = "lines are indented with spaces in YAML, and this is a tab"
_INDENTATION = "check the indentation of this line and of the one above"
_PLAINLY = {
    _BEGINS_NOTHING: "no value begins with this character; put the value into quotes",
    "found a tab character that violates indentation": _TAB,
    "mapping values are not allowed in this context": (
        f"a key is not expected here: {_INDENTATION}, and quote text with ': '"
    ),
    "did not find expected key": f"a key is expected here: {_INDENTATION}",
    "did not find expected '-' indicator": f"an item that begins with '-' is expected here: {_INDENTATION}",
    "found unexpected end of stream": "the document ends before a quotation mark is closed",
}
"""The messages of libyaml, reworded for the author of an eval set."""


def decode_located_yaml(text: str, limits: Limits) -> Document:
    """Decode a YAML document with its positions, restricted to values that JSON has.

    `NO`, `12:30` and `2026-01-01` are strings, as in the core schema of YAML 1.2 (section 10.3). Duplicate keys, tags,
    and keys that are not strings are refused.

    Raises:
        DocumentError: the text is not such a document, or exceeds the limits.
    """
    root = _composed(text, limits, limits.nodes)
    made = _Construction(limits)
    return Document(made.value(root, (), root), made.position)


def decode_yaml(text: str, limits: Limits) -> Any:
    """Decode a YAML document that a program wrote, such as a cassette of VCR: binary data is read as text.

    It may have a tenth of the values that JSON may have, as a node of YAML takes ten times as much memory as a value.

    Raises:
        DocumentError: the text is not such a document, or exceeds the limits.
    """
    root = _composed(text, limits, limits.nodes // 10)
    return _Construction(limits, reads_binary=True).value(root, (), root)


def _composed(text: str, limits: Limits, most_nodes: int) -> Any:
    with light_imports("yaml"):
        import yaml

    try:
        root = yaml.compose(text, Loader=_bounded_loader(limits.depth, most_nodes))
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        reason = str(problem.problem or problem.context)
        is_tab = _BEGINS_NOTHING in reason and mark is not None and text[mark.index : mark.index + 1] == "\t"
        raise DocumentError(_TAB if is_tab else _PLAINLY.get(reason, reason), line, column) from None
    except (yaml.YAMLError, UnicodeError) as problem:
        raise DocumentError(f"not YAML: {str(problem).splitlines()[0]}", 1, 1) from None
    if root is None:
        raise DocumentError("the document is empty", 1, 1)
    return root


@lru_cache(maxsize=4)
def _bounded_loader(most: int, most_nodes: int) -> type[Any]:
    """Return a YAML loader class that refuses to nest deeper than `most` levels, and to make more nodes."""
    import yaml

    # libyaml's loader is many times faster, but not every build of PyYAML has it.
    base: type[Any] = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

    class BoundedLoader(base):  # type: ignore[misc]
        depth = nodes = 0

        # libyaml's composer recurses in C for each level, and 100,000 of them would overflow the C stack. It calls
        # these two methods before and after each node; those of the base class only look for path resolvers.
        def descend_resolver(self, node: Any, index: Any) -> None:
            self.depth += 1
            self.nodes += 1
            if self.nodes > most_nodes:
                raise DocumentError("more values than the limits allow", *_begin_of(node))
            if self.depth > most + 1:
                raise DocumentError(f"nested deeper than the limit of {most} levels", *_begin_of(node))

        def ascend_resolver(self) -> None:
            self.depth -= 1

    return BoundedLoader


def _begin_of(node: Any) -> tuple[int, int]:
    mark = getattr(node, "start_mark", None)
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


def _flow_yaml(text: str, limits: Limits, problem: DocumentError) -> Document:
    """Try YAML for a string that begins like JSON; if it is not YAML either, report the problem with the JSON."""
    try:
        return decode_located_yaml(text, limits)
    except DocumentError:
        raise problem from None


class _Construction(msgspec.Struct):
    """A walk over the nodes of one YAML document."""

    limits: Limits
    positions: dict[Path, Position] = {}
    seen: dict[int, int] = {}
    """How often each node was visited."""
    nodes: int = 0
    aliases: int = 0
    reads_binary: bool = False

    def position(self, path: Path) -> Position:
        """Return the position of a value or, if it has none, of the nearest that contains it."""
        while path not in self.positions and path:
            path = path[:-1]
        return self.positions[path]

    def value(self, node: Any, path: Path, begin: Any) -> Any:
        """Return the value of a node, and record the position of the node `begin` for it."""
        self.positions[path] = Position(begin.start_mark.line + 1, begin.start_mark.column + 1)
        self.nodes += 1
        self.seen[id(node)] = self.seen.get(id(node), 0) + 1
        # An alias is visited once for each use, so a few lines can stand for billions of values ("billion laughs").
        self.aliases += self.seen[id(node)] > 1
        if len(path) > self.limits.depth:
            raise _problem(f"nested deeper than the limit of {self.limits.depth} levels", node)
        if self.nodes > self.limits.nodes or self.aliases > self.limits.aliases:
            raise _problem("more values or aliases than the limits allow", node)
        if self.reads_binary and node.tag == _BINARY:
            return _text_of(node, self.limits)
        if node.tag not in _TAGS:
            raise _problem(f"the tag {str(node.tag)[:80]!r} is not allowed; write plain values", node)
        kind = type(node).__name__
        if kind == "SequenceNode":
            return [self.value(item, (*path, index), item) for index, item in enumerate(node.value)]
        if kind != "MappingNode":
            return _scalar(node)
        value: dict[str, Any] = {}
        for key_node, item in node.value:
            key = _scalar(key_node) if type(key_node).__name__ == "ScalarNode" else None
            if not isinstance(key, str):
                found = getattr(key_node, "value", "")
                raise _problem(f"a key must be a string; write {str(found)[:40]!r} in quotes", key_node)
            if key in value:
                raise _problem(f"the key {key[:40]!r} occurs twice in one object", key_node)
            value[key] = self.value(item, (*path, key), key_node)
        return value


def _text_of(node: Any, limits: Limits) -> str:
    """Return the text in binary data of YAML. Answers over HTTP are often recorded as they were sent, in gzip."""
    try:
        data = base64.b64decode(node.value)
        if data.startswith(b"\x1f\x8b"):
            unpacking = zlib.decompressobj(wbits=31)  # gzip's header and checksum, with the largest window
            data = unpacking.decompress(data, limits.text_bytes + 1)
            if len(data) > limits.text_bytes:
                raise _problem(f"binary data of more than {limits.text_bytes:,} bytes, unpacked", node)
    except (ValueError, zlib.error) as problem:
        raise _problem(f"damaged binary data: {problem}", node) from None
    return data.decode("utf-8", "replace")


def _scalar(node: Any) -> Any:
    text: str = node.value
    if node.style:
        return text
    if text in _PLAIN:
        return _PLAIN[text]
    if text[0] not in "+-.0123456789":  # no number begins with another character, and most strings are words
        return text
    base = 10 if _INTEGER.fullmatch(text) else 0
    if base or _BASED.fullmatch(text):
        # Python's own limit for parsing integers, which takes quadratic time (CVE-2020-10735).
        if len(text) > 4_300:
            raise _problem(f"an integer of {len(text):,} digits is too large", node)
        return int(text, base)
    if _FLOAT.fullmatch(text) or _SPECIAL.fullmatch(text):
        return float(text if _FLOAT.fullmatch(text) else text.lower().replace(".", ""))
    return text


def _problem(message: str, node: Any) -> DocumentError:
    return DocumentError(message, node.start_mark.line + 1, node.start_mark.column + 1)


class Position(msgspec.Struct, frozen=True):
    """A place in a string, counted from 1."""

    line: int
    column: int


class Document(NamedTuple):
    """A decoded value, and the positions of its parts: keys of objects, and items of lists."""

    value: Any
    position: Callable[[Path], Position]
    """Returns the position of a part or, if unknown, of the nearest part that contains it."""


class TooDeepError(DocumentError):
    """A JSON string is nested deeper than the limit."""


def decode_located_json(text: str, limits: Limits) -> Document:
    """Decode a JSON document with its positions. Duplicate keys are refused.

    Raises:
        DocumentError: the text is not JSON, names a key twice, or is too deep (`TooDeepError`).
    """
    try:
        value = _STRICT.decode(text)
        is_right = _is_within(value, limits.depth)
    except (ValueError, RecursionError):
        is_right = False
    return Document(value if is_right else _Scanner(text, limits).value(), _Places(text).position)


def _object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError
    return made


# This decoder only finds out whether a string is right. `_Scanner`, thirty times slower, says what is wrong and where.
_STRICT = json.JSONDecoder(object_pairs_hook=_object_of)


def _is_within(value: Any, depth: int) -> bool:
    """Return whether no value is nested deeper than `depth`."""
    level = [value]
    for _ in range(depth):
        held = [each.values() if type(each) is dict else each for each in level if type(each) in (dict, list)]
        if not held:
            return True
        level = [each for values in held for each in values]
    return not any([each for each in level if type(each) in (dict, list)])


class _Places:
    """Find positions in a JSON string on demand.

    Few are ever needed: those of mistakes and of findings. Recording all of them took a quarter of the time of loading
    an eval set of 10,000 cases, and more memory than everything else.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._containers: dict[int, _Container] = {}

    def position(self, path: Path) -> Position:
        """Return the position of a part or, if there is no such part, of the nearest one that contains it."""
        at = place = _after_space(self._text, 0)
        for step in path:
            found = self._container(place).member(step) if self._text[place] in "{[" else None
            if found is None:
                break
            at, place = found
        line = bisect_right(self._lines, at)
        return Position(line, at - self._lines[line - 1] + 1)

    def _container(self, place: int) -> _Container:
        if place not in self._containers:
            self._containers[place] = _Container(self._text, place)
        return self._containers[place]

    @cached_property
    def _lines(self) -> array[int]:
        """The offset at which each line begins."""
        from array import array

        lines = array("Q", [0])
        lines.extend(found.end() for found in re.finditer("\n", self._text))
        return lines


class _Container:
    """An object or list in a valid JSON text. Its members are located one by one, as far as needed."""

    __slots__ = ("_is_object", "_members", "_next", "_text")

    def __init__(self, text: str, place: int) -> None:
        self._text, self._is_object = text, text[place] == "{"
        self._members: dict[str | int, tuple[int, int]] = {}
        first = _after_space(text, place + 1)
        self._next = -1 if text[first] in "}]" else first

    def member(self, step: str | int) -> tuple[int, int] | None:
        """Return the offsets of a member and of its value; `None` if there is no such member."""
        while step not in self._members and self._next >= 0:
            self._read(self._next)
        return self._members.get(step)

    def _read(self, at: int) -> None:
        """Record the member at an offset, and find the next one."""
        step: str | int = len(self._members)
        place = at
        if self._is_object:
            step, end = _DECODER.raw_decode(self._text, at)
            place = _COLON.match(self._text, end).end()  # type: ignore[union-attr]
        self._members[step] = at, place
        comma = _COMMA.match(self._text, _DECODER.raw_decode(self._text, place)[1])
        self._next = comma.end() if comma and comma[1] else -1


def _after_space(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return found.end() if found else place


class _Scanner:
    """A walk through an invalid JSON text up to its first mistake."""

    def __init__(self, text: str, limits: Limits) -> None:
        self._text = text
        self._limits = limits

    def value(self) -> Any:
        """Return the value if nothing is wrong. Raises `DocumentError`."""
        value, end = self._value(self._skip(0), 0)
        if self._skip(end) != len(self._text):
            raise self._problem("there is more text after the end of the document", self._skip(end))
        return value

    def _value(self, start: int, depth: int) -> tuple[Any, int]:
        if depth > self._limits.depth:
            problem = self._problem(f"nested deeper than the limit of {self._limits.depth} levels", start)
            raise TooDeepError(str(problem), problem.line, problem.column)
        opener = self._text[start : start + 1]
        if opener == "{":
            return self._object(start + 1, depth + 1)
        if opener == "[":
            return self._list(start + 1, depth + 1)
        return self._scalar(start)

    def _object(self, start: int, depth: int) -> tuple[dict[str, Any], int]:
        value: dict[str, Any] = {}
        place = self._skip(start)
        if self._text[place : place + 1] == "}":
            return value, place + 1
        while True:
            at = place
            if self._text[at : at + 1] != '"':
                raise self._problem("a key in double quotes is expected", at)
            key, place = self._scalar(at)
            if key in value:
                # RFC 8259, section 4, leaves open which of two values counts; what people write twice is a mistake.
                raise self._problem(f"the key {key[:40]!r} occurs twice in one object", at)
            place = self._expect(":", self._skip(place))
            value[key], place = self._value(self._skip(place), depth)
            place, done = self._next(place, "}")
            if done:
                return value, place

    def _list(self, start: int, depth: int) -> tuple[list[Any], int]:
        value: list[Any] = []
        place = self._skip(start)
        if self._text[place : place + 1] == "]":
            return value, place + 1
        while True:
            item, place = self._value(place, depth)
            value.append(item)
            place, done = self._next(place, "]")
            if done:
                return value, place

    def _scalar(self, start: int) -> tuple[Any, int]:
        try:
            return _DECODER.raw_decode(self._text, start)
        except ValueError:
            what = "a string that does not end, or has an escape that JSON does not know"
            raise self._problem(
                what if self._text[start : start + 1] == '"' else "a value is expected", start
            ) from None

    def _next(self, place: int, closer: str) -> tuple[int, bool]:
        place = self._skip(place)
        if self._text[place : place + 1] == closer:
            return place + 1, True
        return self._skip(self._expect(",", place)), False

    def _expect(self, mark: str, place: int) -> int:
        if self._text[place : place + 1] != mark:
            raise self._problem(f"{mark!r} is expected", place)
        return place + 1

    def _skip(self, place: int) -> int:
        return _after_space(self._text, place)

    def _problem(self, message: str, offset: int) -> DocumentError:
        before = self._text[:offset]
        return DocumentError(message, before.count("\n") + 1, len(before) - before.rfind("\n"))


class Member(msgspec.Struct):
    """One key of an object with its value, or one item of a list."""

    begin: int
    """The offset of its key, of its dash or, in brackets, of the item itself."""
    value: Node

    @property
    def end(self) -> int:
        """The offset at which it ends."""
        return self.value.end


class Node(msgspec.Struct):
    """A value in a string, from `start` up to but not including `end`.

    Comments and empty lines after a value are not part of it. An empty value, as in `key:`, has the same start and end.
    """

    kind: Literal["object", "list", "scalar"]
    start: int
    end: int
    bracketed: bool = False
    """Whether it is an object or a list in brackets, rather than an indented one."""
    shared: bool = False
    """Whether it has an anchor, to which aliases may refer, or a tag."""
    entries: list[Member] = []
    """Its keys or items, in the order of the text."""


def find_spans(text: str, *, is_json: bool) -> Node:
    """Return the offsets of everything in the text of a document that `decode_document` accepts."""
    return _Json(text).node(0)[0] if is_json else _Yaml(text).node()


def is_json(text: str, limits: Limits = DEFAULT_LIMITS) -> bool:
    """Return whether the text of a document is JSON, rather than YAML."""
    if not text.lstrip().startswith(("{", "[")):
        return False
    try:
        decode_located_json(text, limits)
    except DocumentError:
        return False
    return True


class Edit(msgspec.Struct, frozen=True):
    """A replacement of the characters from `start` up to `end` of a string."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a string with edits applied. They must be in order and not overlap."""
    pieces, place = [], 0
    for edit in edits:
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*pieces, text[place:]])


class _Json:
    """Walk through one JSON text, and find where each value begins and ends."""

    def __init__(self, text: str) -> None:
        self._text = text

    def node(self, place: int) -> tuple[Node, int]:
        start = self._skip(place)
        # `find_spans` requires a string that was decoded before, so nothing is checked again.
        opener = self._text[start]
        if opener not in "{[":
            end = _DECODER.raw_decode(self._text, start)[1]
            return Node("scalar", start, end), end
        entries: list[Member] = []
        place = self._skip(start + 1)
        while self._text[place] not in "}]":
            begin = place
            if opener == "{":
                place = self._skip(_DECODER.raw_decode(self._text, place)[1]) + 1
            value, place = self.node(place)
            entries.append(Member(begin, value))
            place = self._skip(place)
            if self._text[place] == ",":
                place = self._skip(place + 1)
        return Node("object" if opener == "{" else "list", start, place + 1, True, False, entries), place + 1

    def _skip(self, place: int) -> int:
        found = _SPACE.match(self._text, place)
        return found.end() if found else place


class _Yaml:
    """A walk through one YAML text that is known to be valid."""

    def __init__(self, text: str) -> None:
        import yaml

        self._text = text
        self._events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CBaseLoader", yaml.BaseLoader))

    def node(self) -> Node:
        event = next(self._events)
        while type(event).__name__ in ("StreamStartEvent", "DocumentStartEvent"):
            event = next(self._events)
        return self._node(event)

    def _node(self, event: Any) -> Node:
        kind, start = type(event).__name__, event.start_mark.index
        shared = getattr(event, "tag", None) is not None or (kind != "AliasEvent" and event.anchor is not None)
        if kind == "MappingStartEvent":
            return self._collection(Node("object", start, start, bool(event.flow_style), shared))
        if kind == "SequenceStartEvent":
            return self._collection(Node("list", start, start, bool(event.flow_style), shared))
        end = event.end_mark.index
        # libyaml ends a block scalar after the empty lines that follow it, which may belong to the next item.
        if getattr(event, "style", None) in ("|", ">"):
            while end > start and self._text[end - 1] in " \t\r\n":
                end -= 1
        return Node("scalar", start, end, False, shared)

    def _collection(self, node: Node) -> Node:
        node.entries = []
        end = node.start
        while not type(event := next(self._events)).__name__.endswith("EndEvent"):
            begin = event.start_mark.index
            if node.kind == "object":
                self._node(event)
                value = self._node(next(self._events))
            else:
                begin = begin if node.bracketed else self._dash(end)
                value = self._node(event)
            node.entries.append(Member(begin, value))
            end = value.end
        node.end = event.end_mark.index if node.bracketed else end
        return node

    def _dash(self, place: int) -> int:
        # No parser event has the offset of a dash. It is the first thing after the previous item that is not a comment.
        found = _BETWEEN.match(self._text, place)
        return found.end() if found else place
