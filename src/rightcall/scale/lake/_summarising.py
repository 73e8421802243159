"""Files of scores in, what they come to out."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow as pa
from pyarrow import parquet

from rightcall.errors import StoreError
from rightcall.scale.columns import SCORES
from rightcall.values.decoding import dump_json

from ._counting import Counting
from ._fragments import Fragment
from ._output import KEY, SUMMARY, Output
from ._places import reason
from ._summary import Summary

_ROWS = 65_536


def summarise(out: str, cases: Iterable[str] = (), *, failed_parts: int = 0) -> Summary:
    """What the scores in a folder come to, whoever wrote them: every Parquet file there with the columns of `SCORES`.

    Raises:
        StoreError: the folder, or a file of scores in it, cannot be read.
    """
    counting = Counting()
    output = Output(out)
    names = [name for name in output.names() if name.endswith(".parquet") and not name.startswith(("_", "."))]
    for name in names:
        count_file(output, name, counting)
    return counting.summary(cases, failed_parts=failed_parts)


def count_fragment(fragment: Fragment, output: Output) -> Counting:
    """What the scores of a fragment come to. Raises `StoreError`."""
    counting = Counting()
    count_file(output, fragment.file, counting, fragment.fingerprint)
    return counting


def count_file(output: Output, name: str, counting: Counting, fingerprint: str | None = None) -> None:
    """Count the scores in one file, which has to have this fingerprint, if one is given. Raises `StoreError`."""
    where = output.place.below(name)
    try:
        with where.system.open_input_file(where.path) as file:
            table = parquet.ParquetFile(file, pre_buffer=not where.is_local)
            held = (table.schema_arrow.metadata or {}).get(KEY, b"").decode(errors="replace")
            if fingerprint is not None and held != fingerprint:
                raise StoreError(f"{where.address}: another command has written this file in the meantime")
            if fingerprint is None and not set(SCORES.names) <= set(table.schema_arrow.names):
                return
            first = 0
            for batch in table.iter_batches(_ROWS, columns=SCORES.names, use_threads=False):
                counting.add(batch, name, first)
                first += batch.num_rows
    except (pa.ArrowException, OSError) as problem:
        raise StoreError(f"{where.address}: these scores cannot be read: {reason(problem)}") from None


def write_summary(out: str, summary: Summary) -> None:
    """Put a summary beside the scores; it is there when all of them are. Raises `StoreError`."""
    Output(out).put(SUMMARY, (dump_json(summary.to_plain(), indent=2) + "\n").encode())
