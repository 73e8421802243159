"""The tables of formats on the reference page, made from the tables of the readers.

.venv/bin/python -m tests.reading.reference      # writes the tables into the page
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rightcall.reading.conventions._tool_calls import CONVENTIONS, Convention
from rightcall.reading.formats._containers import CONTAINERS
from rightcall.reading.messages._agent_parts import Part
from rightcall.reading.messages._part_formats import PARTS
from rightcall.reading.messages._transcripts import DOCUMENTS, LINES

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "traces.md"


def tables() -> list[str]:
    """The tables, each beginning with its header, which is on the page once."""
    return [_containers(), _transcripts(), _conventions(), _parts()]


def written(page: str) -> str:
    """The page with the tables of the readers in the place of those it has."""
    for table in tables():
        head = "\n".join(table.splitlines()[:2])
        begin = page.index(head)
        end = page.index("\n\n", begin)
        page = page[:begin] + table + page[end:]
    return page


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> str:
    lines = [head, tuple("---" for _ in head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _containers() -> str:
    rows = [(f"`{each.name}`", each.what, each.told_by) for each in CONTAINERS]
    rows += [
        (
            "–",
            "OTLP protobuf, one request or several with their lengths before them",
            "its first byte",
        ),
        (
            "–",
            "Parquet: [tables of spans](columns.md#tables-of-spans) of any exporter, Phoenix's and MLflow's among "
            "them; [conversations](#conversations), one a row (extra `arrow`)",
            "its first bytes",
        ),
        (
            "`messages`",
            "a log of messages, as a list, one a line, or under `messages`, `contents`, `events`, `output`; several "
            "[conversations](#conversations), one a line or item; a [transcript](#transcripts)",
            "none of the above",
        ),
    ]
    return _table(("`input_format`", "container", "recognized by"), rows)


def _transcripts() -> str:
    rows = [(each.name, each.conversation, each.told_by) for each in (*DOCUMENTS, *LINES)]
    return _table(("transcript", "a conversation is", "recognized by"), rows)


def _conventions() -> str:
    by_name: dict[str, list[Convention]] = {}
    for convention in CONVENTIONS:
        if convention.call:
            by_name.setdefault(convention.name, []).append(convention)
    rows = []
    for name, held in by_name.items():
        first = held[0]
        marks = "; or ".join(" and ".join(_mark(*mark) for mark in each.marks) for each in held)
        events = [f"the event `{event[0]}`" for event in (first.args_event,) if event]
        results = [f"the event `{event[0]}`" for event in (first.output_event,) if event]
        rows.append(
            (
                name,
                marks,
                _listed(first.tool) or "the span’s name",
                _listed(first.call_id) or "–",
                ", ".join([_listed(first.args), *events] if first.args else events) or "–",
                ", ".join([_listed(first.output), *results] if first.output else results) or "–",
            )
        )
    head = ("convention", "a span is a call if it has", "name", "call id", "arguments", "output")
    return _table(head, rows)


def _parts() -> str:
    by_format: dict[str, dict[str, list[Part]]] = {}
    for part in PARTS:
        by_format.setdefault(part.format, {}).setdefault(part.kind, []).append(part)
    rows = [
        (name, *("; or ".join(_marks(part) for part in kinds.get(kind, ())) or "–" for kind in ("call", "result")))
        for name, kinds in by_format.items()
    ]
    return _table(("format", "a requested call has", "a result has"), rows)


def _marks(part: Part) -> str:
    return ", ".join(_mark(key, wanted) for key, wanted in part.marks)


def _mark(key: str, wanted: Any) -> str:
    if wanted is None or callable(wanted):
        return f"`{key}`"
    return f"`{key}` = `{str(wanted).lower() if isinstance(wanted, bool) else wanted}`"


def _listed(keys: tuple[str, ...]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text()))
