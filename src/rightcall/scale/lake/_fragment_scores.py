"""One fragment in, one file of scores out, and the counts of such files."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyarrow import parquet

from rightcall.errors import StoreError
from rightcall.scale.columns import SCORES, Plan, score_batch
from rightcall.values.decoding import dump_json

from ._batches import batches
from ._counts import Counting
from ._fragments import Fragment
from ._lines import Rows, rows_of
from ._output import KEY, SUMMARY, Output
from ._places import reason
from ._summary import Summary


def score_fragment(fragment: Fragment, plan: Plan, out: str, *, tell: Callable[[int], None] | None = None) -> int:
    """Score a fragment into one file of the folder `out`, and say how many rows there are.

    The file has the name `fragment.file` and the same bytes whichever process scores it. It is there when it is whole
    and not before, so it may be scored twice, or by two at a time. `tell` hears of rows as they are scored.

    Raises:
        InputError: the fragment cannot be read.
        StoreError: the file cannot be written.
    """
    return Output(out).write(fragment.file, fragment.fingerprint, _scored(fragment, plan, tell))


def score_lines(lines: Iterable[bytes], plan: Plan) -> pa.RecordBatch:
    """The scores of trajectories as JSON lines; one that cannot be read is an error of that row."""
    rows = rows_of(lines)
    return _explained(score_batch(rows.batch, plan), rows)


def _scored(fragment: Fragment, plan: Plan, tell: Callable[[int], None] | None) -> Iterator[pa.RecordBatch]:
    for rows in batches(fragment, plan.fields):
        yield _explained(score_batch(rows.batch, plan), rows)
        if tell is not None:
            tell(rows.batch.num_rows)


def _explained(scores: pa.RecordBatch, rows: Rows) -> pa.RecordBatch:
    """Scores that say of rows that could not be read why not: they are errors, whatever case they would belong to."""
    if not rows.problems:
        return scores
    for name, told in (("verdict", dict.fromkeys(rows.problems, "error")), ("error", rows.problems)):
        place = scores.schema.get_field_index(name)
        texts = [told.get(number, text) for number, text in enumerate(scores.column(place).to_pylist())]
        scores = scores.set_column(place, scores.schema.field(place), pa.array(texts, pa.string()))
    return scores


_ROWS = 65_536


def summarise(out: str, cases: Iterable[str] = (), *, failed_parts: int = 0) -> Summary:
    """Return the summary of the scores in a folder: every Parquet file there with the columns of `SCORES`.

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
    """Return the counts of the scores of a fragment. Raises `StoreError`."""
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
