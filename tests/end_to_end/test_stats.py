"""`rightcall stats` and `rightcall diff --gate`, as a user gives them."""

import json
from pathlib import Path

import pytest
from tests.processes import rightcall

AGENT = """
from rightcall import tool

@tool
def reserve(quantity):
    return "ok"

def answer(text, repeat={failing}):
    from pathlib import Path
    counter = Path("count")
    number = int(counter.read_text()) if counter.exists() else 0
    counter.write_text(str(number + 1))
    if number % {every}:
        reserve(quantity=1)
    return "done"
"""
CASES = """
cases:
  - {id: two, input: laptop, expect: {order: [reserve]}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_agent(tmp_path, every=4)
    (tmp_path / "e.yaml").write_text(CASES)
    return tmp_path


def write_agent(folder: Path, every: int) -> None:
    (folder / "agent.py").write_text(AGENT.replace("{failing}", "0").replace("{every}", str(every)))
    (folder / "count").unlink(missing_ok=True)


def run(project: Path, repeats: int) -> str:
    done = rightcall("run", "agent.py:answer", "e.yaml", "--workers", "1", "--repeat", str(repeats), cwd=project)
    return done.stdout.split("run ")[-1].strip()


def test_rates_intervals_and_tries(project: Path) -> None:
    run(project, 8)

    shown = rightcall("stats", "-k", "2", cwd=project)

    assert shown.returncode == 0
    assert "~ two    6/8" in shown.stdout
    assert "✗✓✓✓✗✓✓✓   75 %   41–93 %       54 %" in shown.stdout
    assert "1 of 1 case is flaky; rightcall stats last --case two shows where runs diverge" in shown.stdout


def test_where_runs_part(project: Path) -> None:
    run(project, 8)

    shown = rightcall("stats", "--case", "two", cwd=project).stdout

    assert "two  6/8 passed, 2 paths\n  at the beginning\n" in shown
    assert "├─ reserve    6 runs  6 passed" in shown
    assert "└─ the end    2 runs  0 passed   RC101" in shown


def test_a_case_that_is_not_there_names_the_nearest(project: Path) -> None:
    run(project, 1)

    refused = rightcall("stats", "--case", "tow", cwd=project)

    assert refused.returncode == 2
    assert "has no case 'tow'; did you mean 'two'?" in refused.stderr


def test_how_many_repeats_it_takes(project: Path) -> None:
    run(project, 8)

    shown = rightcall("stats", "--plan", cwd=project).stdout

    assert "1 case, trials vary with 0.21" in shown
    assert "repeats, base has 8" in shown


def test_the_gate_finds_an_agent_that_lost_its_tool(project: Path) -> None:
    before = run(project, 20)
    write_agent(project, every=1)
    run(project, 20)

    shown = rightcall("diff", before, "last", "--gate", cwd=project)

    assert shown.returncode == 1
    assert "two   15/20 → 0/20   worse" in shown.stdout
    assert f"gate  worse than {before}: two 15/20 → 0/20" in shown.stdout


def test_the_gate_does_not_take_chance_for_a_change(project: Path) -> None:
    before = run(project, 20)
    write_agent(project, every=5)
    run(project, 20)

    shown = rightcall("diff", before, "last", "--gate", cwd=project)

    assert shown.returncode == 0
    assert "INCONCLUSIVE" in shown.stdout
    assert rightcall("diff", before, "last", "--gate", "--inconclusive", "fail", cwd=project).returncode == 2


def test_a_case_that_changed_is_set_aside_by_name(project: Path) -> None:
    before = run(project, 2)
    (project / "e.yaml").write_text(CASES.replace("laptop", "phone"))
    run(project, 2)

    shown = rightcall("diff", before, "last", "--gate", cwd=project)

    assert shown.returncode == 2
    assert "not compared, edited since: two" in shown.stdout


def logs(folder: Path, rewards: dict[str, list[float]]) -> str:
    """A file of message logs, each with its task, its trial and its reward, as benchmarks publish them."""
    call = {"id": "c1", "type": "function", "function": {"name": "reserve", "arguments": "{}"}}
    messages = [{"role": "user", "content": "x"}, {"role": "assistant", "tool_calls": [call]}]
    runs = [
        {"task_id": task, "trial": trial, "reward": reward, "traj": messages}
        for task, all_of in rewards.items()
        for trial, reward in enumerate(all_of)
    ]
    (folder / "published.json").write_text(json.dumps(runs))
    return "published.json"


def test_published_traces_are_counted_by_what_they_call_success(tmp_path: Path) -> None:
    name = logs(tmp_path, {"a": [1.0, 0.0, 1.0, 1.0], "b": [1.0, 1.0, 1.0, 1.0]})

    shown = rightcall("stats", name, "--by", "reward", "-k", "4", cwd=tmp_path)
    paths = rightcall("stats", name, "--by", "reward", "--case", "a", cwd=tmp_path)

    assert (shown.returncode, paths.returncode) == (0, 0)
    assert "~ a      3/4     ✓✗✓✓" in shown.stdout
    assert "pass^1 to 4   0.8750  0.7500  0.6250  0.5000\n" in shown.stdout
    assert paths.stdout.startswith("a  3/4 passed, 1 path")


def test_traces_need_a_key_and_a_case(tmp_path: Path) -> None:
    name = logs(tmp_path, {"a": [1.0]})

    bare = rightcall("stats", name, cwd=tmp_path)
    wrong = rightcall("stats", name, "--by", "rewrd", cwd=tmp_path)

    assert (bare.returncode, wrong.returncode) == (2, 2)
    assert "give --by with a key of their metadata, such as reward" in bare.stderr
    assert "did you mean 'reward'?" in wrong.stderr
