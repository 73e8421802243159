"""Text from outside inside other languages: XML, Markdown, GitHub's workflow commands."""

from __future__ import annotations

import re
from html import escape

from ._paper import fit, printable

# XML 1.0, section 2.2: these two are not characters of XML, not even as references. `printable` escapes the others.
_NO_XML = re.compile("[\ufffe\uffff]")
# The runner obeys `::` at the beginning of a line, and `##[` anywhere in one.
_COMMAND = re.compile(r"^([^\S\n]*)::", re.MULTILINE)
_BACKTICKS = re.compile("`+")
# Zero-width space: Markdown shows it as nothing, and it breaks up a command.
_SPACE = "\u200b"


def escape_commands(text: str) -> str:
    """Return a text without lines that GitHub Actions would obey if it were printed there."""
    return _COMMAND.sub(r"\1: :", text.replace("##[", "# #["))


def escape_commands_in_json(text: str) -> str:
    """Return JSON with the same value that GitHub Actions would not obey."""
    return text.replace("##[", "#\\u0023[")  # "##[" can only be inside a JSON string


def xml_text(text: str) -> str:
    """Return a text to write between XML tags. Characters that XML cannot have become escapes.

    No line of it is a workflow command, which GitHub would obey if the document were printed.
    """
    # Line by line, because `isprintable` finds the lines that need no work at the speed of C.
    harmless = "\n".join([printable(line) for line in text.split("\n")])
    written = escape(_NO_XML.sub(_as_escape, harmless))
    return written.replace("::", ":&#58;").replace("##[", "#&#35;[")


def xml_attribute(text: str) -> str:
    """Return a text to write in an XML attribute; newlines and tabs survive parsing."""
    return xml_text(text).replace("\n", "&#10;").replace("\t", "&#9;")


def code_span(text: str, width: int = 200) -> str:
    """Return a text as code in a line of Markdown, cut in the middle to `width` columns.

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


def command_message(text: str, width: int) -> str:
    """Return a text as the message of a workflow command, cut in the middle to `width` columns."""
    # The escapes of actions/toolkit (packages/core/src/command.ts), which the runner decodes.
    return fit(_line(text, width), width).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def command_property(text: str, width: int) -> str:
    """Return a text as a property of a workflow command, cut in the middle to `width` columns."""
    return command_message(text, width).replace(":", "%3A").replace(",", "%2C")


def _line(text: str, width: int) -> str:
    """Return a text on one line, without control characters. Only the part that is shown is processed."""
    if len(text) > 4 * width:
        text = text[: 2 * width] + text[-2 * width :]
    return printable(text, one_line=True)


def _as_escape(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"
