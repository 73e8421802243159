"""Which functions of the project each test goes through: made once, so that a mistake is tried by those tests alone."""

from __future__ import annotations

import hashlib
import pickle
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

from tests.mutants.swapping import every_object

ValueT = TypeVar("ValueT")
Function = tuple[str, str]
"""A file, and the name of a function in it, as a mutation has them."""


@dataclass(frozen=True)
class Trace:
    """What a test took, and what it went through."""

    seconds: float
    cpu: float
    functions: frozenset[Function]


class Tracer:
    """Notes what is called, in all threads, between its start and its end."""

    def __init__(self, project: Path, files: Iterable[str]) -> None:
        self._files = {str(project / file): file for file in files}
        self._codes: dict[int, CodeType] = {}

    def start(self) -> None:
        self._codes.clear()
        threading.settrace(self._called)
        sys.settrace(self._called)

    def stop(self) -> frozenset[Function]:
        sys.settrace(None)
        threading.settrace(None)
        # A thread that was started before goes on noting: only a copy can be walked through.
        ours = [each for each in self._codes.copy().values() if each.co_filename in self._files]
        return frozenset([(self._files[each.co_filename], _function(each)) for each in ours])

    def _called(self, frame: FrameType, _event: str, _value: Any) -> None:
        # By its id, as the hash of a code object is made of all that is in it.
        self._codes[id(frame.f_code)] = frame.f_code


def _function(code: CodeType) -> str:
    return ".".join([each for each in code.co_qualname.split(".") if not each.startswith("<")])


def traced(tracer: Tracer, run: Callable[[], ValueT]) -> tuple[ValueT, Trace]:
    """Run a test, as if it were the first: nothing that another has cached is there."""
    for each in _caches():
        each.cache_clear()
    tracer.start()
    started, cpu = time.monotonic(), time.process_time()
    try:
        value = run()
    finally:
        functions = tracer.stop()
    return value, Trace(time.monotonic() - started, time.process_time() - cpu, functions)


def _caches() -> list[_lru_cache_wrapper[Any]]:
    if not _found:
        every = [each for each in every_object() if isinstance(each, _lru_cache_wrapper)]
        _found.extend([each for each in every if str(getattr(each, "__module__", "")).startswith("rightcall")])
    return _found


_found: list[_lru_cache_wrapper[Any]] = []


class Map:
    """The traces of all tests, kept in a file: those of a file of tests until it changes, all until the source does."""

    def __init__(self, file: Path, source: Path) -> None:
        self._file, self._source = file, digest(sorted(source.rglob("*.py")))
        kept = pickle.loads(file.read_bytes()) if file.exists() else {}
        self._traces: dict[str, Mapping[str, Trace]] = kept.get(self._source, {})

    def of(self, tests: Path) -> Mapping[str, Trace] | None:
        """The traces of a file of tests, by their ids; None where they have to be made."""
        return self._traces.get(digest([tests]))

    def keep(self, tests: Path, traces: Mapping[str, Trace]) -> None:
        self._traces[digest([tests])] = traces
        self._file.parent.mkdir(exist_ok=True)
        self._file.write_bytes(pickle.dumps({self._source: self._traces}))


def digest(files: Iterable[Path]) -> str:
    return hashlib.sha256(b"\0".join([file.name.encode() + file.read_bytes() for file in files])).hexdigest()
