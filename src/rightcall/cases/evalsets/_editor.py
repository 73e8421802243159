"""Change values in a YAML or JSON text, in the style of that text, and leave every other character as it is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from rightcall.errors import DocumentError
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.alignment import common_subsequence
from rightcall.matching.matchers import equal
from rightcall.values.decoding import Edit, Member, Node, Path, apply_edits, decode_document, find_spans, is_json

_BLANK = " \t\r\n"
_WIDTH = 100
# Strings without quotes: fewer than the plain scalars of YAML 1.2 (section 7.3.3), none with `:` or `#` in them.
_PLAIN = re.compile(r"[A-Za-z_$](?:[\w ./()'$-]*[\w.)'$])?", re.ASCII)
# Words that YAML 1.1 reads as booleans are quoted, though 1.2 reads strings: many editors and tools still use 1.1.
_OTHER_MEANING = re.compile(r"null|true|false|yes|no|on|off|y|n", re.IGNORECASE)
# All but the printable characters of YAML 1.2 (section 5.1), minus tabs, line separators and the byte order mark.
_UNPRINTABLE = re.compile("[^\n\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


class _Context(msgspec.Struct, frozen=True):
    """Where a value is in the text."""

    column: int
    """The column of the key or dash before it."""
    bracketed: bool = False
    """Whether it is inside brackets, at any depth."""
    is_item: bool = False
    """Whether it is an item of a list rather than the value of a key."""


class DocumentEditor:
    """Changes values in the text of a document.

    Other values, comments, order, quotes and indentation are not touched. In a list or an object, only the entries that
    are added, removed or different are. ruamel.yaml could round-trip comments, but it re-flows the rest of the file.

    Raises:
        DocumentError: the text is not YAML or JSON.
    """

    def __init__(self, text: str, limits: Limits = DEFAULT_LIMITS) -> None:
        self._text = text
        self._limits = limits
        self.value: Any = decode_document(text, limits).value
        """The decoded text, before any change."""
        self._is_json = is_json(text, limits)
        self._style: YamlStyle | JsonStyle = JsonStyle(text) if self._is_json else YamlStyle(text)
        self._root = find_spans(text, is_json=self._is_json)
        self._edits: list[Edit] = []

    def change(self, path: Path, value: Any) -> None:
        """Set the value at a path. Changes must not be inside each other.

        Raises:
            DocumentError: the value, or a part of it, has an anchor or a tag, so other places may share it.
        """
        before = len(self._edits)  # a change is made as a whole or not at all
        try:
            self._change_at(path, value)
        except DocumentError:
            del self._edits[before:]
            raise

    def rewrite(self, path: Path, value: Any) -> None:
        """Set the value at a path, on lines of its own if it was in brackets on one line.

        Raises:
            DocumentError: the value, or a part of it, has an anchor or a tag, so other places may share it.
        """
        node, old, place = self._located(path)
        if equal(old, value) or not node.bracketed or place.bracketed:
            self.change(path, value)
        else:
            self._replace(node, value, place)

    def text(self) -> str:
        """Return the text with all changes."""
        return apply_edits(self._text, self.edits())

    def edits(self) -> list[Edit]:
        """Return all changes in the order of the text. They do not overlap."""
        # At the same position, an insertion comes before a removal.
        return sorted(self._edits, key=lambda edit: (edit.start, edit.end > edit.start))

    def _change_at(self, path: Path, value: Any) -> None:
        node, old, place = self._located(path)
        self._change(node, old, value, place)

    def _located(self, path: Path) -> tuple[Node, Any, _Context]:
        """Return the node, the value and the surroundings of a path."""
        node, old, place = self._root, self.value, _Context(0)
        for step in path:
            self._check(node)
            keys: list[Any] = list(old) if isinstance(old, dict) else list(range(len(old)))
            entry = node.entries[keys.index(step)] if isinstance(step, str) else node.entries[step]
            place = self._inside(node, entry, place)
            node, old = entry.value, old[step]
        return node, old, place

    def _change(self, node: Node, old: Any, new: Any, place: _Context) -> None:
        if equal(old, new):
            return
        self._check(node)
        # An entry that is kept keeps its comments, so change entries where possible, and replace the whole otherwise.
        changes = diff_entries(old, new) if node.kind != "scalar" else None
        if changes is None or not self._change_entries(node, changes, place):
            self._replace(node, new, place)

    def _change_entries(self, node: Node, changes: list[EntryChange], place: _Context) -> bool:
        """Change single entries of an object or a list. False if they cannot be distinguished by lines or brackets."""
        gone = [change for change in changes if change.is_gone]
        added = [change for change in changes if change.old is None]
        if not node.bracketed and not self._can_move_lines(node, changes, gone):
            return False
        for change in changes:
            if change.old is not None and not change.is_gone:
                entry = node.entries[change.old]
                self._change(entry.value, change.before, change.after, self._inside(node, entry, place))
        for change in gone:
            self._check_all(node.entries[change.old or 0].value)
        if gone or added:
            (_Brackets if node.bracketed else _Lines)(self._text, self._style, node, self._edits).apply(changes)
        return True

    def _can_move_lines(self, node: Node, changes: Sequence[EntryChange], gone: Sequence[EntryChange]) -> bool:
        """Return whether each added or removed entry has lines to itself."""
        if changes[0].old is None and not self._begins_line(node.entries[0]):
            return False
        return all(self._begins_line(node.entries[change.old or 0]) for change in gone)

    def _begins_line(self, entry: Member) -> bool:
        return not self._text[line_start(self._text, entry.begin) : entry.begin].strip(" ")

    def _replace(self, node: Node, new: Any, place: _Context) -> None:
        self._check_all(node)
        start, style = node.start, self._style
        if isinstance(style, JsonStyle):
            long = "\n" in self._text[node.start : node.end]
            lines = style.value(new, indent_of(self._text, start), long=long)
        elif place.bracketed:
            lines = [" " * (start == node.end) + style.inline(new)]
        else:
            start = self._after_mark(node)
            # A comment between the colon and the value forces the value onto its own line.
            own_line = start == node.start != node.end
            lines = [style.inline(new)] if own_line else style.value(new, place.column, is_item=place.is_item)
        self._edits.append(Edit(start, node.end, style.newline.join(lines)))

    def _after_mark(self, node: Node) -> int:
        """Return the end of the colon or dash before a value, if only whitespace is between."""
        place = node.start
        while place and self._text[place - 1] in _BLANK:
            place -= 1
        return place if place and self._text[place - 1] in ":-" and place < node.start else node.start

    def _inside(self, node: Node, entry: Member, place: _Context) -> _Context:
        if place.bracketed or node.bracketed:
            return _Context(place.column, bracketed=True)
        return _Context(entry.begin - line_start(self._text, entry.begin), is_item=node.kind == "list")

    def _check(self, node: Node) -> None:
        # An edit of an anchored value would change every place that refers to it.
        if node.shared:
            line = self._text.count("\n", 0, node.start) + 1
            column = node.start - line_start(self._text, node.start) + 1
            message = f"line {line} has an anchor or a tag, so other places may share its value; change it by hand"
            raise DocumentError(message, line, column)

    def _check_all(self, node: Node) -> None:
        self._check(node)
        for entry in node.entries:
            self._check_all(entry.value)


class _Entries:
    """Adds and removes entries of one object or list."""

    def __init__(self, text: str, style: YamlStyle | JsonStyle, node: Node, edits: list[Edit]) -> None:
        self._text, self._style, self._node, self._edits = text, style, node, edits

    def _edit(self, start: int, end: int, text: str) -> None:
        self._edits.append(Edit(start, end, text))


class _Lines(_Entries):
    """Adds and removes entries that have lines to themselves."""

    def apply(self, changes: Sequence[EntryChange]) -> None:
        entries = self._node.entries
        column = entries[0].begin - line_start(self._text, entries[0].begin)
        last: Member | None = None
        leading: list[str] = []
        for change in changes:
            if change.is_gone:
                entry = entries[change.old or 0]
                begin = self._end_of_line_before(entry.begin)
                self._edit(begin, line_end(self._text, entry.end), "")
            elif change.old is not None:
                last = entries[change.old]
            elif last is None:
                leading += self._lines(change, column)
            else:
                lines = ["", *self._lines(change, column)]
                self._edit(line_end(self._text, last.end), line_end(self._text, last.end), self._joined(lines))
        if leading:
            first = next(entries[change.old] for change in changes if change.old is not None and not change.is_gone)
            begin = line_start(self._text, first.begin)
            self._edit(begin, begin, self._joined([*leading, ""]))

    def _lines(self, change: EntryChange, column: int) -> list[str]:
        if change.copied is not None:  # moved: keep its text, with quotes and comments
            entry = self._node.entries[change.copied]
            return [" " * column + self._text[entry.begin : entry.end]]
        assert isinstance(self._style, YamlStyle), "JSON is always in brackets"  # noqa: S101
        return self._style.entry(change.key, change.after, column)

    def _joined(self, lines: list[str]) -> str:
        return self._style.newline.join(lines)

    def _end_of_line_before(self, place: int) -> int:
        begin = line_start(self._text, place)
        return begin if begin == 0 else line_end(self._text, begin - len(self._style.newline))


class _Brackets(_Entries):
    """Adds and removes entries in brackets, with commas between them."""

    def apply(self, changes: Sequence[EntryChange]) -> None:
        entries = self._node.entries
        kept = [change.old for change in changes if change.old is not None and not change.is_gone]
        separator = self._separator()
        last: int | None = None
        leading: list[str] = []
        for change in changes:
            if change.is_gone:
                self._take_out(change.old or 0, last, kept)
            elif change.old is not None:
                last = change.old
            elif last is None:
                leading.append(self._written(change) + separator)
            else:
                self._edit(entries[last].end, entries[last].end, separator + self._written(change))
        if leading:
            begin = entries[kept[0]].begin
            self._edit(begin, begin, "".join(leading))

    def _take_out(self, number: int, last: int | None, kept: Sequence[int]) -> None:
        entries = self._node.entries
        # After the last entry that is kept, the comma before goes; otherwise the comma behind.
        if last is not None and last == kept[-1]:
            before = entries[number - 1].end
            self._edit(before, entries[number].end, "")
        else:
            self._edit(entries[number].begin, entries[number + 1].begin, "")

    def _written(self, change: EntryChange) -> str:
        if change.copied is not None:
            entry = self._node.entries[change.copied]
            return self._text[entry.begin : entry.end]
        if change.key is not None:
            return self._style.pair(change.key, change.after)
        if not isinstance(self._style, JsonStyle):
            return self._style.inline(change.after)
        entry = self._node.entries[0]
        long = "\n" in self._text[entry.begin : entry.end]
        lines = self._style.value(change.after, indent_of(self._text, entry.begin), long=long)
        return self._style.newline.join(lines)

    def _separator(self) -> str:
        """Return the text between two entries, as the file has it."""
        entries = self._node.entries
        if len(entries) > 1:
            between = self._text[entries[0].end : entries[1].begin]
            if "#" not in between:
                return between
        before = self._text[self._node.start + 1 : entries[0].begin]
        return f",{before}" if "\n" in before and "#" not in before else self._style.comma


def indent_of(text: str, place: int) -> str:
    """Return the indentation of the line at an offset."""
    line = text[line_start(text, place) : place]
    return line[: len(line) - len(line.lstrip())]


def line_start(text: str, place: int) -> int:
    """Return the offset where the line begins."""
    return text.rfind("\n", 0, place) + 1


def line_end(text: str, place: int) -> int:
    """Return the offset where the line ends, before its line ending."""
    end = text.find("\n", place)
    if end < 0:
        return len(text)
    return end - 1 if end > place and text[end - 1] == "\r" else end


class EntryChange(msgspec.Struct, frozen=True):
    """One entry that is kept (with its value or another), removed or added."""

    old: int | None
    """Its former index; None if it is added."""
    key: str | None = None
    before: Any = None
    after: Any = None
    is_gone: bool = False
    copied: int | None = None
    """The former index of an added entry that only moves."""


def diff_entries(old: Any, new: Any) -> list[EntryChange] | None:
    """Return the changes from one object or list to another, in the new order, with removed entries in between.

    None if no entry is kept, or the two are not of the same type.
    """
    if isinstance(old, dict) and isinstance(new, dict):
        changes = list(_of_objects(old, new))
    elif isinstance(old, list) and isinstance(new, list):
        changes = _of_lists(old, new)
    else:
        return None
    return changes if any(change.old is not None and not change.is_gone for change in changes) else None


def _of_objects(old: dict[str, Any], new: dict[str, Any]) -> Iterator[EntryChange]:
    for number, (key, value) in enumerate(old.items()):
        yield EntryChange(number, key, value, new.get(key), is_gone=key not in new)
    for key in new:
        if key not in old:
            yield EntryChange(None, key, None, new[key])


def _of_lists(old: list[Any], new: list[Any]) -> list[EntryChange]:
    before, after = _pairs(old, new)
    moved: dict[str, list[int]] = {}
    for number, value in enumerate(old):
        if before[number] is None:
            moved.setdefault(_identity(value), []).append(number)
    changes: list[EntryChange] = []
    place = 0
    for number, value in enumerate(new):
        partner = after[number]
        if partner is None:
            copies = moved.get(_identity(value))
            changes.append(EntryChange(None, None, None, value, copied=copies.pop(0) if copies else None))
            continue
        changes += [EntryChange(gone, is_gone=True) for gone in range(place, partner)]
        changes.append(EntryChange(partner, None, old[partner], value))
        place = partner + 1
    return changes + [EntryChange(gone, is_gone=True) for gone in range(place, len(old))]


def _pairs(old: Sequence[Any], new: Sequence[Any]) -> tuple[list[int | None], list[int | None]]:
    """Return for each old item its new index, and for each new one its old index; None if it has no partner."""
    before: list[int | None] = [None] * len(old)
    after: list[int | None] = [None] * len(new)
    # Three passes: equal items first, then, in the gaps between them, items of the same tool, then any two items. Each
    # pass is a longest common subsequence, so that pairs never cross and comments stay with the item they are about.
    gaps = [(0, len(old), 0, len(new))]
    for name in (_identity, _label, _any):
        smaller = []
        for first, end, new_first, new_end in gaps:
            pairs = _common([name(item) for item in old[first:end]], [name(item) for item in new[new_first:new_end]])
            at, new_at = first, new_first
            for one, other in pairs:
                before[first + one], after[new_first + other] = new_first + other, first + one
                smaller.append((at, first + one, new_at, new_first + other))
                at, new_at = first + one + 1, new_first + other + 1
            smaller.append((at, end, new_at, new_end))
        gaps = [gap for gap in smaller if gap[0] < gap[1] and gap[2] < gap[3]]
    return before, after


def _common(old: list[str], new: list[str]) -> list[tuple[int, int]]:
    numbers: dict[str, int] = {}
    numbered = [[numbers.setdefault(name, len(numbers)) for name in names] for names in (old, new)]
    return common_subsequence(*numbered)


def _identity(value: Any) -> str:
    return json.dumps(value)


def _label(value: Any) -> str:
    """Return what an item is about: usually the name of a tool."""
    if isinstance(value, dict) and value:
        return str(value.get("name") or next(iter(value)))
    return str(value)


def _any(value: Any) -> str:
    return ""


def dump_yaml(value: Any) -> str:
    """Return a JSON value as YAML 1.2 that reads back as the same value."""
    return "\n".join(block_lines(value, 0)) + "\n"


def block_lines(value: Any, level: int) -> Iterator[str]:
    """Yield the lines of a value at a nesting level, without the indentation of its surroundings."""
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{_text(key)}:", item, level)
    elif isinstance(value, list) and value:
        for item in value:
            first, *others = (
                block_lines(item, level + 1) if is_long(item, level) or _is_pair(item) else [flow_text(item)]
            )
            yield f"- {first}"
            yield from (f"  {line}" for line in others)
    else:
        yield flow_text(value)


def _entry(key: str, item: Any, level: int) -> Iterator[str]:
    if not is_long(item, level):
        yield f"{key} {flow_text(item)}"
        return
    yield key
    yield from (f"  {line}" for line in block_lines(item, level + 1))


def is_long(value: Any, level: int) -> bool:
    """Return whether a value takes several lines: outer levels always do, and so does what does not fit on one line."""
    if not isinstance(value, (dict, list)) or not value:
        return False
    # Levels 0 to 3 are the set, its cases and their keys, where every nested value gets its own lines.
    return _depth(value) > (1 if level < 4 else 2) or len(flow_text(value)) > _WIDTH - 2 * level


def _is_pair(value: Any) -> bool:
    """Return whether a value is an object with one key, such as a call: a name and its arguments."""
    return isinstance(value, dict) and len(value) == 1


def _depth(value: Any) -> int:
    """Return how deep objects and lists that are not empty are nested."""
    if not isinstance(value, (dict, list)) or not value:
        return 0
    return 1 + max(map(_depth, value.values() if isinstance(value, dict) else value))


def flow_text(value: Any) -> str:
    """Return a value on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_text(key)}: {flow_text(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(flow_text, value)) + "]"
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
    return json.dumps(value)


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and not _OTHER_MEANING.fullmatch(text):
        return text
    quoted = json.dumps(text, ensure_ascii=False)
    return _UNPRINTABLE.sub(lambda found: f"\\u{ord(found[0]):04x}", quoted)


_INDENT = re.compile(r"\n([ \t]+)\S")


class YamlStyle:
    """Writes YAML, in block style where a value is long."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        self.comma = ", "

    def inline(self, value: Any) -> str:
        """Return a value on one line."""
        return flow_text(value)

    def pair(self, key: str, value: Any) -> str:
        """Return a key and its value on one line."""
        return f"{flow_text(key)}: {flow_text(value)}"

    def value(self, value: Any, column: int, *, is_item: bool) -> list[str]:
        """Return the lines of a value after a colon or, for an item, after the dash in this column.

        The first line continues after the colon or dash; the others are whole lines.
        """
        level = column // 2 + 1
        if not is_long(value, level) and not (is_item and isinstance(value, dict) and len(value) == 1):
            return [f" {flow_text(value)}"]
        lines = [" " * (column + 2) + line for line in block_lines(value, level)]
        return [lines[0][column + 1 :], *lines[1:]] if is_item else ["", *lines]

    def entry(self, key: str | None, value: Any, column: int) -> list[str]:
        """Return the lines of a new key of an object, or of a new item of a list, in block style."""
        written: Any = [value] if key is None else {key: value}
        return [" " * column + line for line in block_lines(written, column // 2)]


class JsonStyle:
    """Writes JSON with the indentation, separators and escapes of a file."""

    def __init__(self, text: str) -> None:
        self.newline = newline_of(text)
        found = _INDENT.search(text)
        self._step = found[1] if found else None
        # A file with escapes and no other character was written with `ensure_ascii`, which is the default of json.dump.
        self._is_ascii = text.isascii() and "\\u" in text
        compact = self._step is None and '": ' not in text and '":' in text
        self.comma, self._colon = (",", ":") if compact else (", ", ": ")

    def inline(self, value: Any) -> str:
        """Return a value on one line."""
        return self._dumped(value, None)

    def pair(self, key: str, value: Any) -> str:
        """Return a key and its value on one line."""
        return f"{self._dumped(key, None)}{self._colon}{self._dumped(value, None)}"

    def value(self, value: Any, indent: str, *, long: bool) -> list[str]:
        """Return the lines of a value, all but the first indented.

        There are several if the file is indented and the value is long or replaces one with several lines.
        """
        line = self.inline(value)
        if self._step is None or not (isinstance(value, (dict, list)) and value) or not (long or len(line) > _WIDTH):
            return [line]
        first, *others = self._dumped(value, self._step).split("\n")
        return [first, *[indent + other for other in others]]

    def _dumped(self, value: Any, indent: str | None) -> str:
        separators = (self.comma, self._colon) if indent is None else (",", ": ")
        text = json.dumps(value, ensure_ascii=self._is_ascii, indent=indent, separators=separators)
        # Half of a surrogate pair can be escaped in JSON, but not encoded in UTF-8.
        return text if _is_encodable(text) else json.dumps(value, indent=indent, separators=separators)


def newline_of(text: str) -> str:
    """Return the line ending of a string."""
    end = text.find("\n")
    return "\r\n" if end > 0 and text[end - 1] == "\r" else "\n"


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
