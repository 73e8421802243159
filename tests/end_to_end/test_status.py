"""`rightcall` alone, in real processes."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.processes import change, rightcall
from tests.waiting import PATIENCE

from rightcall.reporting.store import list_runs, open_run, summaries


@pytest.fixture
def project(tmp_path: Path) -> Path:
    rightcall("init", cwd=tmp_path)
    return tmp_path


def test_outside_of_a_project_it_says_the_two_ways_in(tmp_path: Path) -> None:
    done = rightcall(cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert re.findall(r"^  (rightcall \w+) ", done.stdout, re.MULTILINE) == ["rightcall demo", "rightcall init"]


def test_a_project_of_somebody_else_is_none_of_ours(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n', "utf-8")

    assert "There is no project here" in rightcall(cwd=tmp_path).stdout


def test_a_project_without_runs_says_how_to_make_one(project: Path) -> None:
    assert rightcall(cwd=project).stdout == (
        "Eval sets  evals/shop.yaml\nAgent      shop_agent.py:answer\nRuns       none yet\n\nNext:\n  rightcall run\n"
    )


def test_it_says_what_failed_last_what_changed_and_what_to_do(project: Path) -> None:
    rightcall("run", cwd=project)
    first = rightcall(cwd=project, COLUMNS="120").stdout
    change(project / "shop_agent.py", "quantity = 1  #", "quantity = _wanted(text)  #")
    second = rightcall(cwd=project).stdout
    rightcall("run", cwd=project)
    third = rightcall(cwd=project).stdout

    assert re.search(r"^Last run   [0-9a-f]{4}, just now, evals/shop.yaml: 3 passed, 1 failed$", first, re.MULTILINE)
    assert "\n  ✗ reserve_two  `reserve_item` was called with quantity 1, expected 2\n" in first
    assert "\n  rightcall show last --case reserve_two " in first
    assert "\n  rightcall run --failed\n" in first
    assert "Since then" not in first
    assert "\nSince then shop_agent.py changed\n" in second
    assert "evals/shop.yaml: 4 passed\n" in third
    assert re.search(
        r"^Run before [0-9a-f]{4}, just now: 3 passed, 1 failed; reserve_two passes now$", third, re.MULTILINE
    )


def test_on_a_narrow_terminal_the_argument_is_still_seen(project: Path) -> None:
    rightcall("run", cwd=project)

    shown = rightcall(cwd=project, COLUMNS="50").stdout

    assert "\n  ✗ reserve_two\n    `reserve_item` was called with quantity 1,\n    expected 2\n" in shown


def test_from_a_folder_below_it_is_the_same_project(project: Path) -> None:
    rightcall("run", cwd=project)

    assert "evals/shop.yaml: 3 passed, 1 failed\n" in rightcall(cwd=project / "evals").stdout


def test_a_run_that_was_stopped_is_to_be_resumed(project: Path) -> None:
    rightcall("run", cwd=project)
    [header] = project.glob(".rightcall/runs/*/run.json")
    text = re.sub(r'"finished": "[^"]+"', '"finished": null', header.read_text("utf-8"))
    header.write_text(text, "utf-8")

    shown = rightcall(cwd=project).stdout

    assert "it is not complete" in shown
    assert re.search(r"^  rightcall run --resume [0-9a-f]{6} ", shown, re.MULTILINE)


def test_a_run_that_was_killed_passes_in_no_report_and_is_shown_with_its_results(project: Path) -> None:
    rightcall("run", "--case", "laptop", cwd=project)
    [header] = project.glob(".rightcall/runs/*/run.json")
    header.write_text(json.dumps({**json.loads(header.read_text("utf-8")), "finished": None, "totals": None}), "utf-8")
    reason = "the run is not complete: it was stopped before all cases were run"

    shown = rightcall(cwd=project).stdout
    written = [
        rightcall("report", "last", "--format", name, cwd=project).stdout for name in ("markdown", "junit", "json")
    ]

    assert "evals/shop.yaml: 1 passed; it is not complete\n" in shown
    assert written[0].startswith("### ⚠️ Rightcall: 1 passed, not complete\n")
    assert f'<error type="not_measured" message="{reason}"/>' in written[1]
    assert json.loads(written[2])["exit_code"] == 2


def test_text_of_strangers_is_shown_and_never_obeyed(project: Path) -> None:
    change(project / "evals/shop.yaml", "id: reserve_two ", 'id: "two\\e[31m\\u202e" ')
    rightcall("run", cwd=project)

    shown = rightcall(cwd=project).stdout

    assert "✗ two\\u001b[31m\\u202e  " in shown
    assert "\x1b" not in shown


def test_a_terminal_without_unicode_gets_ascii(project: Path) -> None:
    rightcall("run", cwd=project)

    done = rightcall(cwd=project, PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert done.stdout.isascii()
    assert "\n  x reserve_two" in done.stdout


@pytest.mark.parametrize(
    "damage", ["", "[]", "{", '{"totals": 3}', '{"id": 1, "evalset": 2, "started": 3, "totals": []}']
)
def test_a_damaged_run_or_configuration_does_not_matter(project: Path, damage: str) -> None:
    rightcall("run", cwd=project)
    [header] = project.glob(".rightcall/runs/*/run.json")
    header.write_text(damage, "utf-8")
    header.with_name("cases.jsonl").write_bytes(b'{"digest": "", "case_id": "\xff", "repeat": 0, "verdict": "failed"\n')
    (project / "rightcall.toml").write_text("= broken", "utf-8")

    done = rightcall(cwd=project)

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Eval sets  evals/shop.yaml\n")


def test_a_summary_of_a_run_is_what_the_store_reads(project: Path) -> None:
    rightcall("run", "--repeat", "2", cwd=project)
    [folder] = list_runs(project / ".rightcall" / "runs")
    run = open_run(str(folder))

    [summary] = summaries(project / ".rightcall" / "runs")

    assert (summary.id, summary.evalset, summary.started) == (run.header.id, run.header.evalset, run.header.started)
    assert summary.verdicts() == {result.case_id: result.verdict for result in run.results()}
    [bad] = {result.case_id: result for result in run.results() if not result.passed}.values()
    assert [tuple(case) for case in summary.problems()] == [(bad.case_id, "failed", bad.findings[0].finding.message)]


def test_many_files_are_no_burden(project: Path) -> None:
    for number in range(6_000):
        (project / "evals" / f"{number}.yaml").touch()

    shown = rightcall(cwd=project).stdout

    assert re.match(r"Eval sets  evals/shop\.yaml, (\S+, ){3}\S+ and 4,9\d\d more\n", shown), shown


def test_where_all_passed_it_loads_nothing_but_click_and_the_standard_library(project: Path) -> None:
    rightcall("run", "--case", "laptop", cwd=project)
    code = (
        "import sys; import rightcall.cli\n"
        "sys.argv = ['rightcall']\n"
        "try:\n    rightcall.cli.main()\nexcept SystemExit:\n    pass\n"
        "print([name for name in ('pydantic', 'rich', 'msgspec', 'yaml', 'asyncio') if name in sys.modules])"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=project, capture_output=True, text=True, timeout=PATIENCE)

    assert done.stdout.splitlines()[-1] == "[]"
    assert "shop.yaml: 1 passed" in done.stdout


def test_without_a_project_file_the_command_names_the_agent_and_the_eval_set_of_the_last_run(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text("def answer(text): return text", "utf-8")
    (tmp_path / "mine.yaml").write_text(
        "agent: agent.py\ncases:\n  - {id: a, input: a, expect: {output: b}}\n", "utf-8"
    )
    rightcall("run", "agent.py", "mine.yaml", cwd=tmp_path)

    shown = rightcall(cwd=tmp_path).stdout
    refused = rightcall("run", "mine.yaml", cwd=tmp_path)

    assert shown.startswith("Eval sets  mine.yaml\n")
    assert "\n  rightcall run AGENT mine.yaml --failed\n" in shown
    assert refused.returncode == 2
    assert "there is no rightcall.toml (an empty one will do)" in refused.stderr


_KEY = "sk-abcdefghijklmnopqrstuvwxyz123456"
_LEAKING = f"""\
from rightcall import tool

