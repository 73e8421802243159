"""`rightcall score --out`: many recorded traces into files of scores, in a real process."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.hostile.corpus import PAYLOADS, harmful, obeyed
from tests.processes import rightcall
from tests.scale.columns.span_tables import KINDS, recorded, spans_of
from tests.scale.lake.lakes import contents, rows, scores, write_lines, write_table
from tests.scale.lake.stores import s3_store
from tests.waiting import PATIENCE, until

from rightcall.cli.score import command as score_command
from rightcall.errors import install_command

EXPECT = "order: [search, book]"
EVALSET = """\
cases:
  - id: trip
    expect: {order: [search, book]}
  - id: mail
    expect: {order: [mail]}
  - id: unmet
    expect: {order: [pay]}
"""


def _cases(folder: Path) -> Path:
    """Rows of two cases, and of none."""
    (folder / "evals.yaml").write_text(EVALSET)
    made: list[dict[str, Any]] = [
        {"id": "good", "case_id": "trip", "calls": ["search", "book"], "duration_ns": 2_000_000_000},
        {"id": "bad", "case_id": "trip", "calls": ["book"], "duration_ns": 3_000_000_000},
        {"id": "ghp_" + "a1B2" * 9, "case_id": "mail", "calls": [{"name": "mail", "turn": "x"}]},
        {"id": "stranger", "case_id": "other", "calls": []},
    ]
    write_lines(folder / "traces" / "a.jsonl", made)
    return folder


def test_a_summary_says_what_all_rows_come_to(tmp_path: Path) -> None:
    done = rightcall("score", "traces", "--evalset", "evals.yaml", "--out", "scores", cwd=_cases(tmp_path))

    assert done.returncode == 1
    assert done.stderr == "rightcall: 1 trace not judged: no case matches\n"
    told = done.stdout.splitlines()
    assert "scores, 0.750 on average" in told
    assert "  1  search: never called, or not often enough (RC101)" in told
    assert "  order  1 passed, 1 failed, 0.750 on average" in told
    assert told[told.index("slowest") + 1].split() == ["3.00s", "bad"]
    assert "no row belongs to 1 case" in told
    assert told[told.index("in error, for example") + 1].endswith(": call 1: turn is 'x'; it should be int64")
    assert "ghp_" not in done.stdout
    assert told[-2] == "4 rows in scores"
    assert told[-1].startswith("1 passed, 1 failed, 1 in error (50 % of 2 measured) in ")


def test_the_summary_is_a_file_and_a_document_too(tmp_path: Path) -> None:
    done = rightcall(
        "score", "traces", "--evalset", "evals.yaml", "--out", "scores", "--format", "json", cwd=_cases(tmp_path)
    )

    document = json.loads(done.stdout)
    assert document["totals"] == {"passed": 1, "failed": 1, "not_measured": 0, "error": 1}
    assert (document["rows"], document["no_case"], document["unmet"]) == (4, 1, ["unmet"])
    assert document["groups"][0]["words"] == "search: never called, or not often enough"
    kept = json.loads((tmp_path / "scores" / "_summary.json").read_text())
    assert kept == {key: value for key, value in document.items() if key in kept}


def test_a_repeated_command_goes_on_and_tells_all_of_it(tmp_path: Path) -> None:
    _cases(tmp_path)
    command = ("score", "traces", "--evalset", "evals.yaml", "--out", "scores")
    rightcall(*command, cwd=tmp_path)
    write_table(tmp_path / "traces" / "b.parquet", [{"id": "later", "calls": []}])

    done = rightcall(*command, cwd=tmp_path)

    assert done.stdout.splitlines()[-2] == "5 rows in scores, 4 of them scored before"


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (("--fail-fast",), "parts are scored in no order"),
        (("--together",), "each is scored apart"),
        (("--join", "order"), "parts are scored in no fixed order"),
        (("--watch",), "give the command again"),
        (("--print-detailed-results",), "with --keep some of each kind are kept"),
        (("--output-file", "x.json"), "they are in the folder"),
        (("--format", "junit=x.xml"), "--keep some of each kind, then `rightcall report`"),
    ],
)
def test_what_makes_no_sense_for_files_of_scores_is_refused_with_the_reason(
    tmp_path: Path, options: tuple[str, ...], why: str
) -> None:
    out = tmp_path / "scores"

    done = CliRunner().invoke(score_command, [str(tmp_path), "--expect", EXPECT, "--out", str(out), *options])

    assert done.exit_code == 2
    assert why in " ".join(done.output.replace("│", "").split())
    assert not out.exists()


def test_evaluators_of_all_cases_together_are_said_not_to_be_asked(tmp_path: Path) -> None:
    _cases(tmp_path)
    with (tmp_path / "evals.yaml").open("a") as file:
        file.write("overall:\n  kinds: {type: classification, config: {output: /kind, expected: /kind}}\n")

    done = rightcall("score", "traces", "--evalset", "evals.yaml", "--out", "scores", cwd=tmp_path)

    assert "not asked, because rows are scored apart: evaluators of all cases together (kinds)" in done.stderr


def test_a_kept_run_has_examples_of_each_failure_and_the_totals_of_all_rows(tmp_path: Path) -> None:
    write_table(tmp_path / "traces" / "a.parquet", rows(400), group=100)

    done = rightcall("score", "traces", "--expect", EXPECT, "--out", "scores", "--runs", "runs", cwd=tmp_path)

    summary = json.loads((tmp_path / "scores" / "_summary.json").read_text())
    [run] = (tmp_path / "runs").iterdir()
    header = json.loads((run / "run.json").read_text())
    results = [json.loads(line) for line in (run / "cases.jsonl").read_text().splitlines()]
    assert f"; run {header['id'][:4]}" in done.stdout
    assert header["totals"] == summary["totals"]
    assert header["evaluators"] == summary["evaluators"]
    assert header["sample"]["results"] == 400
    assert 10 <= len(results) <= 40
    assert all(result["verdict"] == "failed" and result["findings"] for result in results)
    told = rightcall("report", "last", "--runs", "runs", "--format", "html", cwd=tmp_path).stdout
    assert f"{len(results)} of 400 results are kept here" in told


def test_without_pyarrow_one_line_says_what_to_install(tmp_path: Path) -> None:
    (tmp_path / "pyarrow.py").write_text("raise ImportError")
    paths = os.pathsep.join([str(tmp_path), *sys.path])

    done = rightcall("score", "a.jsonl", "--expect", EXPECT, "--out", "scores", cwd=tmp_path, PYTHONPATH=paths)

    assert done.returncode == 2
    assert done.stderr == f"rightcall: --out writes Parquet files, which needs pyarrow: {install_command('arrow')}\n"


def test_tables_of_spans_are_scored_by_runs_that_lie_all_over_them(tmp_path: Path) -> None:
    from pyarrow import parquet

    spans = [span for document in recorded().values() for span in spans_of(document)]
    random.Random(8).shuffle(spans)
    (tmp_path / "spans").mkdir()
    for number in range(3):
        parquet.write_table(KINDS["clickhouse"](spans[number::3]), tmp_path / "spans" / f"{number}.parquet")

    done = rightcall("score", "spans", "--expect", "order: [get_weather]", "--out", "scores", "--keep", cwd=tmp_path)

    traces = {span["trace_id"] for span in spans}
    found = [row["id"] for row in scores(tmp_path / "scores")]
    assert done.returncode == 1
    assert len(found) == len(set(found)) <= len(traces)
    assert not (tmp_path / "scores" / "_spans").exists()


def test_ids_and_names_of_strangers_are_shown_and_never_obeyed(tmp_path: Path) -> None:
    texts = [texts[0] for texts in PAYLOADS.values()]
    made = [{"id": text, "calls": [{"name": text or "-"}], "duration_ns": 10**9} for text in texts]
    write_lines(tmp_path / "a.jsonl", [*made, *[{"id": text, "calls": text} for text in texts]])
    command = ("score", "a.jsonl", "--expect", "calls: [search]", "--out", "scores")

    done = rightcall(*command, "--format", "full", "--format", "full=told.txt", cwd=tmp_path, GITHUB_ACTIONS="true")

    assert done.returncode == 1
    for told in (done.stdout, done.stderr, (tmp_path / "told.txt").read_text("utf-8")):
        assert not harmful(told)
        assert not obeyed(told)


def _start(folder: Path, out: str, workers: int) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rightcall", "score", "in", "--expect", EXPECT, "--out", out, "--workers", str(workers)],
        cwd=folder,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def _children(pid: int) -> list[int]:
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _finished(folder: Path) -> int:
    return len(list(folder.glob("*.parquet")))


@pytest.mark.skipif(sys.platform != "linux", reason="children of processes are looked for in /proc")
def test_killed_again_and_again_it_ends_with_the_bytes_of_an_undisturbed_run(tmp_path: Path) -> None:
    chance = random.Random(15)
    for number in range(12):
        write_table(tmp_path / "in" / f"{number}.parquet", rows(2_000, number), group=500)
    _start(tmp_path, "whole", 1).communicate(timeout=PATIENCE)

    for _ in range(3):
        running = _start(tmp_path, "out", 3)
        wanted = _finished(tmp_path / "out") + chance.randrange(1, 4)
        while running.poll() is None and _finished(tmp_path / "out") < wanted:
            if chance.random() < 0.05 and (workers := _children(running.pid)):
                with suppress(ProcessLookupError):  # it may have ended by itself
                    os.kill(chance.choice(workers), signal.SIGKILL)
            time.sleep(0.01)
        running.kill()
        running.communicate()
    last = _start(tmp_path, "out", 2)
    told = last.communicate(timeout=PATIENCE)

    assert (last.returncode, told[1]) == (1, "")
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")
    assert len(scores(tmp_path / "out")) == 24_000


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_ends_with_130_and_what_is_finished_stays(tmp_path: Path, number: signal.Signals) -> None:
    for file in range(30):
        write_table(tmp_path / "in" / f"{file:02}.parquet", rows(2_000, file), group=500)
    running = _start(tmp_path, "out", 2)
    until(lambda: _finished(tmp_path / "out"))

    running.send_signal(number)
    told = running.communicate(timeout=PATIENCE)

    assert running.returncode == 130
    assert "stopped; the same command goes on where this one was: out" in told[1]
    assert 1 <= _finished(tmp_path / "out") < 30
    assert not (tmp_path / "out" / "_summary.json").exists()


@pytest.fixture(scope="module")
def store() -> Iterator[dict[str, str]]:
    with s3_store("lake") as environment:
        yield environment


def test_an_object_store_is_read_from_and_written_to(
    store: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in store.items():
        monkeypatch.setenv(name, value)
    from pyarrow.fs import S3FileSystem, copy_files

    write_table(tmp_path / "in" / "a b.parquet", rows(40, 1))
    write_table(tmp_path / "in" / "c" / "a b.parquet", rows(40, 2))
    system = S3FileSystem(endpoint_override=store["AWS_ENDPOINT_URL"])
    copy_files(str(tmp_path / "in"), "lake/in", destination_filesystem=system)
    command = ("score", "s3://lake/in/**/*.parquet", "--expect", EXPECT, "--workers", "1", "--out")

    done = rightcall(*command, "s3://lake/scores", cwd=None, **store)
    again = rightcall(*command, "s3://lake/scores", cwd=None, **store)

    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines()[-2] == "80 rows in s3://lake/scores"
    assert again.stdout.splitlines()[-2] == "80 rows in s3://lake/scores, 80 of them scored before"
    (tmp_path / "out").mkdir()
    copy_files("lake/scores", str(tmp_path / "out"), source_filesystem=system)
    assert "s3://lake/in/c/a b.parquet#5" in {row["id"] for row in scores(tmp_path / "out")}
    assert len(scores(tmp_path / "out")) == 80
