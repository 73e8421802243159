"""The runs on show: found by name, read as far as needed, cached, never written to."""

from __future__ import annotations

import os
import stat
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

import msgspec
from msgspec.structs import replace

from rightcall.errors import StoreError
from rightcall.reporting.pages import Changes
from rightcall.reporting.store import RunFigures, RunFolder, list_runs, open_run, read_figures, run_folder
from rightcall.values.redaction import redacted_address, redacted_text, redacted_value
from rightcall.values.results import Verdict

from ._index import Index

_ROWS = 60_000
_HEADERS = 500
_VERDICTS = 250_000
_CHANGES = 50_000
_PATHS = 50_000
_FILES = ("run.json", "cases.jsonl", "spans.jsonl")
ALONE = "run"
"""The name of a run that is shown alone, from a folder of any name."""


class Weighted(Protocol):
    """A value that knows how much memory it takes."""

    @property
    def weight(self) -> int:
        """The weight now; it may grow."""


Counted = TypeVar("Counted", bound=Weighted)


class _Header(msgspec.Struct, frozen=True):
    run: RunFolder
    stamp: tuple[int, ...]
    weight: int = 1


class _Verdicts(msgspec.Struct, frozen=True):
    verdicts: Mapping[str, Verdict]
    rate: float | None
    stamp: tuple[int, ...]

    @property
    def weight(self) -> int:
        return 1 + len(self.verdicts)


class _Changes(msgspec.Struct, frozen=True):
    changes: Changes
    stamps: tuple[tuple[int, ...], ...]

    @property
    def weight(self) -> int:
        return self.changes.weight


class _Paths(msgspec.Struct, frozen=True):
    counted: Weighted
    stamp: tuple[int, ...]

    @property
    def weight(self) -> int:
        return self.counted.weight


class _Figures(msgspec.Struct, frozen=True):
    figures: RunFigures
    stamp: tuple[int, ...]

    @property
    def weight(self) -> int:
        return self.figures.weight


class Library:
    """A folder of runs, or one run's own folder.

    A run has the name of its folder. Other folders, and links that lead elsewhere, are not shown. Caches are bounded,
    so memory does not grow with the number of runs. Secrets are redacted, unless `redacts` is false.
    """

    def __init__(self, folder: Path, *, redacts: bool = True, rows: int = _ROWS, headers: int = _HEADERS) -> None:
        self.folder = folder
        self.redacts = redacts
        self.is_alone = (folder / _FILES[0]).is_file()
        self._headers: WeightedCache[_Header] = WeightedCache(headers)
        self._indices: WeightedCache[Index] = WeightedCache(rows)
        self._verdicts: WeightedCache[_Verdicts] = WeightedCache(_VERDICTS)
        self._changes: WeightedCache[_Changes] = WeightedCache(_CHANGES)
        self._paths: WeightedCache[_Paths] = WeightedCache(_PATHS)
        self._figures: WeightedCache[_Figures] = WeightedCache(_VERDICTS)

    @property
    def kept(self) -> dict[str, int]:
        """The number of entries of each kind in memory."""
        return {
            "headers": len(self._headers),
            "indices": len(self._indices),
            "verdicts": len(self._verdicts),
            "changes": len(self._changes),
            "paths": len(self._paths),
            "figures": len(self._figures),
        }

    def names(self) -> list[str]:
        """Return the names of all runs, the newest first. Raises `StoreError`."""
        if self.is_alone:
            return [ALONE]
        return [folder.name for folder in reversed(list_runs(self.folder)) if _is_plain(folder)]

    def run(self, name: str) -> RunFolder | None:
        """Return a run with its current header; `None` if there is no run of this name. Raises `StoreError`."""
        folder = self._folder(name)
        if folder is None:
            return None
        stamp = _stamp(folder / _FILES[0])
        kept = self._headers.get(name)
        if kept is None or kept.stamp != stamp:
            opened = open_run(str(folder))
            kept = _Header(_redacted_run(opened) if self.redacts else opened, stamp)
            self._headers.put(name, kept)
        return kept.run

    def index(self, name: str, run: RunFolder) -> Index:
        """Return the rows of a run, with everything in its journal so far. Raises `StoreError`."""
        index = self._indices.get(name)
        stamp = _stamp(run.folder / _FILES[1])
        if index is None or not index.goes_on_with(run, stamp):
            index = Index(run, redacts=self.redacts)
        try:
            index.extend(run, stamp)
        except StoreError:
            self._indices.drop(name)  # what was read of a journal that another program has changed does not count
            raise
        self._indices.put(name, index)
        return index

    def verdicts(self, name: str, run: RunFolder) -> Mapping[str, Verdict]:
        """Return the verdict of each case of a run so far. Raises `StoreError`."""
        return self._counted(name, run).verdicts

    def rate(self, name: str, run: RunFolder) -> float | None:
        """Return the pass rate of a run so far; of a finished one as its header says it. Raises `StoreError`."""
        header = run.header
        if header.sample is not None and header.totals is not None:
            return header.totals.rate
        is_known = header.finished is not None and header.rate is not None
        return header.rate if is_known else self._counted(name, run).rate

    def _counted(self, name: str, run: RunFolder) -> _Verdicts:
        is_growing = run.header.finished is None and run.is_being_written
        stamp = (*_stamps(run.folder), is_growing)
        kept = self._verdicts.get(name)
        if kept is None or kept.stamp != stamp:
            tally = run.tally()
            kept = _Verdicts(tally.verdicts(), tally.rate(), stamp)
            self._verdicts.put(name, kept)
        return kept

    def figures(self, name: str, run: RunFolder) -> RunFigures:
        """Return the figures of a finished run, without its cases in quarantine. Raises `StoreError`."""
        stamp = _stamps(run.folder)
        kept = self._figures.get(name)
        if kept is None or kept.stamp != stamp:
            kept = _Figures(read_figures(run.folder, run.quarantined), stamp)
            self._figures.put(name, kept)
        return kept.figures

    def changes(self, key: Sequence[str], make: Callable[[], Changes]) -> Changes:
        """Return the changes between two runs, from the cache if both journals are unchanged.

        `key` has the names of both runs, and the arguments that are not compared.
        """
        before, after, *_ = key
        place = "\0".join(key)
        folders = [self._folder(name) for name in (before, after)]
        stamps = tuple([_stamps(folder) for folder in folders if folder is not None])
        kept = self._changes.get(place)
        if kept is None or kept.stamps != stamps:
            kept = _Changes(make(), stamps)
            self._changes.put(place, kept)
        return kept.changes

    def paths(self, key: str, run: RunFolder, make: Callable[[], Counted]) -> Counted:
        """Return what was counted of the paths of a run, from the cache if its journal is unchanged."""
        stamp = _stamps(run.folder)
        kept = self._paths.get(key)
        if kept is None or kept.stamp != stamp:
            kept = _Paths(make(), stamp)
            self._paths.put(key, kept)
        return kept.counted  # type: ignore[return-value] # what is under a key is what its maker makes

    def readable(self, names: list[str]) -> Iterator[tuple[str, RunFolder]]:
        """Yield the runs whose headers can be read."""
        for name in names:
            try:
                run = self.run(name)
            except StoreError:
                continue  # its own page says what is wrong with it
            if run is not None:
                yield name, run

    def _folder(self, name: str) -> Path | None:
        # Names come from addresses. `run_folder` accepts names of runs only, so no name leads out of the folder.
        if self.is_alone:
            return self.folder if name == ALONE and _has_plain_files(self.folder) else None
        folder = run_folder(self.folder, name)
        return folder if folder is not None and _is_plain(folder) else None


