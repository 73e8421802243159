"""Spans, kept beside the results while a run lasts."""

from __future__ import annotations

from rightcall.errors import InputError, StoreError
from rightcall.reporting.store import RunFolder, SpanFile
from rightcall.running.runner import CaseFinished
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.redaction import redacted_value
from rightcall.values.trajectory import KeptSpans


class SpanKeeping:
    """Keeps the spans of cases as long as that works: no result is worth less without them."""

    def __init__(self, is_wanted: bool, *, redacts: bool = False) -> None:
        self._is_wanted, self._redacts = is_wanted, redacts
        self._file: SpanFile | None = None
        self.problem: str | None = None
        """Why they are not kept any more, where they were to be."""

    def begin(self, run: RunFolder) -> None:
        """Begin to keep the spans of a run.

        A run that is resumed may have spans though none are wanted now. Then there are lines without any, so that
        what was kept of a case before it was run again is not taken for its spans.
        """
        if self._is_wanted or run.has_spans:
            try:
                self._file = run.span_file()
            except StoreError as problem:
                self.problem = str(problem)

    def take(self, event: CaseFinished) -> None:
        """Keep the spans of a case."""
        if self._file is None:
            return
        try:
            spans = event.spans or KeptSpans()
            self._file.append(event.case_id, event.repeat, _redacted(spans) if self._redacts else spans)
        except StoreError as problem:
            self.problem = str(problem)
            self.close()

    def close(self) -> None:
        """Keep no more."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _redacted(spans: KeptSpans) -> KeptSpans:
    """Spans without secrets. Where there is not room for them any more, none are kept."""
    try:
        made = KeptSpans(dump_json(redacted_value(load_json(spans.text))), spans.left_out)
        made.check()
    except InputError:
        return spans.without_spans()
    return made
