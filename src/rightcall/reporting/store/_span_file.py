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

from ._folders import telling
from ._sealed_lines import Lines

FILE = "spans.jsonl"
_HEAD_END = b', "left_out": '
"""What follows the beginning of a line. It is in no id of a case: quotes are escaped there."""


class RunSpans(Mapping[str, RawSpan]):
    """The spans of one run of a case by their ids, in the order they were recorded."""

    def __init__(self, spans: Mapping[str, RawSpan], left_out: int = 0) -> None:
        self._spans = spans
        self.left_out = left_out
        """How many there were besides these: there was no room for them, or they could not be written."""

    def __getitem__(self, span_id: str) -> RawSpan:
        return self._spans[span_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)


class SpanFile:
    """The file with the spans of a run, which is written to by whoever holds the journal.

    Each line is handed to the system at once. Nothing is done to have it on the disk: no verdict depends on it.

    Raises:
        StoreError: the file cannot be written.
    """

    def __init__(self, folder: Path) -> None:
        self._lines = Lines(folder / FILE)
        self._lines.take_over(None)

    def append(self, case_id: str, repeat: int, spans: KeptSpans) -> None:
        """Add the spans of one run of a case; of several lines the last one counts.

        Raises:
            StoreError: they do not fit on the disk. Then nothing of them is there.
            InputError: they are no spans that can be put into a line.
        """
        spans.check()
        rest = f'{spans.left_out}, "spans": {spans.text}}}\n'.encode()
        self._lines.append(_head(case_id, repeat) + _HEAD_END + rest)

    def close(self) -> None:
        """Write no more."""
        self._lines.close()


def has_spans(folder: Path) -> bool:
    """Whether there are spans in a run's folder."""
    return (folder / FILE).exists()


class SpanIndex:
    """Where the spans of each case are in a run's file: found out once, and later for what was added since.

    Lines are only decoded when their spans are asked for. A last line that is torn is left out. A file that is not
    there has no spans; it may come to be. One index may be asked from several threads.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / FILE
        self._places: dict[bytes, int] = {}
        self._end = 0

    def spans(self, case_id: str, repeat: int = 0) -> RunSpans:
        """The spans of one run of a case; none where there are none.

        Raises:
            StoreError: the file cannot be read, or the line is damaged.
        """
        if not self._path.exists():
            return RunSpans({})
        with telling(self._path), self._path.open("rb") as file:
            self._extend(file)
            place = self._places.get(_head(case_id, repeat))
            if place is None:
                return RunSpans({})
            file.seek(place)
            line = file.readline(DEFAULT_LIMITS.text_bytes + 1)
        try:
            return _read(load_json(line), case_id)
        except InputError as problem:
            raise StoreError(f"{self._path}: the line of {case_id!r:.80} is damaged ({problem}); take it out") from None

    def _extend(self, file: BinaryIO) -> None:
        """Take note of the lines that were added; of several of one case the last one counts."""
        if os.fstat(file.fileno()).st_size < self._end:  # it is another file by now
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
    """How a line begins, by which it is told apart from all others."""
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
