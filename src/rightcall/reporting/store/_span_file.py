"""The spans of a run, one line for each run of a case: the file `spans.jsonl`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rightcall.errors import InputError, StoreError
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.trajectory import KeptSpans, RawSpan, spans_by_id

from ._run_files import Lines, os_errors_at

FILE = "spans.jsonl"
_HEAD_END = b', "left_out": '
"""The text after the head of a line. No case id contains it, because quotes are escaped there."""


class RunSpans(Mapping[str, RawSpan]):
    """The spans of one run of a case by their ids, in the order they were recorded."""

    def __init__(self, spans: Mapping[str, RawSpan], left_out: int = 0) -> None:
        self._spans = spans
        self.left_out = left_out
        """The number of spans that are not here: they did not fit, or could not be written."""

    def __getitem__(self, span_id: str) -> RawSpan:
        return self._spans[span_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


class SpanFile:
    """The file with the spans of a run; only the process that holds the journal writes to it.

    Each line is written at once, without fsync: no verdict depends on spans.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._lines = Lines(folder / FILE)
        self._lines.take_over(None)

    def append(self, case_id: str, repeat: int, spans: KeptSpans) -> None:
        """Append the spans of one run of a case; if there are several lines, the last one counts.

        Raises:
            StoreError: they do not fit on the disk. Nothing of them is written then.
            InputError: they cannot be written as one line.
        """
        spans.check()
        rest = f'{spans.left_out}, "spans": {spans.text}}}\n'.encode()
        self._lines.append(_head(case_id, repeat) + _HEAD_END + rest)

    def close(self) -> None:
        """Write no more."""
        self._lines.close()


def has_spans(folder: Path) -> bool:
    """Return whether there are spans in a run's folder."""
    return (folder / FILE).exists()


class SpanIndex:
    """An index of the spans of each case in a run's file, extended when the file has grown.

    A line is decoded when its spans are requested. A torn last line is left out. A missing file has no spans, and may
    appear later. Several threads may use one index.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._places: dict[bytes, int] = {}
        self._end = 0

    def spans(self, case_id: str, repeat: int = 0) -> RunSpans:
        """Return the spans of one run of a case; empty if there are none.

        Raises:
            StoreError: the file cannot be read, or the line is damaged.
        """
        if not self._path.exists():
            return RunSpans({})
        with os_errors_at(self._path), self._path.open("rb") as file:
            self._extend(file)
            place = self._places.get(_head(case_id, repeat))
            if place is None:
                return RunSpans({})
            file.seek(place)
            line = file.readline(DEFAULT_LIMITS.text_bytes + 1)
        try:
            return _read(load_json(line), case_id)
        except InputError as problem:
            raise StoreError(f"{self._path}: the line of {case_id!r:.80} is damaged ({problem}); remove it") from None

    def _extend(self, file: BinaryIO) -> None:
        """Index the lines that were added; if a case has several, the last one counts."""
        if os.fstat(file.fileno()).st_size < self._end:  # the file was replaced
            self._places, self._end = {}, 0
        end = self._end
        file.seek(end)
        for line in file:
            if not line.endswith(b"\n"):
                break
            length = line.find(_HEAD_END)
            if length > 0:
                self._places[line[:length]] = end
            end += len(line)
        self._end = end


def _head(case_id: str, repeat: int) -> bytes:
    """Return the beginning of a line, which identifies the case and the repeat."""
    try:
        name = msgspec.json.encode(case_id)
    except UnicodeEncodeError:  # a lone surrogate
        name = dump_json(case_id).encode()
    return b'{"case_id": %b, "repeat": %d' % (name, repeat)


def _read(fields: Any, case_id: str) -> RunSpans:
    fields = fields if isinstance(fields, dict) else {}
    left_out, items = fields.get("left_out"), fields.get("spans")
    if fields.get("case_id") != case_id or not isinstance(left_out, int) or not isinstance(items, list):
        raise InputError("not the spans of a case")
    spans, others = spans_by_id(items)
    return RunSpans(spans, left_out + others)
