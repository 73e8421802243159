"""Outputs that read like the error texts frameworks hand to the model."""

from __future__ import annotations

import re

# Version-bound by nature: each phrase is what a framework writes where a tool raised and nothing else shows it.
_PHRASES = re.compile(
    r"\s*(?:"
    r"Error: "
    r"|Error (?:executing|calling|running|invoking) tool"
    r"|An error occurred while running the tool"
    r"|Tool execution failed"
    r"|Failed to (?:execute|invoke|call) tool"
    r"|Tool '[^']*' (?:not found|does not exist)"
    r"|(?:Error|Exception) in tool"
    r"|ToolException\b"
    r"|Traceback \(most recent call last\)"
    r")"
)
_ENDINGS = ("Fix the errors and try again.", "Please fix your mistakes.")


def reads_like_error(output: str) -> bool:
    """Whether the text of an output is one that frameworks write for a tool that raised."""
    return _PHRASES.match(output) is not None or output.rstrip().endswith(_ENDINGS)
