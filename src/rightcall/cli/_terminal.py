"""Text from traces on a terminal: shown, never obeyed."""

from __future__ import annotations

import os
from functools import lru_cache

from rich.console import Console
from rich.style import Style
from rich.text import Text

from rightcall.reporting.reports import Paper, escape_commands, printable
from rightcall.values.results import SIGNS


class Screen:
    """Where lines are printed: in colour and Unicode as far as the terminal has them."""

    def __init__(self, *, stderr: bool = False) -> None:
        self._console = Console(highlight=False, markup=False, emoji=False, soft_wrap=True, stderr=stderr)
        self._is_plain = not self._console.encoding.lower().startswith("utf")
        self._is_obeyed = bool(os.environ.get("GITHUB_ACTIONS"))

    def line(self, *parts: str | tuple[str, str]) -> None:
        """Print a line made of texts, and of texts with a style."""
        styled = [(part, "") if isinstance(part, str) else part for part in parts]
        made = [(printable(text, plain=self._is_plain), style) for text, style in styled]
        if self._is_obeyed:
            made = _unobeyed(made)
        if self._console.legacy_windows:
            self._console.print(Text.assemble(*made))
            return
        # Nothing is wrapped or highlighted here, so the console's own way, twenty times as long, is not needed.
        self._console.file.write("".join([self._painted(text, style) for text, style in made]) + "\n")

    def paper(self, *, full: bool = False) -> Paper:
        """What a report is to be written on to fit this screen."""
        return Paper(width=self._console.width, plain=self._is_plain, full=full)

    def mark(self, name: str) -> str:
        """The mark of a verdict or a step."""
        sign = SIGNS[name]
        return f"{sign.ascii:<2}" if self._is_plain else sign.symbol

    def _painted(self, text: str, style: str) -> str:
        if not style or not text or self._console.color_system is None:
            return text
        return _style(style, self._console.no_color).render(text)


def _unobeyed(parts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """A line that GitHub Actions does not take for a command, though it goes over all it prints."""
    whole = "".join([text for text, _ in parts])
    harmless = escape_commands(whole)
    return parts if harmless == whole else [(harmless, "")]


@lru_cache(maxsize=64)
def _style(name: str, no_color: bool) -> Style:
    style = Style.parse(name)
    return style.without_color if no_color else style
