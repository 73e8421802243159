"""Small lakes: files and tables of trajectories."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from rightcall.scale.columns import Plan
from rightcall.scale.lake import Cut, Fragment, Job, score_fragment

TOOLS = ("search", "book", "pay", "mail")
CUT = Cut(rows=20, most_rows=30, size=2_000)
"""Parts small enough for a small lake to have many of them."""
PLAN = Plan.of_expectation("order: [search, book]")


def rows(count: int, seed: int = 0) -> list[dict[str, Any]]:
    """Trajectories of up to six calls, some without an id, some that cannot be read."""
    chance = random.Random(seed)
    made = []
    for number in range(count):
        calls: list[dict[str, Any]] | None = [
            {"name": chance.choice(TOOLS), "args": json.dumps({"n": chance.randrange(3)})}
            for _ in range(chance.randrange(7))
        ]
        if number % 17 == 5:
            calls = None
        name = None if number % 13 == 4 else f"row-{seed}-{number}"
        made.append({"id": name, "calls": calls, "duration_ns": chance.randrange(10**9)})
    return made


def write_table(path: Path, made: list[dict[str, Any]], group: int = 10) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    call = pa.struct([("name", pa.string()), ("args", pa.string())])
    schema = pa.schema(
        [("id", pa.string()), ("calls", pa.list_(call)), ("duration_ns", pa.int64()), ("ours", pa.string())]
    )
    parquet.write_table(pa.Table.from_pylist(made, schema=schema), path, row_group_size=group)
    return path


def write_lines(path: Path, made: list[dict[str, Any]]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join([json.dumps(row) + "\n" for row in made]))
    return path


def score(source: Path | str, out: Path, plan: Plan = PLAN, cut: Cut = CUT) -> list[Fragment]:
    """Score a lake in this process; what had to be scored."""
    with Job([str(source)], plan, str(out), cut=cut) as job:
        for fragment in job.waiting:
            score_fragment(fragment, plan, str(out))
        return job.waiting


def scores(out: Path) -> list[dict[str, Any]]:
    """All scores in a folder, by file, then in their order."""
    return [row for path in sorted(out.glob("*.parquet")) for row in parquet.read_table(path).to_pylist()]


def contents(out: Path) -> dict[str, bytes]:
    """Every file in a folder of scores, but the one that locks it."""
    return {path.name: path.read_bytes() for path in out.iterdir() if path.name != "_lock"}
