"""Text for terminals, XML, Markdown and workflow commands, and formatting of durations.

Control characters in text from outside become escapes, and it is escaped for the language it is embedded in.
"""

from __future__ import annotations

import re
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.values.results import SIGNS
from rightcall.values.trajectory import ToolCall

Part = str | tuple[str, str]
"""A piece of a line: a string, or a string and its style."""
Line = tuple[Part, ...]
_LONG = 100_000
NARROWEST = 30
"""The least columns for a string, however narrow the terminal."""
_PLAIN = str.maketrans({"…": "...", "≠": "!=", "−": "-", "–": "-", "→": "->", "×": "x"})
_KEPT = frozenset("\n\t")
# Unicode categories that a terminal acts on or does not show: control, format and surrogate characters, and line and
# paragraph separators. Bidirectional overrides are format characters ("Trojan Source", CVE-2021-42574).
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})
_MS = 1_000_000
_SECOND = 1000 * _MS
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = 24 * _HOUR
# 30,000 years: no real duration is longer, and a float this large still has its milliseconds.
_LONGEST = 1e12
# XML 1.0, section 2.2: these two are not characters of XML, not even as references. `printable` escapes the others.
_NO_XML = lazy_pattern("[\ufffe\uffff]")
# GitHub's runner interprets `::` at the beginning of a line, and `##[` anywhere in one, as commands.
_COMMAND = lazy_pattern(r"^([^\S\n]*)::", re.MULTILINE)
_BACKTICKS = lazy_pattern("`+")
# Zero-width space: invisible in Markdown, and it breaks up a command.
_SPACE = "\u200b"


class Paper(msgspec.Struct, frozen=True, kw_only=True):
    """The output medium: its width in columns, whether it is ASCII only, whether values are shown in full."""

    width: int = 80
    plain: bool = False
    full: bool = False

    def text(self, raw: str) -> str:
        """Return a string on one line, with control characters escaped."""
        return printable(raw, plain=self.plain, one_line=True)

    def sign(self, kind: str) -> str:
        """Return the sign of a verdict or of a kind of step."""
        sign = SIGNS[kind]
        return sign.ascii if self.plain else sign.symbol

    def glyph(self, pair: tuple[str, str]) -> str:
        """Return the first of two signs or, on plain paper, the second, which is ASCII."""
        return pair[self.plain]

    @property
    def value_width(self) -> int:
        """The number of characters of a value worth formatting before it is cut to fit."""
        return sys.maxsize if self.full else self.width * 2

    def pieces(self, raw: str, width: int, lines: int = 1, hanging: int = 0) -> list[str]:
        """Return a string on at most `lines` lines, or on as many as needed if values are shown in full."""
        if len(raw) <= width and raw.isascii() and raw.isprintable():
            return [raw]
        if self.full:
            return list(wrap(self.text(raw), width, hanging))
        room = width * lines
        if len(raw) > 4 * room:  # its middle will be cut out anyway: do not process a gigabyte of text for that
            raw = raw[: 2 * room] + raw[-2 * room :]
        text = self.text(raw)
        pieces = [text]
        # Lines break at spaces, so space is lost at their ends. Try with less until it fits.
        for lost in range(0, width, 4):
            pieces = list(wrap(fit(text, room - lost, plain=self.plain), width, hanging))
            if len(pieces) <= lines:
                break
        return pieces

    def paragraphs(self, raw: str, width: int, lines: int = 1) -> list[str]:
        """Return a string of several lines. Line breaks are kept if values are shown in full, and joined if not."""
        if not self.full:
            return self.pieces(" ".join(raw.split()) if len(raw) < _LONG else raw, width, lines)
        return [piece for line in raw.splitlines() or [""] for piece in self.pieces(line, width)]


def line_text(line: Line) -> str:
    """Return a line without its styles."""
    return "".join([part if isinstance(part, str) else part[0] for part in line]).rstrip()


