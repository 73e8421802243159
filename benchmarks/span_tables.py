"""A million spans in tables of every kind, held against the readers: `python -m benchmarks.span_tables`.

Copies of all recordings are written as OTLP, and their spans, shuffled, over many Parquet files of different kinds.
These are sorted into buckets and read in a process of its own; what comes out has to be what `rightcall.read` gives.
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
from itertools import cycle
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from tests.scale.columns.span_tables import KINDS, WITHOUT_SCOPES, Span, copier, recorded, spans_of, without_scopes

import rightcall
from rightcall.scale.lake import ParquetSpans, bucket_count, span_buckets
from rightcall.values.trajectory import Trajectory

_CHUNK = 50_000
_FILES = 6
_ROW_GROUP = 2_000
_FIRST, _APART = 1_700_000_000 * 10**9, 10**9

Digests = dict[str, bytes]


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0 when every lake gives the trajectories that the readers give."""
    options = _parser().parse_args(arguments)
    lakes = [options.kind] if options.kind else [[kind for kind in KINDS if kind not in WITHOUT_SCOPES], WITHOUT_SCOPES]
    same = []
    for kinds in lakes:
        with tempfile.TemporaryDirectory(prefix="rightcall-spans-", dir=options.folder) as folder:
            count = _write(Path(folder), options.spans, kinds)
            same.append(_measure(Path(folder), kinds, count))
    return 0 if all(same) else 1


def _write(folder: Path, least: int, kinds: Sequence[str]) -> int:
    """As many spans as OTLP and in tables; how many there are."""
    generator, held, number, count = random.Random(1), list[Span](), 0, 0
    with (folder / "traces.jsonl").open("w") as lines:
        for text in _documents(generator):
            document = json.loads(text)
            is_scoped = not any(kind in WITHOUT_SCOPES for kind in kinds)
            lines.write((text if is_scoped else json.dumps(without_scopes(document))) + "\n")
            spans = spans_of(document)
            held += spans
            count += len(spans)
            if len(held) >= 2 * _CHUNK:
                # Half of what is held stays, so that traces are scattered over tables written at different times.
                generator.shuffle(held)
                _write_tables(folder, held[:_CHUNK], kinds, number)
                held, number = held[_CHUNK:], number + 1
            if count >= least:
                break
    generator.shuffle(held)
    _write_tables(folder, held, kinds, number)
    return count


def _documents(generator: random.Random) -> Iterator[str]:
    making = [copier(document, generator) for document in recorded().values()]
    for place, make in enumerate(cycle(making)):
        yield make(_FIRST + place * _APART)


def _write_tables(folder: Path, spans: list[Span], kinds: Sequence[str], number: int) -> None:
    for part in range(_FILES):
        table = KINDS[kinds[part % len(kinds)]](spans[part::_FILES])
        pq.write_table(table, folder / f"{number:04}-{part}.parquet", row_group_size=_ROW_GROUP)


def _measure(folder: Path, kinds: Sequence[str], count: int) -> bool:
    context = multiprocessing.get_context("spawn")
    with context.Pool(1, maxtasksperchild=1) as pool:
        expected, seconds = pool.apply(_digests_of_otlp, (str(folder / "traces.jsonl"),))
        actual, figures = pool.apply(_digests_of_tables, (str(folder),))
    differing = [trace for trace in {*expected, *actual} if expected.get(trace) != actual.get(trace)]
    print(f"{count:,} spans, tables of {', '.join(kinds)}")
    print(f"  as OTLP: read in {seconds:.0f} s\n  {figures}")
    print(f"  {len(actual):,} trajectories, {len(differing):,} differ from what the readers give", flush=True)
    return bool(actual) and not differing


def _digests_of_otlp(path: str) -> tuple[Digests, float]:
    begin = time.process_time()
    return _digests(rightcall.read(path)), time.process_time() - begin


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
    figures = f"{len(tables)} tables, {size >> 20:,} MB: sorted into {len(buckets)} buckets in {sorting:.0f} s, "
    figures += f"read in {reading:.0f} s, {memory:,} MB of memory"
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
    parser.add_argument("--kind", action="append", choices=KINDS, help="only such tables")
    parser.add_argument("--folder", default=None, help="where the files are made, and removed")
    return parser


if __name__ == "__main__":
    sys.exit(main())
