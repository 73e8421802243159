"""What a shell is told when somebody presses the key that completes."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.waiting import PATIENCE

from rightcall.cli import _completion, _output
from rightcall.values.results import CODES

CASES = ["laptop", "reserve_one", "reserve_two", "sold_out"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    rightcall("init", cwd=folder)
    rightcall("run", cwd=folder)
    [header] = folder.glob(".rightcall/runs/*/run.json")
    header.write_text(re.sub(r'"branch": null', '"branch": "main"', header.read_text("utf-8")), "utf-8")
    return folder


def completed(line: str, cwd: Path) -> list[tuple[str, str]]:
    """The kind and the text of each answer to a line that ends where the cursor is."""
    words = line.split(" ")
    done = rightcall(
        cwd=cwd, _RIGHTCALL_COMPLETE="bash_complete", COMP_WORDS="\n".join(words), COMP_CWORD=str(len(words) - 1)
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [tuple(answer.split(",", 1)) for answer in done.stdout.splitlines() if answer]  # type: ignore[misc]


def texts(line: str, cwd: Path) -> list[str]:
    return [text for kind, text in completed(line, cwd) if kind == "plain"]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rightcall sc", ["score", "schema"]),
        ("rightcall run --case ", CASES),
        ("rightcall run --case reserve", CASES[1:3]),
        ("rightcall run evals/shop.yaml --case l", ["laptop"]),
        ("rightcall score traces --evalset evals/shop.yaml --case s", ["sold_out"]),
        ("rightcall show last --case r", CASES[1:3]),
        ("rightcall show main --case r", CASES[1:3]),
        ("rightcall run --format j", ["json", "junit"]),
        ("rightcall diff m", ["main"]),
        ("rightcall report la", ["last"]),
        ("rightcall run --resume l", ["last"]),
        ("rightcall explain rc", list(CODES)),
        ("rightcall completion ", ["bash", "zsh", "fish"]),
        ("rightcall run --fail", ["--failed", "--fail-fast"]),
        ("rightcall score --join o", ["order"]),
        ("rightcall no_such_command ", []),
        ("rightcall run --no-such-option ", []),
    ],
)
def test_it_completes(project: Path, line: str, expected: list[str]) -> None:
    assert sorted(texts(line, project)) == sorted(expected)


def test_every_command_is_completed(project: Path) -> None:
    listed = re.findall(r"^  ([a-z-]+) ", rightcall("--help").stdout.split("Commands:")[1], re.MULTILINE)

    assert texts("rightcall ", project) == listed


def test_runs_go_by_their_ids_and_files_are_left_to_the_shell(project: Path) -> None:
    [folder] = project.glob(".rightcall/runs/*")

    found = completed("rightcall show ", project)

    assert found == [("file", ""), ("plain", "last"), ("plain", "main"), ("plain", folder.name[-6:])]


def test_cases_of_an_eval_set_of_adk_are_found(tmp_path: Path) -> None:
    (tmp_path / "a.evalset.json").write_text('{"eval_cases": [{"eval_id": "one"}, {"evalId": "two"}]}', "utf-8")

    assert texts("rightcall run agent a.evalset.json --case ", tmp_path) == ["one", "two"]


def test_where_nothing_is_known_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text('evalset = "missing.yaml"\n', "utf-8")

    assert completed("rightcall run --case ", tmp_path) == []
    assert completed("rightcall report ", tmp_path) == []


def test_a_name_that_a_terminal_would_obey_is_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("cases:\n  - id: 'x\x1b[31m'\n  - id: fine\n", "utf-8")

    assert texts("rightcall run a.yaml --case ", tmp_path) == ["fine"]


def test_the_formats_are_those_there_are() -> None:
    assert set(_completion.FORMATS) == set(_output.FORMATS)


@pytest.mark.parametrize("line", ["rightcall ", "rightcall run --case ", "rightcall diff "])
def test_what_is_asked_most_often_loads_no_command(project: Path, line: str) -> None:
    words = line.split(" ")
    code = (
        "import os, sys, rightcall.cli\n"
        f"os.environ |= dict(_RIGHTCALL_COMPLETE='bash_complete', COMP_WORDS={chr(10).join(words)!r}, "
        f"COMP_CWORD='{len(words) - 1}')\n"
        "try:\n    rightcall.cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('pydantic', 'rich', 'msgspec', 'yaml') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=PATIENCE)

    assert done.stdout.splitlines()[-1] == "[]"
    assert len(done.stdout.splitlines()) > 1


@pytest.mark.parametrize("shell", _completion.SHELLS)
def test_the_script_of_a_shell_asks_us(shell: str) -> None:
    done = rightcall("completion", shell)

    assert (done.returncode, done.stderr) == (0, "")
    assert f"_RIGHTCALL_COMPLETE={shell}_complete" in done.stdout


def test_the_script_works_in_bash(project: Path, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash is not None
    (tmp_path / "rightcall").write_text(f'#!/bin/sh\nexec {sys.executable} -m rightcall "$@"\n', "utf-8")
    (tmp_path / "rightcall").chmod(0o755)
    script = (
        f'PATH={tmp_path}:$PATH; eval "$(rightcall completion bash)"\n'
        "COMP_WORDS=(rightcall run --case re); COMP_CWORD=3; _rightcall_completion rightcall\n"
        'echo "${COMPREPLY[@]}"'
    )

    done = subprocess.run([bash, "-c", script], cwd=project, capture_output=True, text=True, timeout=PATIENCE)

    assert (done.stdout, done.stderr) == ("reserve_one reserve_two\n", "")


def test_another_shell_is_refused() -> None:
    done = rightcall("completion", "fisch")

    assert (done.returncode, done.stderr) == (2, "rightcall: no shell 'fisch'; did you mean 'fish'?\n")
