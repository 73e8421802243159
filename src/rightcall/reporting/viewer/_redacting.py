"""What the pages show goes without secrets: a page is looked at over a shoulder, and ends up in screenshots."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from rightcall.reporting.store import Run
from rightcall.values.redaction import redacted_address, redacted_text, redacted_value


def redacted_run(run: Run) -> Run:
    """A run whose header has no secrets: an agent may be an address with a password in it."""
    header = run.header
    told = {name: redacted_text(getattr(header, name) or "") for name in ("evalset", "branch")}
    agent, options = redacted_address(header.agent), redacted_value(header.options)
    return replace(run, header=replace(header, **told, agent=agent, options=options))


class RedactedSpans(Mapping[str, Any]):
    """Spans without secrets, each made when it is asked for: most are not shown."""

    def __init__(self, spans: Mapping[str, Any]) -> None:
        self._spans = spans

    def __getitem__(self, span_id: str) -> Any:
        return redacted_value(msgspec.to_builtins(self._spans[span_id]))

    def __iter__(self) -> Iterator[str]:
        return iter(self._spans)

    def __len__(self) -> int:
        return len(self._spans)
