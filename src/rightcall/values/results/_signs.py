"""The signs and words of verdicts and steps. The status screen shows them, so nothing heavy is imported here."""

from __future__ import annotations

from typing import NamedTuple


class Sign(NamedTuple):
    """The way a verdict or a step is shown."""

    symbol: str
    ascii: str
    """The symbol if only ASCII can be printed."""
    word: str
    """The meaning of the symbol, for readers who do not know it or cannot see it."""
    style: str
    """Its colour on a terminal."""
    emoji: str = ""
    """Its form in Markdown, which has no colours; verdicts only."""


# "✗" says that the agent did badly. An error says nothing about the agent, so it does not share that sign.
SIGNS = {
    "passed": Sign("✓", "ok", "passed", "green", "✅"),
    "failed": Sign("✗", "x", "failed", "red", "❌"),
    "error": Sign("!", "!", "in error", "red", "💥"),
    "not_measured": Sign("?", "?", "not measured", "yellow", "❔"),
    "match": Sign("✓", "ok", "as expected", "green"),
    "mismatch": Sign("≠", "!=", "differs", "red"),
    "moved": Sign("⇅", "~", "out of order", "yellow"),
    "missing": Sign("−", "-", "missing", "red"),
    "extra": Sign("+", "+", "not expected", "red"),
    "skipped": Sign("·", ".", "left out", "dim"),
}
"""By verdict, and by the `kind` of a step."""
