"""Tables of spans: the same trajectories as the readers give for the same spans as OTLP."""

from __future__ import annotations

import json
import random

import pytest
from tests.columns.span_tables import KINDS, WITHOUT_SCOPES, recorded, spans_of, without_scopes

from rightcall import read
from rightcall.columns import is_span_table, span_trajectories
from rightcall.trajectory import Trajectory


def _by_trace(trajectory: Trajectory) -> str:
    return trajectory.trace_id or ""


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_any_kind_gives_what_the_readers_give_for_the_same_spans(kind: str) -> None:
    for name, document in recorded().items():
        spans = spans_of(document)
        random.Random(name).shuffle(spans)
        same = without_scopes(document) if kind in WITHOUT_SCOPES else document
        expected = sorted(read(json.dumps(same).encode(), grouping="trace"), key=_by_trace)

        actual = sorted(span_trajectories(KINDS[kind](spans), grouping="trace"), key=_by_trace)

        assert actual == expected, name


@pytest.mark.parametrize("kind", KINDS)
def test_a_table_of_any_kind_is_known_by_its_columns(kind: str) -> None:
    spans = spans_of(next(iter(recorded().values())))

    assert is_span_table(KINDS[kind](spans).schema)
