"""Tracebacks that show the agent's own lines, and not the way to them."""

from __future__ import annotations

import importlib
import sys
import traceback
from pathlib import Path

_OURS = str(Path(__file__).parents[2])


def traceback_of(problem: BaseException) -> str:
    """The traceback of an exception as text, without the frames of Rightcall and of Python's import system.

    Frames of `asyncio` at the beginning are left out as well. If that leaves none, all are kept, unless the exception
    itself says where it is (a syntax error). Causes and contexts are cut alike.
    """
    told = traceback.TracebackException.from_exception(problem, limit=-200)
    _cut(told, set())
    return "".join(told.format())


def place_of(problem: BaseException, file: Path) -> str:
    """Where an exception comes from: the innermost file and line below the folder of a file, else the file alone.

    A syntax error comes from where it is, not from where the file with it was imported.
    """
    places = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(problem.__traceback__)]
    if isinstance(problem, SyntaxError) and problem.filename:
        places.append((problem.filename, problem.lineno))
    below = [f"{name}:{line}" for name, line in places if Path(name).is_relative_to(file.parent)]
    return below[-1] if below else str(file)


def _cut(told: traceback.TracebackException, seen: set[int]) -> None:
    if id(told) in seen:
        return
    seen.add(id(told))
    kept = [frame for frame in told.stack if not _is_on_the_way(frame.filename)]
    while kept and _is_of_asyncio(kept[0].filename):
        del kept[0]
    if kept or getattr(told, "lineno", None) is not None:
        told.stack = traceback.StackSummary.from_list(kept)
    for other in (told.__cause__, told.__context__, *_members(told)):
        if other is not None:
            _cut(other, seen)


def _members(told: traceback.TracebackException) -> list[traceback.TracebackException]:
    return list(getattr(told, "exceptions", None) or ())


def _is_on_the_way(filename: str) -> bool:
    return filename.startswith((_OURS, "<frozen importlib")) or filename == importlib.__file__


def _is_of_asyncio(filename: str) -> bool:
    asyncio = sys.modules.get("asyncio")
    return asyncio is not None and filename.startswith(str(Path(asyncio.__file__ or "").parent))
