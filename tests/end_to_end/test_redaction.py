"""Secrets in a run, in real processes: nowhere in what is told or written, and kept unless somebody wants otherwise."""

import json
import subprocess
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.projects import make_project
from tests.values.redaction.secrets import TOKENS
from tests.waiting import PATIENCE

AGENT = """
import json, pathlib
from rightcall.running.tracing import tool

SECRETS = json.loads((pathlib.Path(__file__).parent / "secrets.json").read_text())

@tool
def login(account, password):
    return {"token": SECRETS[0], "all": SECRETS}

def answer(query):
    print("using", *SECRETS)
    login(" ".join(SECRETS), password="correct horse battery")
    if query == "crash":
        raise ValueError("refused: " + " ".join(SECRETS))
    return "logged in with " + SECRETS[1]
"""
EVALSET = """\
cases:
  - {id: wrong, input: {query: a}, expect: {calls: [{login: {account: bob, password: other}}]}}
  - {id: crash, input: {query: crash}, expect: {calls: [login]}}
  - {id: right, input: {query: a}, expect: {order: [login]}}
"""
SECRETS = [secret for secret in TOKENS.values() if "\n" not in secret and "\\" not in secret]
FORMATS = ("full", "concise", "json", "junit", "github", "markdown")
VARIABLE = "environment-variable-value"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project whose agent tells secrets, with a run that was kept as it was, and one that was kept redacted."""
    folder = tmp_path_factory.mktemp("project")
    make_project(folder, {"secrets.json": json.dumps(SECRETS), "agent.py": AGENT, "evals.yaml": EVALSET})
    subprocess.run(["git", "init", "-q", str(folder)], check=True, timeout=PATIENCE)
    remote = f"https://bob:{SECRETS[0]}@git.example/shop.git"
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", remote], check=True, timeout=PATIENCE)
    assert run(folder, "--runs", "kept").returncode == 1
    assert run(folder, "--runs", "hidden", "--redact").returncode == 1
    return folder


def run(folder: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    names = ("run", "agent.py:answer", "evals.yaml", "--workers", "1")
    return rightcall(*names, *options, cwd=folder, SHOP_KEY=VARIABLE)


def leaked(text: str) -> list[str]:
    """What is left of secrets in a text."""
    pieces = [secret[-20:] for secret in SECRETS] + ["correct horse", VARIABLE]
    return [piece for piece in pieces if piece in text]


def test_no_secret_is_in_any_format_printed_or_written(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")  # as wide as files
    asked = [option for name in FORMATS for option in ("--format", name, "--format", f"{name}=out.{name}")]

    done = run(project, *asked, "--output-file", "all.json")

    assert (done.returncode, leaked(done.stdout + done.stderr)) == (1, [])
    written = {file: (project / file).read_text() for file in (*[f"out.{name}" for name in FORMATS], "all.json")}
    assert {file: found for file, text in written.items() if (found := leaked(text))} == {}
    assert [file for file, text in written.items() if "[redacted: " not in text] == []
    # What is printed for people comes as soon as it is known, so only lines of it are the same.
    shared = {name: {*written[f"out.{name}"].splitlines()} & {*done.stdout.splitlines()} for name in FORMATS}
    assert [name for name in FORMATS if not any(["[redacted: " in line for line in shared[name]])] == []


@pytest.mark.parametrize(
    "command",
    [
        ("report", "last"),
        ("report", "last", "--format", "json"),
        ("report", "last", "--format", "junit"),
        ("report", "last", "--baseline", "last"),
        ("show", "last", "--full"),
        ("show", "last", "--json"),
    ],
    ids=" ".join,
)
def test_no_secret_of_a_kept_run_is_told(project: Path, command: tuple[str, ...]) -> None:
    hidden = rightcall(*command, "--runs", "kept", cwd=project)
    told = rightcall(*command, "--runs", "kept", "--no-redact", cwd=project)

    assert (hidden.returncode, leaked(hidden.stdout + hidden.stderr)) == (0, [])
    assert told.returncode == 0
    assert leaked(told.stdout)


def test_a_run_keeps_what_happened_unless_told_otherwise(project: Path) -> None:
    kept, hidden = ["".join([file.read_text() for file in folder.rglob("*.json*")]) for folder in folders(project)]

    assert leaked(kept) == [*[secret[-20:] for secret in SECRETS], "correct horse"]
    assert leaked(hidden) == []
    assert "git.example" not in kept + hidden


def test_verdicts_and_scores_are_those_of_what_happened(project: Path) -> None:
    kept, hidden = [
        rightcall("report", "last", "--format", "json", "--runs", runs, cwd=project).stdout for runs in RUNS
    ]
    verdicts = [
        sorted([(case["case_id"], case["verdict"], case["score"]) for case in json.loads(text)["cases"]])
        for text in (kept, hidden)
    ]

    assert verdicts[0] == verdicts[1]
    assert {case_id: verdict for case_id, verdict, _ in verdicts[0]} == {
        "wrong": "failed",
        "crash": "error",
        "right": "passed",
    }


def test_another_secret_is_a_change_that_is_told_without_it(project: Path) -> None:
    agent = project / "agent.py"
    agent.write_text(AGENT.replace("horse", "mouse"))
    try:
        assert run(project, "--runs", "kept").returncode == 1
    finally:
        agent.write_text(AGENT)
    first, last = sorted((project / "kept").iterdir())[-2:]

    hidden = rightcall("diff", str(first), str(last), cwd=project, COLUMNS="200")
    told = rightcall("diff", str(first), str(last), "--no-redact", cwd=project, COLUMNS="200")

    assert "login password [redacted: password] → [redacted: password]" in hidden.stdout
    assert leaked(hidden.stdout) == []
    assert 'login password "correct horse battery" → "correct mouse battery"' in told.stdout


def test_what_was_kept_redacted_is_not_accepted(project: Path) -> None:
    done = rightcall("accept", "last", "--runs", "hidden", cwd=project)

    assert done.returncode == 2
    assert "was kept with --redact" in done.stderr
    assert (project / "evals.yaml").read_text() == EVALSET


def test_a_run_that_is_kept_redacted_can_be_resumed_and_stays_redacted(project: Path) -> None:
    done = run(project, "--runs", "hidden", "--resume", "last", "--repeat", "2")
    [text] = [file.read_text() for file in (project / "hidden").rglob("cases.jsonl")]

    assert done.returncode == 1, done.stderr
    assert len(text.splitlines()) == 6
    assert leaked(text) == []


def test_the_configuration_may_say_so(tmp_path: Path) -> None:
    (tmp_path / "secrets.json").write_text(json.dumps(SECRETS))
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "evals.yaml").write_text(EVALSET)
    (tmp_path / "rightcall.toml").write_text("redact = false\n")
    told = run(tmp_path)
    (tmp_path / "rightcall.toml").write_text("redact = true\n")
    hidden = run(tmp_path)

    assert leaked(told.stdout)
    assert leaked(hidden.stdout) == []
    assert leaked(max((tmp_path / ".rightcall" / "runs").iterdir()).joinpath("cases.jsonl").read_text()) == []


def test_recorded_traces_are_scored_and_shown_without_their_secrets(tmp_path: Path) -> None:
    call = {
        "id": "1",
        "function": {"name": "login", "arguments": json.dumps({"account": SECRETS[0], "password": "correct horse"})},
    }
    messages = [{"role": "user", "content": "go"}, {"role": "assistant", "tool_calls": [{"type": "function", **call}]}]
    (tmp_path / "log.json").write_text(json.dumps(messages))
    expect = "calls: [{login: {account: bob}}]"

    scored = rightcall("score", "log.json", "--expect", expect, "--output-file", "out.json", cwd=tmp_path)
    plain = rightcall("score", "log.json", "--expect", expect, "--no-redact", cwd=tmp_path)
    shown = rightcall("show", "log.json", cwd=tmp_path)

    assert scored.returncode == 1
    assert leaked(scored.stdout + (tmp_path / "out.json").read_text() + shown.stdout) == []
    assert leaked(plain.stdout)


def test_complaints_quote_no_secret(tmp_path: Path) -> None:
    done = rightcall("score", f"https://bob:{SECRETS[0]}@x.example/t.json", "--expect", "calls: [a]", cwd=tmp_path)

    assert done.returncode == 2
    assert leaked(done.stderr) == []


RUNS = ("kept", "hidden")


def folders(project: Path) -> list[Path]:
    """The first run that was kept as it was, and the one that was kept redacted."""
    return [min((project / runs).iterdir()) for runs in RUNS]
