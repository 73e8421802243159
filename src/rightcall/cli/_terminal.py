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
}
_PLAIN = str.maketrans({"…": "...", "≠": "!=", "−": "-", "–": "-"})
_KEPT = frozenset("\n\t")
_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp"})


class _Console(Console):
    """A console that leaves a closed pipe to the command line, which knows the exit code for it."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


class Screen:
    """Where lines are printed: in colour and Unicode as far as the terminal has them."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._console = _Console(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=stderr)
        self._is_plain = not self._console.encoding.lower().startswith("utf")

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print a line made of texts, and of texts with a style."""
        styled = [(part, "") if isinstance(part, str) else part for part in parts]
        self._console.print(Text.assemble(*[(self._printable(text), style) for text, style in styled]))

    def mark(self, name: str) -> str:
        """The mark of a verdict or a step."""
        return _MARKS[name][self._is_plain]

    def _printable(self, text: str) -> str:
        seen = "".join(map(_visible, text))
        if not self._is_plain:
            return seen
        return seen.translate(_PLAIN).encode("ascii", "backslashreplace").decode()


def _visible(character: str) -> str:
    """A character, or the escape of one that would move, hide or turn around what stands beside it."""
    if character in _KEPT or unicodedata.category(character) not in _UNSEEN:
        return character
    return f"\\u{ord(character):04x}"
