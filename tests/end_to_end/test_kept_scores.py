"""Scored traces that are kept as a run, and what the files and screens of both are like, in real processes."""

import json
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall
from tests.projects import make_project
from tests.waiting import PATIENCE

HOSTILE = "x\n::error::obeyed\n  ::set-output name=a::b\n##[error]obeyed\n##[group]obeyed"


def log(*calls: tuple[str, dict[str, Any]], answer: str = "done") -> str:
    """A log of messages, on one line."""
    asked = [
        {"id": str(number), "type": "function", "function": {"name": name, "arguments": json.dumps(args)}}
        for number, (name, args) in enumerate(calls)
    ]
    told = [{"role": "tool", "tool_call_id": one["id"], "content": HOSTILE} for one in asked]
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": asked}, *told]
    return json.dumps([*messages, {"role": "assistant", "content": answer}])


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    """Two cases, of which the first fails, and their traces, in order."""
    (tmp_path / "evals.yaml").write_text(
        "cases:\n  - {id: laptop, expect: {calls: [{pay: {amount: 2}}]}}\n  - {id: phone, expect: {calls: [search]}}\n"
    )
    (tmp_path / "traces").mkdir()
    return make_project(
        tmp_path, {"traces/1.json": log(("pay", {"amount": HOSTILE})), "traces/2.json": log(("search", {}))}
    )


