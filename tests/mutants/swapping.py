"""A mistake made in a module that is loaded: its functions get other code, and nothing is imported again."""

from __future__ import annotations

import gc
from collections import defaultdict
from collections.abc import Iterator, Sequence
from inspect import CO_NEWLOCALS
from pathlib import Path
from types import CodeType, FunctionType

Names = tuple[str, int]
"""The qualified name of a code object, and its place among those of the same name."""


def every_object() -> list[object]:
    """All objects that the garbage collector knows, also those that tests/conftest.py keeps from it."""
    frozen = gc.get_freeze_count()
    gc.unfreeze()
    found = gc.get_objects()
    if frozen:
        gc.freeze()
    return found


class Functions:
    """All functions that are loaded, by the file that their code is from."""

    def __init__(self) -> None:
        self._of: dict[str, list[FunctionType]] = defaultdict(list)
        for each in every_object():
            if isinstance(each, FunctionType):
                self._of[each.__code__.co_filename].append(each)

    def swap(self, path: Path, source: str) -> bool:
        """Give the functions of a file the code that they have in another text of it.

        Returns:
            Whether that is all of the change: no, where it is in a default, a constant or the body of a class, where
            a function uses other names of those around it, or where none of the file is loaded.
        """
        before = compile(path.read_bytes(), str(path), "exec", dont_inherit=True)
        after = compile(source, str(path), "exec", dont_inherit=True)
        if str(path) not in self._of or not _same_bodies(before, after):
            return False
        known, wanted = dict(_named(before)), dict(_named(after))
        places = {(code.co_qualname, code.co_firstlineno): name for name, code in known.items()}
        for function in self._of[str(path)]:
            name = places.get((function.__code__.co_qualname, function.__code__.co_firstlineno))
            if name is None:
                continue
            code = wanted.get(name)
            if code is None or code.co_freevars != function.__code__.co_freevars:
                return False
            function.__code__ = code
        return True


def _same_bodies(before: CodeType, after: CodeType) -> bool:
    """Whether what runs when a module is imported is the same: its own statements, and those of its classes."""
    ours, others = _inner(before), _inner(after)
    if _digest(before) != _digest(after) or len(ours) != len(others):
        return False
    return all(_same_bodies(one, other) for one, other in zip(ours, others, strict=True) if _is_body(one))


def _is_body(code: CodeType) -> bool:
    # A comprehension of a body runs with it; a function (with locals of its own, and a name) runs when it is called.
    return not code.co_flags & CO_NEWLOCALS or (code.co_name.startswith("<") and code.co_name != "<lambda>")


def _digest(code: CodeType) -> tuple[object, ...]:
    values = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    return code.co_code, code.co_names, tuple(values)


def _inner(code: CodeType) -> Sequence[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _named(code: CodeType) -> Iterator[tuple[Names, CodeType]]:
    seen: dict[str, int] = defaultdict(int)
    queue = list(_inner(code))
    while queue:
        each = queue.pop(0)
        yield (each.co_qualname, seen[each.co_qualname]), each
        seen[each.co_qualname] += 1
        queue += _inner(each)
