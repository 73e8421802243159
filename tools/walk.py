"""Count the functions and files that a command enters: `python tools/walk.py score TRACE --evalset FILE`.

What a reader has to follow is counted, so nothing that runs while a module is imported is. A comprehension or a nested
function belongs to the function around it. `--list` names every function, with the number of times it was entered.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from contextlib import redirect_stdout
from pathlib import Path
from types import CodeType, FrameType

import rightcall
from rightcall.cli import main

HOME = str(Path(rightcall.__file__).parent)
COUNTED = ("load_eval_set", "parse_eval_set", "Reading.read", "CaseResult.from_json")
"""Functions whose calls are counted: an eval set is loaded once, a trace is read once, a result is never decoded."""


class Walk:
    """The functions that were entered, and how often."""

    def __init__(self) -> None:
        self.calls: Counter[CodeType] = Counter()
        self._imports = 0

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        """Count a call, as the hook of `sys.setprofile`."""
        code = frame.f_code
        if code.co_name == "<module>":
            self._imports += (event == "call") - (event == "return")
        elif event == "call" and not self._imports and code.co_filename.startswith(HOME):
            self.calls[code] += 1

    def functions(self) -> dict[tuple[str, str], int]:
        """Each function by its file and name, with the number of times that it was entered."""
        found: Counter[tuple[str, str]] = Counter()
        for code, times in self.calls.items():
            name = code.co_qualname.partition(".<locals>")[0]
            found[code.co_filename.removeprefix(f"{HOME}/"), name] += times
        return found


def walked(arguments: list[str]) -> Walk:
    """Run one command, and return what it entered. Its output goes to standard error."""
    walk = Walk()
    sys.argv[1:] = arguments
    threading.setprofile(walk)
    sys.setprofile(walk)
    try:
        with redirect_stdout(sys.stderr):
            main()
    except SystemExit:
        pass
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return walk


def _report(functions: dict[tuple[str, str], int], *, lists: bool) -> None:
    files = {file for file, _ in functions}
    rooms = {file.partition("/")[0] for file in files}
    if lists:
        for (file, name), times in sorted(functions.items()):
            print(f"{file}  {name}  {times}")
    print(f"{len(functions)} functions in {len(files)} files of {len(rooms)} rooms")
    for wanted in COUNTED:
        print(f"{wanted}: {sum(n for (_, name), n in functions.items() if name == wanted)} times")


if __name__ == "__main__":
    asked = sys.argv[1:]
    walk = walked([each for each in asked if each != "--list"])
    _report(walk.functions(), lists="--list" in asked)
