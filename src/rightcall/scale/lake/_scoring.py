"""One fragment in, one file of scores out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa

from rightcall.scale.columns import Plan, score_batch

from ._fragments import Fragment
from ._lines import Rows, rows_of
from ._output import Output
from ._reading import batches


def score_fragment(fragment: Fragment, plan: Plan, out: str, *, tell: Callable[[int], None] | None = None) -> int:
    """Score a fragment into one file of the folder `out`, and say how many rows there are.

    The file has the name `fragment.file` and the same bytes whoever scores it. It is there when it is whole and not
    before, so it may be scored twice, or at the same time by two. `tell` hears of rows as they are scored.

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
