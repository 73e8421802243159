"""Large tables of trajectories: ten calls a row, hardly two rows alike."""

import json
import random
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from .environments import ROOT

TOOLS = (
    *("search_flights", "book_flight", "get_weather", "send_email", "lookup_user", "cancel_order"),
    *("list_items", "pay", "refund", "notify", "search", "checkout"),
)
CALLS = 10
_ROWS = 1 << 16

CallsOf = Callable[[int, random.Random], pa.Array]
"""Makes the calls of so many rows."""


def names_table(rows: int) -> str:
    """A Parquet file of rows with an id and the names of ten calls."""
    return _written(f"names-{rows}", rows, _names)


def args_table(rows: int, *, distinct: bool = False) -> str:
    """A Parquet file of rows with an id and ten calls with arguments as JSON; if wanted, no two texts of them alike."""
    generator = random.Random(2)
    texts = _distinct_texts(generator) if distinct else _few_texts(generator)
    name = f"{'distinct' if distinct else 'few'}-args-{rows}"
    return _written(name, rows, lambda count, drawn: _args(count, drawn, texts))


def _written(name: str, rows: int, calls_of: CallsOf) -> str:
    path = ROOT / ".bench" / f"{name}.parquet"
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        part = path.with_suffix(".part")
        _write(part, rows, calls_of)
        part.rename(path)
    return str(path)


def _write(path: Path, rows: int, calls_of: CallsOf) -> None:
    generator, writer = random.Random(1), None
    for first in range(0, rows, _ROWS):
        count = min(_ROWS, rows - first)
        calls = calls_of(count, generator)
        offsets = pa.array(range(0, CALLS * count + 1, CALLS), pa.int32())
        ids = pa.array([f"{number:032x}" for number in range(first, first + count)])
        batch = pa.record_batch([ids, pa.ListArray.from_arrays(offsets, calls)], ["id", "calls"])
        writer = writer or pq.ParquetWriter(path, batch.schema)
        writer.write_batch(batch)
    if writer is not None:
        writer.close()


def _names(rows: int, generator: random.Random) -> pa.Array:
    drawn = generator.choices(range(len(TOOLS)), k=CALLS * rows)
    return pa.array(TOOLS).take(pa.array(drawn, pa.int8()))


def _args(rows: int, generator: random.Random, texts: Iterator[str]) -> pa.Array:
    names = _names(rows, generator)
    return pa.StructArray.from_arrays([names, pa.array(islice(texts, len(names)))], ["name", "args"])


def _few_texts(generator: random.Random) -> Iterator[str]:
    known = [json.dumps({"query": query, "limit": limit}) for query in "abc" for limit in range(1, 6)]
    while True:
        yield from generator.choices(known, k=_ROWS)


def _distinct_texts(generator: random.Random) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f'{{"query": "{generator.choice("abc")}", "limit": {number % 5}, "request": {number}}}'