def line_length(line: Line) -> int:
    """Return the number of columns that a line takes."""
    return sum(cell_count(part if isinstance(part, str) else part[0]) for part in line)


def printable(text: str, *, plain: bool = False, one_line: bool = False) -> str:
    """Escape characters that would move, hide or reverse the text around them.

    Newlines and tabs are kept, unless `one_line` is set. A `plain` text is ASCII. A printable text is returned
    unchanged, so calling this twice is safe.
    """
    if not text.isprintable():
        text = "".join(map(_visible, text))
        if one_line:
            text = text.replace("\n", "\\n").replace("\t", "\\t")
    if not plain or text.isascii():
        return text
    return text.translate(_PLAIN).encode("ascii", "backslashreplace").decode()


def cell_count(text: str) -> int:
    """Return the number of terminal columns of a printable text: two for wide characters.

    A combining accent counts as one column, although it takes none: a trace may put a thousand on one letter.
    """
    return len(text) if text.isascii() else sum(map(_cells_of, text))


def beginning(text: str, width: int) -> str:
    """Return as much of the beginning of a string as fits into `width` columns."""
    if text.isascii():
        return text[:width]
    used = 0
    for position, character in enumerate(text):
        used += _cells_of(character)
        if used > width:
            return text[:position]
    return text


def fit(text: str, width: int, *, plain: bool = False) -> str:
    """Return a printable text, shortened in the middle to `width` columns."""
    if cell_count(text) <= width:
        return text
    gap = "..." if plain else "…"
    head = max(0, width - len(gap)) * 2 // 3
    begin = beginning(text, head)
    left = width - len(gap) - cell_count(begin)
    return begin + gap + beginning(text[::-1], max(0, left))[::-1]


