"""Texts that would do harm where they are taken for more than text: one corpus for every sink.

`payloads.json` has them by what would obey them, `long.json` those that are long (a text and how many times), and
`names.json` names that would lead out of a folder. A payload that is obeyed by a page opens a dialog or asks
`elsewhere.example` for something, which the watch over pages sees.
"""

from __future__ import annotations

import json
from pathlib import Path
from unicodedata import category

_FOLDER = Path(__file__).parent
_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}

PAYLOADS: dict[str, list[str]] = json.loads((_FOLDER / "payloads.json").read_text(encoding="ascii"))
"""Texts by what would obey them: `script`, `handler`, `terminal`, `spreadsheet` and so on."""
NAMES: list[str] = json.loads((_FOLDER / "names.json").read_text(encoding="ascii"))
"""Names that would be paths, devices or options, and names that some file systems take for one another."""
LONG = [each["text"] * each["times"] for each in json.loads((_FOLDER / "long.json").read_text(encoding="ascii"))]
"""Texts of 100,000 characters and more."""
SHORT = [text for texts in PAYLOADS.values() for text in texts]
"""Every payload that is not long."""


def harmful(text: str) -> set[str]:
    """The characters in a text that a terminal, or a reader's eye, would obey; U+200B may be of our own making."""
    return {character for character in set(text) if category(character) in _UNSEEN and character not in "\n\t\u200b"}


def obeyed(text: str) -> list[str]:
    """The lines that GitHub Actions takes for commands when a program prints them."""
    return [line for line in text.split("\n") if line.lstrip().startswith("::") or "##[" in line]


def named(text: str) -> str:
    """A short way to say which text it is, for the ids of tests."""
    return ascii(text[:30])[1:-1]
