"""Trajectories of all kinds in a table, and a form of scores that can be compared to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from rightcall.scale.columns import SCORES, TRAJECTORIES, Plan, score_batch

CASES = """
cases:
  - {id: book, expect: {order: [search, book], args: [{name: book, args: {seats: 2}}]}}
  - {id: greet, expect: {calls: []}}
"""


def plan_in(folder: Path) -> Plan:
    """The plan of those cases."""
    (folder / "cases.yaml").write_text(CASES, encoding="utf-8")
    return Plan.of_eval_set(folder / "cases.yaml")


def rows(count: int = 400) -> list[dict[str, Any]]:
    """Rows of trajectories of all kinds: passed, failed, of no case, and such that cannot be read."""
    return [_row(number) for number in range(count)]


def _row(number: int) -> dict[str, Any]:
    row: dict[str, Any] = {"id": f"row-{number:05}", "case_id": "book", "duration_ns": number * 1_000_000}
    seats = {"name": "book", "args": f'{{"seats": {number % 3}, "who": "Zoë"}}', "output": '"ok"'}
    search = {"name": "search", "args": "{}", "output": None}
    calls: dict[int, Any] = {0: [search, seats], 1: [seats, search], 2: [seats], 3: [search] * 12 + [seats]}
    row["calls"] = calls.get(number % 10, [search, seats])
    if number % 10 == 4:
        row |= {"case_id": "greet", "calls": []}
    elif number % 10 == 5:
        row["case_id"] = "nobody"
    elif number % 10 == 6:
        row["calls"] = [{"name": "book", "args": '{"seats": '}]
    elif number % 10 == 7:
        row["calls"] = None
    elif number % 10 == 8:
        row["calls"] = [{"name": "book", "args": "[1]"}]
    return row


NULLABLE = pa.schema([field.with_nullable(True) for field in TRAJECTORIES])


def table(count: int = 400) -> pa.Table:
    """The same rows, as a table."""
    return pa.Table.from_pylist(rows(count), schema=NULLABLE)


def write_lines(path: Path, rows: list[dict[str, Any]]) -> None:
    """The same rows as JSON lines, and behind them lines that cannot be read."""
    lines = [json.dumps(row) for row in rows]
    path.write_text("\n".join([*lines, "", "{broken", "[1]"]) + "\n", encoding="utf-8")


def read_scores(folder: Path) -> pa.Table:
    """All scores in a folder, whoever wrote them."""
    return pa.concat_tables([parquet.read_table(path).cast(SCORES) for path in sorted(folder.glob("*.parquet"))])


def canonical(scores: pa.Table) -> bytes:
    """Scores as bytes that do not depend on their order, or on how they are cut."""
    whole = scores.cast(SCORES).sort_by("id").combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, SCORES) as stream:
        for batch in whole.to_batches(max_chunksize=None):
            stream.write_batch(batch)
    return bytes(sink.getvalue())


def scored(trajectories: pa.Table, plan: Plan) -> bytes:
    """The canonical form of the scores that the kernel gives in one piece."""
    [batch] = trajectories.combine_chunks().to_batches()
    return canonical(pa.Table.from_batches([score_batch(batch, plan)]))


DEADLY = """
import os, signal, time
from pathlib import Path

from rightcall import evaluator

HERE = Path(__file__).parent


def is_first(name):
    with open(HERE / f"{name}.tried", "a") as file:
        file.write(f"{os.getpid()}\\n")
    try:
        os.close(os.open(HERE / f"{name}.met", os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return False
    return True


def parent(process):
    return int(Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[1])


@evaluator
def deadly(calls):
    names = [call.name for call in calls]
    if "kill" in names and is_first("kill"):
        os.kill(os.getpid(), signal.SIGKILL)
    if "kill-executor" in names and is_first("kill-executor"):
        os.kill(parent(os.getppid()), signal.SIGKILL)
    if "dawdle" in names and is_first("dawdle"):
        time.sleep(300)
    return len(calls) < 3
"""


def deadly_plan_in(folder: Path) -> Plan:
    """A plan whose evaluator does harm to whoever judges certain calls, the first time."""
    (folder / "rightcall.toml").touch()
    (folder / "own.py").write_text(DEADLY, encoding="utf-8")
    cases = "evaluators: {deadly: {type: 'own.py:deadly'}}\ncases: [{id: c, expect: {deadly: true}}]\n"
    (folder / "deadly.yaml").write_text(cases, encoding="utf-8")
    return Plan.of_eval_set(folder / "deadly.yaml")


def deadly_table(harm: str, count: int = 60) -> pa.Table:
    """Rows of which one in the middle does a harm."""
    rows = [{"id": f"{number:03}", "case_id": "c", "calls": ["x"] * (number % 5)} for number in range(count)]
    rows[count // 2]["calls"] = [harm]
    return pa.Table.from_pylist(rows)


def harmless(trajectories: pa.Table, folder: Path) -> bytes:
    """The canonical form of the scores of such rows, where no harm is done."""
    for harm in ("kill", "kill-executor", "dawdle"):
        (folder / f"{harm}.met").touch()
    return scored(trajectories, deadly_plan_in(folder))
