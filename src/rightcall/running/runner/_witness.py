"""What an agent does, told to the parent while it does it: a process that dies or is killed says nothing afterwards."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from rightcall.reading import raw_span, raw_spans
from rightcall.running.agents import Answer
from rightcall.values.trajectory import KeptSpans, RawSpan

from ._replies import Seen

MOST_TOLD = 4 << 20
"""Characters that are told of one run of a case; what a case did after that is told at its end only."""


class Witness:
    """Tells of the spans of one run of a case as they begin and end. Nothing about it costs a result."""

    def __init__(self, number: int, say: Callable[[Seen], None]) -> None:
        self._number = number
        self._say = say
        self._told = 0
        self._turn = 0
        self._documents: list[bytes] = []

    def begin(self, turn: int) -> None:
        """Take note that a turn begins."""
        self._turn = turn
        self._documents = []

    def answer(self) -> Answer:
        """What an agent elsewhere has sent in this turn, where it came to no answer that could have told of it."""
        return Answer(documents=tuple(self._documents))

    def see(self, span: Any) -> None:
        """Tell of a span that has begun or ended in this process."""
        try:
            self._tell([raw_span(span)])
        except Exception:  # noqa: BLE001 - whatever an agent made of its spans: they are only looked at
            return

    def see_document(self, document: bytes) -> None:
        """Tell of the spans that an agent elsewhere sent."""
        self._documents.append(document)
        try:
            self._tell(raw_spans(document))
        except Exception:  # noqa: BLE001 - whatever it sent: where it cannot be read, its path will say so
            return

    def _tell(self, spans: Iterable[RawSpan]) -> None:
        if self._told >= MOST_TOLD:
            return
        kept = KeptSpans.of(list(spans))
        self._told += len(kept.text)
        self._say(Seen(self._number, self._turn, kept))
