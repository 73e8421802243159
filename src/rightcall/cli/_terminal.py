"""Text from traces on a terminal: shown, never obeyed."""

from __future__ import annotations

import unicodedata

from rich.console import Console
from rich.text import Text

_MARKS = {
    "match": ("✓", "+"),
    "failed": ("✗", "x"),
    "mismatch": ("≠", "!"),
    "moved": ("⇅", "~"),
    "missing": ("−", "-"),
    "extra": ("+", ">"),
    "not_measured": ("?", "?"),
    "none": ("–", "-"),
}
_KEPT = {"\n", "\t"}


def console() -> Console:
    """A console that prints what it is given, with colour where that is wanted."""
    return Console(highlight=False, markup=False, emoji=False, soft_wrap=True)


def symbols(screen: Console) -> dict[str, str]:
    """The marks of verdicts and steps, in plain ASCII where the terminal knows nothing else."""
    plain = not screen.encoding.lower().startswith("utf")
    return {name: marks[plain] for name, marks in _MARKS.items()}


def shown(text: str, style: str = "") -> Text:
    """Text whose control characters, escapes and direction marks are replaced by their visible names."""
    return Text("".join(map(_visible, text)), style=style)


def _visible(character: str) -> str:
    if character in _KEPT or unicodedata.category(character) not in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character
    return f"\\u{ord(character):04x}"