def score(folder: Path, *options: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    return rightcall("score", "traces", "--evalset", "evals.yaml", *options, cwd=folder, **environment)


def test_kept_scores_are_a_run_that_is_shown_reported_and_compared(traces: Path) -> None:
    first = score(traces, "--keep")
    (traces / "traces" / "1.json").write_text(log(("pay", {"amount": 2})))
    second = score(traces, "--keep")

    assert (first.returncode, second.returncode) == (1, 0)
    assert "  run " in first.stdout.splitlines()[-1]
    [one, two] = sorted((traces / ".rightcall" / "runs").iterdir())
    compared = rightcall("diff", one.name, two.name, cwd=traces)
    assert compared.stdout.startswith("1 fix\n  ✗→✓ laptop")
    assert "\npassed  1/2 → 2/2" in compared.stdout
    assert "pay(amount=2)" in rightcall("show", "last", "--case", "laptop", cwd=traces).stdout
    assert "2 passed" in rightcall("report", "last", cwd=traces).stdout
    header = json.loads((two / "run.json").read_text())
    assert (header["agent"], header["evalset"], header["planned"]) == ("", "evals.yaml", 2)
    assert header["finished"] is not None


def test_paths_that_differ_in_an_ignored_argument_are_unchanged(traces: Path) -> None:
    for key in ("a1", "b2"):
        (traces / "traces" / "2.json").write_text(log(("search", {"key": key})))
        score(traces, "--keep")
    names = [folder.name for folder in sorted((traces / ".rightcall" / "runs").iterdir())]

    whole, by_tool, by_name, other = [
        rightcall("diff", *names, *options, cwd=traces).stdout
        for options in ([], ["--ignore-arg", "search.key"], ["--ignore-arg", "key"], ["--ignore-arg", "pay.key"])
    ]
    refused = rightcall("diff", *names, "--gate", "--ignore-arg", "key", cwd=traces)

    assert whole == other
    assert whole.endswith("\n1 other path · 1 unchanged\n")
    assert by_tool == by_name
    assert by_tool.startswith("  no change in 2 cases\n")
    assert refused.returncode == 2
    assert "gates and tables compare only verdicts" in refused.stderr


def test_what_failed_when_it_was_last_kept_is_scored_again(traces: Path) -> None:
    nothing = score(traces, "--failed")
    score(traces, "--runs", "kept")
    again = score(traces, "--failed", "--runs", "kept", "--join", "order")

    assert (nothing.returncode, again.returncode) == (2, 1)
    assert "no run of evals.yaml yet" in nothing.stderr
    assert again.stdout.splitlines()[-1].startswith("1 failed in ")


def test_a_folder_for_runs_means_that_they_are_kept(traces: Path) -> None:
    score(traces, "--runs", "kept")

    [folder] = (traces / "kept").iterdir()
    assert len((folder / "cases.jsonl").read_text().splitlines()) == 2


def test_nothing_is_kept_unless_asked_or_if_nothing_can_be_read(traces: Path) -> None:
    score(traces)
    failed = rightcall("score", "nowhere.json", "--evalset", "evals.yaml", "--keep", cwd=traces)

    assert failed.returncode == 2
    assert not (traces / ".rightcall").exists()


def test_kept_scores_cannot_be_gone_on_with(traces: Path) -> None:
    score(traces, "--keep")
    done = rightcall("run", "agent.py", "evals.yaml", "--resume", "last", cwd=traces)

    assert done.returncode == 2
    assert "is of recorded traces" in done.stderr


def test_kept_scores_are_accepted_unless_they_belong_to_no_eval_set(traces: Path) -> None:
    score(traces, "--keep", "--case", "phone", "--join", "order")
    rightcall("score", "traces", "--expect", "calls: [search]", "--keep", cwd=traces)
    done = rightcall("accept", "last", cwd=traces)

    assert done.returncode == 2
    assert "not an eval set" in done.stderr


def test_the_configuration_of_a_project_says_what_is_scored_and_how(traces: Path) -> None:
    (traces / "rightcall.toml").write_text(
        'evalset = "evals.yaml"\nkeep = true\nruns = "kept"\ncase = "phone"\nrepeat = 3\n'
    )
    below = traces / "below"
    below.mkdir()
    done = rightcall("score", "../traces/2.json", "--join", "order", cwd=below)

    assert (done.returncode, done.stderr) == (0, "")
    assert len(list((traces / "kept").iterdir())) == 1


@pytest.mark.parametrize("key", ["traces", "names", "out", "engine", "failed", "resume", "watch"])
def test_what_is_meant_for_one_command_line_is_not_configured(traces: Path, key: str) -> None:
    (traces / "rightcall.toml").write_text(f'{key} = "x"\n')
    done = score(traces)

    assert (done.returncode, f"unknown option '{key}'" in done.stderr) == (2, True), done.stderr


def test_an_option_that_commands_do_not_pass_on_is_configured_like_the_others(traces: Path) -> None:
    (traces / "rightcall.toml").write_text("no_cache = 3\n")
    done = score(traces)

    assert (done.returncode, "no_cache is true or false, not 3" in done.stderr) == (2, True), done.stderr


@pytest.mark.parametrize("command", ["json", "concise", "full", "diff", "show", "show --json"])
def test_github_obeys_nothing_that_agents_say(traces: Path, command: str) -> None:
    if command in ("json", "concise", "full"):
        done = score(traces, "--format", command, GITHUB_ACTIONS="true")
    else:
        score(traces, "--runs", "kept")
        (traces / "traces" / "1.json").write_text(log(("pay", {"amount": 2, HOSTILE: 1}), answer=HOSTILE))
        score(traces, "--runs", "kept")
        names = [folder.name for folder in sorted((traces / "kept").iterdir())] if command == "diff" else ["last"]
        asked = command.split()
        done = rightcall(asked[0], *names, "--runs", "kept", *asked[1:], cwd=traces, GITHUB_ACTIONS="true")

    printed = done.stdout + done.stderr
    assert "obeyed" in printed
    assert "##[" not in printed
    assert [line for line in printed.splitlines() if line.lstrip().startswith("::")] == []
    if command == "json":
        assert json.loads(done.stdout)["cases"][0]["trajectory"]["calls"][0]["output"] == HOSTILE
    if command == "show --json":
        assert json.loads(done.stdout.splitlines()[0])["output"] == HOSTILE


def test_files_of_reports_are_for_their_owner_alone_whatever_the_umask(traces: Path) -> None:
    formats = ("full", "concise", "json", "junit", "github", "markdown", "html")
    asked = [option for name in formats for option in ("--format", f"{name}={name}.out")]
    arguments = ["score", "traces", "--evalset", "evals.yaml", "--keep", "--output-file", "all.out", *asked]
    subprocess.run([sys.executable, "-m", "rightcall", *arguments], cwd=traces, timeout=PATIENCE, check=False, umask=0)
    made = [*traces.glob("*.out"), *(traces / ".rightcall").rglob("*")]

    assert len([path for path in made if path.suffix == ".out"]) == 8
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_file()} == {0o600}
    assert {stat.S_IMODE(path.stat().st_mode) for path in made if path.is_dir()} == {0o700}
