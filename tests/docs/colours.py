"""The colours of screens in the documents, as the commands print them: `make reference` writes `tools/colours.json`.

Markdown has the text of a screen. The colours are kept beside it, and the site puts both together (`tools/site.py`).
A block `console` is what a command prints for a program; a block `terminal` what it shows on a terminal of 80 columns,
in the folder `docs/examples`.
"""

from __future__ import annotations

import json
import os
import pty
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.processes import rightcall

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "docs" / "examples"
COLOURS = ROOT / "tools" / "colours.json"
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

_BLOCK = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
_STYLE = re.compile(r"\x1b\[([\d;]*)m")
_NAMES = {"1": "b", "2": "dim", "31": "red", "32": "green", "33": "yellow", "34": "blue", "36": "cyan"}
Span = tuple[int, int, int, str]
"""A line and two columns, from 0, and the classes of what is between them."""


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, its line, and the block right below it, if any."""

    language: str
    text: str
    line: int
    output: str | None


class Screen(NamedTuple):
    """What a command of a page prints: the text, and its colours."""

    block: Block
    text: str
    colours: list[Span]


def blocks_of(page: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a page, those in tabs among them."""
    text = page.read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(text))
    for index, block in enumerate(found):
        below = found[index + 1] if index + 1 < len(found) else None
        follows = below is not None and below[2] == "text" and not text[block.end() : below.start()].strip()
        output = _without_indent(below) if below is not None and follows else None
        yield Block(block[2], _without_indent(block), text.count("\n", 0, block.start()) + 2, output)


def _without_indent(block: re.Match[str]) -> str:
    return re.sub(rf"^{block[1]}", "", block[3], flags=re.MULTILINE)


def screens_of(page: Path, folder: Path) -> Iterator[Screen]:
    """Run the commands of a page, one after the other, and yield what each prints. A page may make a project."""
    project = ROOT
    for block in blocks_of(page):
        if block.language == "diff":
            _edit(block.text, project)
        if block.language not in ("console", "terminal"):
            continue
        command = block.text.partition("\n")[0]
        assert command.startswith("$ rightcall "), f"{page}:{block.line} shows another program"
        arguments = shlex.split(command)[2:]
        if block.language == "terminal":
            printed = _on_terminal(arguments)
        else:
            makes_project = arguments[0] == "init"
            printed = _run(arguments, folder if makes_project else project)
            project = folder / arguments[1] if makes_project else project
        yield Screen(block, _STYLE.sub("", printed), list(_spans(printed)))


def _run(arguments: list[str], cwd: Path) -> str:
    """What the command line prints, on either stream."""
    with tempfile.TemporaryDirectory() as temporary:
        done = rightcall(*arguments, cwd=cwd, FORCE_COLOR="1", COLUMNS="80", TMPDIR=temporary)
    return done.stdout + done.stderr


def _on_terminal(arguments: list[str]) -> str:
    """What the command line shows on a terminal of 80 columns."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "COLUMNS": "80", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    command = [sys.executable, "-m", "rightcall", *arguments]
    process = subprocess.Popen(command, cwd=EXAMPLES, env=environment, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    shown = bytearray()
    try:
        while piece := os.read(ours, 65536):
            shown += piece
    except OSError:  # EIO: the other end is closed (pty(7))
        pass
    os.close(ours)
    process.wait()
    return shown.decode().replace("\r\n", "\n")


def _edit(diff: str, folder: Path) -> None:
    """Do to the Python file of a project what a page shows: each line taken away is in it, once."""
    [file] = folder.glob("*.py")
    text = file.read_text(encoding="utf-8")
    old, new = ("".join([line[1:] for line in diff.splitlines(keepends=True) if line[0] == sign]) for sign in "-+")
    assert text.count(old) == 1, diff
    file.write_text(text.replace(old, new), encoding="utf-8")


def _spans(printed: str) -> Iterator[Span]:
    for number, line in enumerate(printed.splitlines()):
        column, style = 0, ""
        parts = _STYLE.split(line)
        for text, code in zip(parts[::2], [*parts[1::2], ""], strict=True):
            if text and style:
                yield number, column, column + len(text), style
            column += len(text)
            style = " ".join([_NAMES[each] for each in code.split(";") if each in _NAMES])


def main() -> None:
    """Write the colours of all screens that have any."""
    known: dict[str, list[Span]] = {}
    for page in PAGES:
        with tempfile.TemporaryDirectory() as folder:
            for screen in screens_of(page, Path(folder)):
                if screen.colours:
                    known[screen.block.text.partition("\n")[0]] = screen.colours
    rows = [f"{json.dumps(command)}: {json.dumps(known[command])}" for command in sorted(known)]
    COLOURS.write_text("{\n" + ",\n".join(rows) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
