"""`rightcall score` on logs that name no case, or by a key or a file, and that have a verdict of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall
from tests.reading.logs import asks

SET = """
cases:
- id: refunds
  when: {input: {$contains: refund}}
  expect: {calls: [look, refund]}
- id: web
  when: {metadata: {channel: web}}
  expect: {never: [phone]}
"""


def log(text: str, *tools: str, **beside: Any) -> str:
    calls = [asks((tool, f"{tool}-1", "{}")) for tool in tools]
    talk = [{"role": "user", "content": text}, *calls, {"role": "assistant", "content": "ok"}]
    return json.dumps({**beside, "messages": talk}) + "\n"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "set.yaml").write_text(SET)
    return tmp_path


def cases_of(done: Any) -> list[tuple[str, int, str]]:
    return [(case["case_id"], case["repeat"], case["verdict"]) for case in json.loads(done.stdout)["cases"]]


def test_each_log_is_judged_by_the_cases_it_fits_and_the_others_are_counted(home: Path) -> None:
    logs = [
        log("refund me", "look", "refund", channel="web"),
        log("refund me", "refund", channel="app"),
        log("hello", "phone", channel="web", trial=4),
        log("hello", channel="app"),
        log("hello"),
    ]
    (home / "logs.jsonl").write_text("".join(logs))
    done = rightcall("score", "logs.jsonl", "--evalset", "set.yaml", "--format", "json", cwd=home)

    assert cases_of(done) == [
        ("refunds", 0, "passed"),
        ("web", 0, "passed"),
        ("refunds", 1, "failed"),
        ("web", 4, "failed"),
        ("web", 2, "not_measured"),
    ]
    assert "1 trace not judged: no case matches" in done.stderr
    assert done.returncode == 1


def test_logs_are_joined_by_a_key_or_by_their_files(home: Path) -> None:
    (home / "set.yaml").write_text("cases: [{id: refund, expect: {calls: [look]}}]")
    (home / "refund").mkdir()
    for number in (2, 5):
        (home / "refund" / f"{number}.json").write_text(log("hi", "look", ticket="refund"))
    by_file = rightcall(
        "score", "refund", "--evalset", "set.yaml", "--join", "file={case}/{repeat}.json", "--format", "json", cwd=home
    )
    by_key = rightcall("score", "refund", "--evalset", "set.yaml", "--join", "key=ticket", "--format", "json", cwd=home)

    assert cases_of(by_file) == [("refund", 2, "passed"), ("refund", 5, "passed")]
    assert cases_of(by_key) == [("refund", 0, "passed"), ("refund", 1, "passed")]


def test_verdicts_are_compared_with_those_of_the_source(home: Path) -> None:
    logs = [log("hi", tool, reward=reward) for tool, reward in (("a", 1), ("a", 0.0), ("b", False), ("b", 0))]
    (home / "logs.jsonl").write_text("".join([*logs, log("hi", "a")]))
    words = ["score", "logs.jsonl", "--expect", "calls: [a]", "--compare-with", "reward"]
    done = rightcall(*words, cwd=home)

    assert "agreement  0.75  (3 of 4)" in done.stdout
    assert "logs.jsonl#2: reward failed, verdict passed (1)" in done.stdout
    assert "not compared, because the source does not say: 1" in done.stdout
    found = json.loads(rightcall(*words, "--format", "json", cwd=home).stdout)["comparison"]
    assert (found["agreement"], found["kappa"], found["not_said"]) == (0.75, 0.5, 1)


def test_run_leaves_out_cases_that_are_about_traces(home: Path) -> None:
    (home / "agent.py").write_text("def answer(question): return question\n")
    done = rightcall("run", "agent.py:answer", "set.yaml", cwd=home)
    assert done.returncode == 2
    assert "all 2 cases have `when`" in done.stderr

    (home / "set.yaml").write_text(SET + "- {id: hello, input: hi, expect: {output: hi}}\n")
    done = rightcall("run", "agent.py:answer", "set.yaml", cwd=home)
    assert "not run, because they have `when` and are about recorded traces: 2 cases" in done.stderr
    assert "1 passed" in done.stdout


def in_columns(folder: Path) -> list[tuple[Any, ...]]:
    from pyarrow import parquet

    rows = [row for file in folder.glob("*.parquet") for row in parquet.read_table(file).to_pylist()]
    return sorted([(row["case_id"] or "", row["verdict"], row["repeat"], row["label"]) for row in rows], key=str)


def test_scores_in_columns_say_the_same(home: Path) -> None:
    logs = [
        log("refund me", "look", "refund", channel="web", reward=1),
        log("hello", "phone", channel="web", trial=4, reward=1),
        log("hello", channel="app", reward=0),
        log("hello"),
    ]
    (home / "logs.jsonl").write_text("".join(logs))
    words = ["score", "logs.jsonl", "--evalset", "set.yaml", "--compare-with", "reward"]
    done = rightcall(*words, "--out", "out", cwd=home)

    assert in_columns(home / "out") == [
        ("", "not_measured", None, False),
        ("refunds", "passed", None, True),
        ("web", "failed", 4, True),
        ("web", "not_measured", None, None),
        ("web", "passed", None, True),
    ]
    assert "1 trace not judged: no case matches" in done.stderr
    assert "agreement  0.6667  (2 of 3)" in done.stdout
    kept = rightcall(*words, "--out", "out", "--keep", "--format", "json", cwd=home)
    assert json.loads(kept.stdout)["compared"]["source_passed"] == 1


def test_tables_are_joined_by_a_column_and_by_their_files(home: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    (home / "set.yaml").write_text("cases: [{id: refund, expect: {calls: [look]}}]")
    named = {"ticket": ["refund", "refund"], "trial": [7, 8]}
    table = pa.table({"id": ["1", "2"], "calls": [["look"], ["phone"]], **named})
    (home / "refund").mkdir()
    parquet.write_table(table, home / "refund" / "3.parquet")
    for number, join in enumerate(["key=ticket", "file={case}/{repeat}.parquet"]):
        rightcall("score", "refund", "--evalset", "set.yaml", "--join", join, "--out", f"out{number}", cwd=home)

    assert in_columns(home / "out0") == [("refund", "failed", 8, None), ("refund", "passed", 7, None)]
    assert in_columns(home / "out1") == [("refund", "failed", 3, None), ("refund", "passed", 3, None)]