def _is_plain(folder: Path) -> bool:
    return not folder.is_symlink() and _has_plain_files(folder)


def _has_plain_files(folder: Path) -> bool:
    """Return whether the files of a run are what they seem: a link could lead anywhere, a pipe would never end."""
    return all(_kind(folder / file) in (None, stat.S_IFREG) for file in _FILES)


def _kind(path: Path) -> int | None:
    try:
        return stat.S_IFMT(os.lstat(path).st_mode)
    except OSError:
        return None


def _stamps(folder: Path) -> tuple[int, ...]:
    """Return a value that changes with the results of a run: the header decides which lines of the journal count."""
    return _stamp(folder / _FILES[0]) + _stamp(folder / _FILES[1])


def _stamp(path: Path) -> tuple[int, ...]:
    """Return a value that changes with a file: its inode, size and time."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0, 0
    return found.st_ino, found.st_size, found.st_mtime_ns


def _redacted_run(run: RunFolder) -> RunFolder:
    """Return a run without secrets in its header: an agent may be an address with a password."""
    header = run.header
    cleaned = {name: redacted_text(getattr(header, name) or "") for name in ("evalset", "branch")}
    agent, options = redacted_address(header.agent), redacted_value(header.options)
    return replace(run, header=replace(header, **cleaned, agent=agent, options=options))


Kept = TypeVar("Kept", bound=Weighted)


class WeightedCache(Generic[Kept]):
    """An LRU cache bounded by total weight. The newest entry is never evicted."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._entries: OrderedDict[str, Kept] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: str) -> Kept | None:
        """Return the value under a key, and make it the newest."""
        found = self._entries.get(key)
        if found is not None:
            self._entries.move_to_end(key)
        return found

    def put(self, key: str, value: Kept) -> None:
        """Store a value, and evict the oldest ones until the rest fits. Put a value again after it has grown."""
        self._entries[key] = value
        self._entries.move_to_end(key)
        # Weights are added up each time because they grow: an index of a running run is extended in place.
        while len(self._entries) > 1 and sum(each.weight for each in self._entries.values()) > self._capacity:
            self._entries.popitem(last=False)

    def drop(self, key: str) -> None:
        """Remove the value under a key, if there is one."""
        self._entries.pop(key, None)