@tool
def connect(host): return True

def answer(text):
    connect("{"h" * 30} {_KEY}")
"""


def test_a_secret_is_not_shown_even_where_the_message_has_a_part_of_it(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").touch()
    (tmp_path / "agent.py").write_text(_LEAKING, "utf-8")
    (tmp_path / "evals.yaml").write_text("cases:\n  - {id: one, input: a, expect: {never: [connect]}}\n", "utf-8")
    rightcall("run", "agent.py:answer", "evals.yaml", cwd=tmp_path)
    [summary] = summaries(tmp_path / ".rightcall" / "runs")
    [result] = open_run(str(summary.folder)).results()

    shown = rightcall(cwd=tmp_path, COLUMNS="120").stdout

    kept = result.findings[0].finding.message
    assert _KEY not in kept
    assert _KEY[-5:] in kept
    assert "…[redacted: " in shown
    assert _KEY[-5:] not in shown


_COUNTED = """\
cases:
  - {id: kept, input: a, expect: {calls: [look]}}
  - {id: apart, input: b, quarantine: {reason: flaky}, expect: {calls: [refund]}}
  - {id: relaxed, input: c, repeat: 2, min_repeat_pass: 1, expect: {calls: [look]}}
"""
_TWICE = """\
from pathlib import Path
from rightcall import tool

@tool
def look(text): return 1

def answer(text):
    if text != "c" or not Path("seen").exists():
        look(text)
    if text == "c":
        Path("seen").touch()
"""


def test_quarantine_and_needed_repeats_count_as_they_did_in_the_run(tmp_path: Path) -> None:
    (tmp_path / "rightcall.toml").write_text('agent = "agent.py:answer"\n', "utf-8")
    (tmp_path / "agent.py").write_text(_TWICE, "utf-8")
    (tmp_path / "evals.yaml").write_text(_COUNTED, "utf-8")
    ran = rightcall("run", "agent.py:answer", "evals.yaml", "--workers", "1", cwd=tmp_path)
    shown = rightcall(cwd=tmp_path).stdout

    assert "\n2 passed, 1 in quarantine in " in ran.stdout
    assert re.search(r"^Last run   [0-9a-f]{4}, just now, evals.yaml: 2 passed, 1 in quarantine$", shown, re.MULTILINE)
    assert "✗" not in shown
    [folder] = list_runs(tmp_path / ".rightcall" / "runs")
    [summary] = summaries(tmp_path / ".rightcall" / "runs")
    assert summary.verdicts() == open_run(str(folder)).verdicts()
