"""Tables of spans, as exporters write them, made into trajectories."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

from rightcall.cases.verdicts import CASE_ATTRIBUTE
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.reading import Grouping, UnorderedSpans, check_grouping, known_columns, span_columns, table_spans
from rightcall.values.trajectory import Trajectory


def is_span_table(schema: pa.Schema) -> bool:
    """Whether a table is one of spans, told by its columns: a span a row, or a trace of MLflow a row."""
    return span_columns(schema) is not None


def span_trajectories(
    batches: Iterable[pa.RecordBatch],
    *,
    grouping: Grouping = "auto",
    metadata_attributes: tuple[str, ...] = (CASE_ATTRIBUTE,),
    limits: Limits = DEFAULT_LIMITS,
) -> Iterator[Trajectory]:
    """The trajectories of spans in columns, in the order in which the runs began.

    The spans may come in any order and in tables of different kinds, and all of them are held until the last has come.
    The order makes no difference to what comes out. A span that is there twice counts once.

    Args:
        batches: The spans, or a `pyarrow.Table` of them.
        grouping: What makes a run: `trace`, `conversation` or `session`. By default traces of one conversation or
            session are one run, and traces with nothing of an agent in them are left out beside others.
        metadata_attributes: Attributes of spans to keep in each trajectory's metadata.
        limits: The budgets for what is decoded.

    Raises:
        ConfigurationError: the grouping is `file`, which tables know nothing of.
        InputError: a batch has no columns of spans.
        UnknownNameError: the grouping is unknown.
    """
    check_grouping(grouping)
    parts = batches.to_batches() if isinstance(batches, pa.Table) else batches
    spans = (
        span
        for batch in parts
        for span in table_spans(batch, known_columns(batch.schema, "the table of spans"), limits)
    )
    return UnorderedSpans(spans, grouping, metadata_attributes, limits).trajectories()