def wrap(text: str, width: int, hanging: int = 0) -> Iterator[str]:
    """Yield a printable text in pieces of `width` columns, broken after a space if one is near.

    Pieces after the first are `hanging` columns narrower, because they are indented.
    """
    begin, room = 0, max(2, width)
    while len(piece := beginning(text[begin : begin + room + 1], room)) < len(text) - begin:
        space = piece.rfind(" ") + 1
        end = begin + (space if space > len(piece) // 2 else len(piece))
        yield text[begin:end].rstrip(" ")
        begin, room = end, max(2, width - hanging)
    yield text[begin:]


# Cached, because a string repeats its characters and the lookup is a call into the Unicode database for each.
@lru_cache(maxsize=4096)
def _cells_of(character: str) -> int:
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1


def _visible(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"\\u{ord(character):04x}"


def duration_text(nanoseconds: int) -> str:
    """Return a duration in a suitable unit: `8.0us`, `0.19ms`, `31ms`, `1.30s`, `2m05s`, `3h20m`, `12d`.

    A trace may contain any integer, so any integer is accepted: floats would lose digits or overflow.
    """
    if nanoseconds < 0:
        return f"-{duration_text(-nanoseconds)}"
    if nanoseconds < _MS // 100:
        return f"{nanoseconds / 1000:.1f}us" if nanoseconds else "0ms"
    if nanoseconds < 10 * _MS:
        return f"{nanoseconds / _MS:.2f}ms"
    if nanoseconds < _SECOND:
        return f"{nanoseconds // _MS}ms"
    if nanoseconds < _MINUTE:
        return f"{nanoseconds / _SECOND:.2f}s"
    if nanoseconds < _HOUR:
        return f"{nanoseconds // _MINUTE}m{nanoseconds % _MINUTE // _SECOND:02}s"
    if nanoseconds < _DAY:
        return f"{nanoseconds // _HOUR}h{nanoseconds % _HOUR // _MINUTE:02}m"
    return f"{nanoseconds // _DAY}d"


def seconds_text(seconds: float) -> str:
    """Return a duration given in seconds. Negative ones count as zero, infinite ones as very long."""
    return duration_text(round(bounded_seconds(seconds) * _SECOND))


def bounded_seconds(seconds: float) -> float:
    """Return a duration from outside as a finite number, not negative."""
    return min(max(0.0, seconds), _LONGEST)


def seconds_between(begin: int | None, end: int | None) -> float | None:
    """Return the seconds between two times in nanoseconds; `None` if one is unknown or the end is first."""
    if begin is None or end is None or end < begin:
        return None
    return min(end - begin, round(_LONGEST) * _SECOND) / _SECOND


def extent(calls: Sequence[ToolCall]) -> tuple[int | None, int | None]:
    """Return the first start and the last end of calls, as far as recorded."""
    begin = min((call.start_ns for call in calls if call.start_ns is not None), default=None)
    end = max((call.end_ns for call in calls if call.end_ns is not None), default=None)
    return begin, end


def escape_commands(text: str) -> str:
    """Return a string that GitHub Actions does not interpret as commands when it is printed."""
    return _COMMAND.sub(r"\1: :", text.replace("##[", "# #["))


def escape_commands_in_json(text: str) -> str:
    """Return JSON with the same value that GitHub Actions does not interpret as commands."""
    return text.replace("##[", "#\\u0023[")  # "##[" can only be inside a JSON string


def xml_text(text: str) -> str:
    """Return a string to write between XML tags. Characters that XML cannot have become escapes.

    No line of it is a workflow command, in case the document is printed on GitHub.
    """
    from html import escape  # its table of 2,231 entities is for this function alone

    # Line by line, because the fast `isprintable` then spares most lines.
    harmless = "\n".join([printable(line) for line in text.split("\n")])
    written = escape(_NO_XML.sub(_as_escape, harmless))
    return written.replace("::", ":&#58;").replace("##[", "#&#35;[")


def xml_attribute(text: str) -> str:
    """Return a string to write in an XML attribute; newlines and tabs survive parsing."""
    return xml_text(text).replace("\n", "&#10;").replace("\t", "&#9;")


def code_span(text: str, width: int = 200) -> str:
    """Return a string as inline code in Markdown, shortened in the middle to `width` columns.

    Code has no HTML, links, mentions, references or emoji. The fence is longer than any in the text.
    """
    shown = fit(_line(text, width), width).replace("##[", f"#{_SPACE}#[")
    if not shown.strip(" "):
        return "`(empty)`" if not shown else f"`{shown}`"
    # CommonMark 0.31, section 6.1: a code span ends at the first run of backticks as long as the one it began with.
    longest = max([len(run) for run in _BACKTICKS.findall(shown)], default=0)
    fence = "`" * (longest + 1)
    padding = " " if longest or shown[0] == " " == shown[-1] else ""
    return f"{fence}{padding}{shown}{padding}{fence}"


def code_block(lines: Sequence[str], indent: str = "") -> str:
    """Return lines as a code block in Markdown, in which nothing is markup."""
    # CommonMark 0.31, section 4.5: the block ends at a fence that is at least as long as the one it began with.
    longest = max([len(run) for line in lines for run in _BACKTICKS.findall(line)], default=0)
    fence = "`" * max(3, longest + 1)
    shown = [line.replace("##[", f"#{_SPACE}#[") for line in lines]
    return "".join([f"{indent}{line}".rstrip() + "\n" for line in (f"{fence}text", *shown, fence)])


def command_message(text: str, width: int) -> str:
    """Return a string as the message of a workflow command, shortened in the middle to `width` columns."""
    # The escapes of actions/toolkit (packages/core/src/command.ts), which the runner decodes.
    return fit(_line(text, width), width).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str, width: int) -> str:
    """Return a string as a property of a workflow command, shortened in the middle to `width` columns."""
    return command_message(text, width).replace(":", "%3A").replace(",", "%2C")


def _line(text: str, width: int) -> str:
    """Return a string on one line, with control characters escaped. Only the part that is shown is processed."""
    if len(text) > 4 * width:
        text = text[: 2 * width] + text[-2 * width :]
    return printable(text, one_line=True)


def _as_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
