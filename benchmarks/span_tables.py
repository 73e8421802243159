"""A million spans in tables of every kind, held against the readers: `python -m benchmarks.span_tables`.

Copies of all recordings are written as OTLP, and their spans, shuffled, over many Parquet files. Each kind of table is
sorted into buckets and read in a process of its own; what comes out has to be what `rightcall.read` gives.
"""

import argparse
import json
import multiprocessing
import random
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.columns.span_tables import KINDS, WITHOUT_SCOPES, Span, copies, moved, recorded, spans_of, without_scopes

import rightcall
from rightcall.batch import ParquetSpans, bucket_count, span_buckets
from rightcall.trajectory import Trajectory

_CHUNK = 50_000
_FILES = 4
_ROW_GROUP = 2_000
_FIRST, _APART = 1_700_000_000 * 10**9, 10**9

Digests = dict[str, bytes]


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0 when every kind of table gives the trajectories that the readers give."""
    options = _parser().parse_args(arguments)
    kinds = options.kind or list(KINDS)
    with tempfile.TemporaryDirectory(prefix="rightcall-spans-", dir=options.folder) as folder:
        _write(Path(folder), options.spans, kinds)
        print(
            f"{'kind':<12}{'spans':>10}{'files':>7}{'MB':>7}{'buckets':>9}{'sorting':>10}{'reading':>10}{'memory':>9}"
        )
        same = [_measure(Path(folder), kind, options.spans) for kind in kinds]
    return 0 if all(same) else 1


def _write(folder: Path, least: int, kinds: Iterable[str]) -> None:
    """The same spans as OTLP with scopes and without, and as tables."""
    generator, held, number = random.Random(1), list[Span](), 0
    with (folder / "with.jsonl").open("w") as scoped, (folder / "without.jsonl").open("w") as unscoped:
        for document in _documents(least, generator):
            scoped.write(json.dumps(document) + "\n")
            unscoped.write(json.dumps(without_scopes(document)) + "\n")
            held += spans_of(document)
            if len(held) >= 2 * _CHUNK:
                # Half of what is held stays, so that traces are scattered over tables written at different times.
                generator.shuffle(held)
                _write_tables(folder, held[:_CHUNK], kinds, number)
                held, number = held[_CHUNK:], number + 1
    _write_tables(folder, held, kinds, number)


def _documents(least: int, generator: random.Random) -> Iterator[Any]:
    making = [copies(document, generator) for document in recorded().values()]
    count = place = 0
    while count < least:
        document = moved(next(making[place % len(making)]), _FIRST + place * _APART)
        yield document
        place += 1
        count += len(spans_of(document))


def _write_tables(folder: Path, spans: list[Span], kinds: Iterable[str], number: int) -> None:
    for kind in kinds:
        (folder / kind).mkdir(exist_ok=True)
        for part in range(_FILES):
            table = KINDS[kind](spans[part::_FILES])
            pq.write_table(table, folder / kind / f"{number:04}-{part}.parquet", row_group_size=_ROW_GROUP)


def _measure(folder: Path, kind: str, spans: int) -> bool:
    otlp = folder / ("without.jsonl" if kind in WITHOUT_SCOPES else "with.jsonl")
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        expected = pool.apply(_digests_of_otlp, (str(otlp),))
        actual, figures = pool.apply(_digests_of_tables, (str(folder / kind),))
    print(f"{kind:<12}{spans:>10,}{figures}")
    differing = [trace for trace in {*expected, *actual} if expected.get(trace) != actual.get(trace)]
    print(f"{'':<12}{len(actual):,} trajectories, {len(differing):,} differ from what the readers give", flush=True)
    return bool(actual) and not differing


def _digests_of_otlp(path: str) -> Digests:
    return _digests(rightcall.read(path))


def _digests_of_tables(folder: str) -> tuple[Digests, str]:
    tables = [ParquetSpans(str(path)) for path in sorted(Path(folder).glob("*.parquet"))]
    size = sum([table.size for table in tables])
    with tempfile.TemporaryDirectory(dir=folder) as aside:
        begin = time.process_time()
        buckets = span_buckets(tables, aside, bucket_count(size))
        sorting = time.process_time() - begin
        found: Digests = {}
        reading = 0.0
        for bucket in buckets:
            begin = time.process_time()
            trajectories = list(bucket.trajectories())
            reading += time.process_time() - begin
            found |= _digests(trajectories)
    memory = _peak() >> 10
    figures = f"{len(tables):>7}{size >> 20:>7}{len(buckets):>9}{sorting:>9.1f}s{reading:>9.1f}s{memory:>6} MB"
    return found, figures


def _peak() -> int:
    """The most memory that this process had, in KiB. `getrusage` would count what its parent had when it began."""
    held = [line.split() for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")]
    return int(held[0][1])


def _digests(trajectories: Iterable[Trajectory]) -> Digests:
    return {
        str(each.trace_id): blake2b(_told(each).encode("utf-8", "replace"), digest_size=16).digest()
        for each in trajectories
    }


def _told(trajectory: Trajectory) -> str:
    """Everything of a trajectory, as text that is the same for two that are equal."""
    calls = [
        [sorted(held) if isinstance(held, frozenset) else held for held in _values(call)] for call in trajectory.calls
    ]
    return repr((calls, _values(trajectory)[1:]))


def _values(struct: Any) -> list[Any]:
    return [getattr(struct, name) for name in struct.__struct_fields__]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.span_tables", description=__doc__)
    parser.add_argument("--spans", type=int, default=1_000_000, help="at least so many")
    parser.add_argument("--kind", action="append", choices=KINDS, help="a kind of table; all of them by default")
    parser.add_argument("--folder", default=None, help="where the files are made, and removed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
