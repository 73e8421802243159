"""Where each value of a document begins and ends in its text, and edits of that text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from rightcall.errors import DocumentError
from rightcall.limits import DEFAULT_LIMITS, Limits

from ._located_json import decode_located_json

_SPACE = re.compile(r"[ \t\n\r]*")
_BETWEEN = re.compile(r"(?:\s|#[^\r\n]*)*")
_DECODER = json.JSONDecoder()


class Member(msgspec.Struct):
    """One key of an object with its value, or one item of a list."""

    begin: int
    """Where it begins: at its key, at its dash or, in brackets, at the item itself."""
    value: Node

    @property
    def end(self) -> int:
        """Where it ends."""
        return self.value.end


class Node(msgspec.Struct):
    """A value in a text, from `start` up to, and not including, `end`.

    Comments and empty lines after a value are not part of it. A value that is not written has the same start and end.
    """

    kind: Literal["object", "list", "scalar"]
    start: int
    end: int
    bracketed: bool = False
    """Whether it is an object or a list in brackets, rather than one by indentation."""
    shared: bool = False
    """Whether it has a name, by which other places in the document may mean it, or a tag."""
    entries: list[Member] = []
    """Its keys or items, in the order they are written."""


def find_spans(text: str, *, is_json: bool) -> Node:
    """Return where everything is in the text of a document that `decode_document` accepts."""
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
    """The characters from `start` up to `end` of a text become other ones."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """Return a text with edits applied; they are in order and do not overlap."""
    pieces, place = [], 0
    for edit in edits:
        pieces += [text[place : edit.start], edit.text]
        place = edit.end
    return "".join([*pieces, text[place:]])


class _Json:
    """One walk through one JSON text."""

    def __init__(self, text: str) -> None:
        self._text = text

    def node(self, place: int) -> tuple[Node, int]:
        start = self._skip(place)
        # The text was decoded before (`find_spans` says so), so nothing is checked again.
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
    """One walk through one YAML text, which is known to be right."""

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
        # No event of the parser has the place of a dash: the first thing after the last item that is not a comment.
        found = _BETWEEN.match(self._text, place)
        return found.end() if found else place
