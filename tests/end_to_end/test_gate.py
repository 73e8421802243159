"""`rightcall run --gate`, in a real process, with real agents."""

import json
import re
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import pytest
from tests.processes import rightcall
from tests.projects import make_project
from tests.reading.traces import call, line, span
from tests.waiting import PATIENCE, until

AGENT = """
import os, time
from rightcall.running.tracing import tool

@tool
def search(query: str) -> str:
    return query

@tool
def reserve(item: str) -> str:
    return item

def answer(query: str) -> str:
    search(query)
    while os.path.exists("hold") and query == "sure" and len(open("count").read()) == 4:
        open("reached", "w").close()
        time.sleep(0.01)
    with open("count", "a") as file:
        file.write("x" * (query == "sure"))
    if os.path.exists("crash") and query == "sure":
        raise ValueError("no stock")
    if not (os.path.exists("broken") and query == "sure"):
        reserve(query)
    return "done"
"""
CASES = """\
cases:
  - {id: laptop, input: {query: laptop}, expect: {calls: [search, reserve]}}
  - {id: phone, input: {query: phone}, expect: {calls: [search, reserve]}}
  - {id: sure, tags: [safety], input: {query: sure}, expect: {calls: [search, reserve]}}
"""


@pytest.fixture(scope="module")
def passed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a run of five repeats, all of which passed, as the file `base.json`."""
    folder = make_project(tmp_path_factory.mktemp("passed"), {"agent.py": AGENT, "shop.yaml": CASES})
    assert rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "5", cwd=folder).returncode == 0
    assert rightcall("baseline", "last", "--to", "base.json", cwd=folder).returncode == 0
    (folder / "count").unlink()
    return folder


@pytest.fixture
def shop(passed: Path, tmp_path: Path) -> Path:
    """A copy of that project."""
    return copytree(passed, tmp_path, dirs_exist_ok=True)


def gated(shop: Path, *options: str) -> tuple[int, str]:
    done = rightcall("run", "agent.py:answer", "shop.yaml", "--gate", "base.json", *options, cwd=shop)
    return done.returncode, done.stdout.rstrip().splitlines()[-1] if done.stdout else done.stderr


def header(shop: Path) -> dict[str, object]:
    newest = sorted((shop / ".rightcall" / "runs").iterdir())[-1]
    found: dict[str, object] = json.loads((newest / "run.json").read_text())
    return found


def test_an_agent_that_lost_a_tool_is_worse_and_the_case_is_named(shop: Path) -> None:
    (shop / "broken").touch()

    code, told = gated(shop, "--repeat", "5")

    assert (code, told) == (1, "gate  worse than base.json: sure 5/5 → 0/5, 5 of 5 rounds")


def test_an_agent_that_did_not_change_stops_early(shop: Path) -> None:
    code, told = gated(shop, "--repeat", "3..40", "--rule-out", "0.5")

    assert (code, told) == (0, "gate  no worse than base.json: 0 points (−46 to +34), 3 of 40 rounds")
    kept = header(shop)["gate"]
    assert isinstance(kept, dict)
    assert (kept["verdict"], kept["rounds"], kept["planned_rounds"]) == ("no worse", 3, 40)


def test_what_cannot_be_told_passes_unless_it_is_to_fail(shop: Path) -> None:
    lenient, told = gated(shop, "--repeat", "2")
    strict, _ = gated(shop, "--repeat", "2", "--inconclusive", "fail")

    assert (lenient, strict) == (0, 2)
    assert "a plan that would settle it: --repeat 2.." in told or "inconclusive" in told


def test_errors_that_decide_are_never_let_pass(shop: Path) -> None:
    (shop / "crash").touch()

    code, told = gated(shop, "--repeat", "5", "--inconclusive", "pass")

    assert code == 2
    assert "5 trials have no answer; as failures it is worse" in told


def test_a_case_that_changed_is_judged_by_itself(shop: Path) -> None:
    (shop / "broken").touch()
    (shop / "shop.yaml").write_text(CASES.replace("{query: sure}, expect", "{query: sure}, session: {a: 1}, expect"))

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--gate", "base.json", "--repeat", "5", cwd=shop)

    assert done.returncode == 1
    assert "not compared, edited since: sure" in done.stdout
    assert "gate  judged by themselves, failed: sure" in done.stdout


def test_a_tag_that_must_pass_needs_no_base(shop: Path) -> None:
    (shop / "broken").touch()

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "2", "--must", "safety", cwd=shop)

    assert done.returncode == 1
    assert "gate  judged by themselves, failed: sure" in done.stdout


def test_the_configuration_has_a_table_for_the_gate(shop: Path) -> None:
    (shop / "broken").touch()
    (shop / "rightcall.toml").write_text('repeat = "3..10"\n[gate]\nbase = "base.json"\nrule-out = 0.2\n')

    done = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 1
    assert "worse than base.json: sure 5/5 → 0/" in done.stdout


def test_an_unknown_key_of_the_table_is_told(shop: Path) -> None:
    (shop / "rightcall.toml").write_text('[gate]\nbsae = "base.json"\n')

    done = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 2
    assert "[gate] has no 'bsae'; did you mean 'base'?" in done.stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--gate", "base.json", "--min-repeat-pass", "1"], "--min-repeat-pass and a gate both decide"),
        (["--gate", "base.json", "--min-pass", "0.5"], "--min-pass and a gate both decide"),
        (["--gate", "base.json", "--fail-fast"], "a gate looks at whole rounds"),
        (["--repeat", "3..10"], "give --gate or --min-rate"),
        (["--repeat", "10..3"], "the smaller first"),
        (["--gate", "nothing"], "no run 'nothing'"),
        (["--must", "saftey"], "did you mean 'safety'?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_contradicts_a_gate_is_refused(shop: Path, options: list[str], message: str) -> None:
    done = rightcall("run", "agent.py:answer", "shop.yaml", *options, cwd=shop)

    assert done.returncode == 2
    assert message in done.stderr


def test_a_run_that_was_killed_in_its_fifth_round_goes_on_to_the_same_verdict(shop: Path) -> None:
    (shop / "broken").touch()
    options = ["run", "agent.py:answer", "shop.yaml", "--gate", "base.json", "--repeat", "3..10", "--workers", "1"]
    rightcall(*options, cwd=shop)
    whole = header(shop)["gate"]
    assert isinstance(whole, dict)
    assert (whole["verdict"], whole["rounds"]) == ("worse", 7)
    (shop / "hold").touch()
    (shop / "count").unlink()

    killed = subprocess.Popen([sys.executable, "-m", "rightcall", *options], cwd=shop, stdout=subprocess.DEVNULL)
    until((shop / "reached").exists)
    killed.kill()
    killed.wait(PATIENCE)
    (shop / "hold").unlink()
    before = header(shop)
    resumed = rightcall("run", "agent.py:answer", "shop.yaml", "--resume", "last", cwd=shop)

    assert (before["finished"], before["gate"]) == (None, None)
    assert resumed.returncode == 1
    assert header(shop)["gate"] == whole


def test_a_gate_that_has_spoken_stays_with_what_it_said(shop: Path) -> None:
    (shop / "broken").touch()
    gated(shop, "--repeat", "5")
    said = header(shop)["gate"]
    (shop / "broken").unlink()

    more = rightcall("run", "agent.py:answer", "shop.yaml", "--resume", "last", "--repeat", "30", cwd=shop)

    assert more.returncode == 1
    assert "25/30" in more.stdout
    assert header(shop)["gate"] == said


def recorded(shop: Path, name: str, *tools: str) -> str:
    """A file with five traces of the case `laptop` that call these tools."""
    with (shop / name).open("wb") as file:
        for number in range(5):
            trace = f"{number + 1:032x}"
            root = span(1, {"rightcall.case.id": "laptop"}, traceId=trace)
            calls = [call(place, tool, traceId=trace, parent=1) for place, tool in enumerate(tools, start=2)]
            file.write(line(root, *calls))
    return name


def test_recorded_traces_go_through_the_same_gate(shop: Path) -> None:
    good, bad = recorded(shop, "good.jsonl", "search", "reserve"), recorded(shop, "bad.jsonl", "search")
    options = ["--evalset", "shop.yaml", "--case", "laptop", "--keep"]
    first = rightcall("score", good, *options, cwd=shop)

    same = rightcall("score", good, *options, "--gate", "last", cwd=shop)
    worse = rightcall("score", bad, *options, "--gate", "last", cwd=shop)

    assert "5/5" in first.stdout
    assert (same.returncode, worse.returncode) == (0, 1)
    assert re.search(r"gate  worse than .*: laptop 5/5 → 0/5, 5 of 5 rounds", worse.stdout)
    kept = header(shop)["gate"]
    assert isinstance(kept, dict)
    assert kept["exit_code"] == 1


def test_a_gate_over_traces_that_are_not_kept_is_refused(shop: Path) -> None:
    done = rightcall("score", recorded(shop, "a.jsonl"), "--evalset", "shop.yaml", "--gate", "base.json", cwd=shop)

    assert done.returncode == 2
    assert "give --evalset and --keep" in done.stderr


def test_a_case_has_at_most_the_rounds_that_it_says(shop: Path) -> None:
    (shop / "shop.yaml").write_text(CASES.replace("{id: laptop,", "{id: laptop, repeat: 2,"))

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "3..6", "--gate", "base.json", cwd=shop)

    assert done.returncode == 0
    assert re.search(r"laptop +2/2", done.stdout)
    assert re.search(r"phone +6/6", done.stdout)


def test_the_repeats_of_the_defaults_come_before_the_configuration_and_after_the_command(shop: Path) -> None:
    (shop / "shop.yaml").write_text("defaults: {repeat: 2}\n" + CASES.replace("{id: phone,", "{id: phone, repeat: 3,"))
    (shop / "rightcall.toml").write_text("repeat = 4\n")

    plain = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)
    given = rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "5", cwd=shop)
    early = rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "1..6", "--min-rate", "0.9", cwd=shop)

    assert re.findall(r"(laptop|phone) +(\d/\d)", plain.stdout) == [("laptop", "2/2"), ("phone", "3/3")]
    assert re.findall(r"(laptop|phone) +(\d/\d)", given.stdout) == [("laptop", "5/5"), ("phone", "5/5")]
    assert re.findall(r"(laptop|phone) +(\d/\d)", early.stdout) == [("laptop", "6/6"), ("phone", "3/3")]


def test_a_warning_says_that_all_repeats_are_the_same(shop: Path) -> None:
    done = rightcall("run", "agent.py:answer", "shop.yaml", "--gate", "base.json", "--repeat", "3", cwd=shop)
    once = rightcall("run", "agent.py:answer", "shop.yaml", "--gate", "base.json", cwd=shop)

    assert "warning: the agent did the same in all repeats of every case; with a cache or a seed," in done.stdout
    assert "did the same in all repeats" not in once.stdout


def test_a_report_compares_with_a_baseline_file_and_can_decide(shop: Path) -> None:
    (shop / "broken").touch()
    rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "5", cwd=shop)

    told = rightcall("report", "last", "--baseline", "base.json", cwd=shop)
    decided = rightcall("report", "last", "--gate", "base.json", "--format", "junit", cwd=shop)
    allowed = rightcall("report", "last", "--gate", "last", "--rule-out", "1", cwd=shop)

    assert (told.returncode, decided.returncode, allowed.returncode) == (0, 1, 0)
    assert told.stdout.startswith("### ❌ Rightcall gate: worse than `base.json`\n\n- `sure` **5/5 → 0/5**")
    assert '<failure type="worse" message="5/5 → 0/5">' in decided.stdout
    assert allowed.stdout.startswith("### ✅ Rightcall gate: no worse than")


def test_diff_takes_the_gate_of_the_configuration(shop: Path) -> None:
    rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)
    (shop / "rightcall.toml").write_text('[gate]\nbase = "main"\nrule-out = 1.0\ninconclusive = "fail"\n')

    lenient = rightcall("diff", "last", "last", "--gate", cwd=shop)
    strict = rightcall("diff", "last", "last", "--gate", "--rule-out", "0.1", cwd=shop)

    assert (lenient.returncode, strict.returncode) == (0, 2)


def test_three_runs_are_compared_on_one_scale(shop: Path) -> None:
    rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "10", cwd=shop)
    first = sorted((shop / ".rightcall" / "runs").iterdir())[-1].name
    (shop / "broken").touch()
    rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "10", cwd=shop)

    done = rightcall("diff", first, first, "last", cwd=shop)

    rows = [line.removeprefix("│ ").split() for line in done.stdout.splitlines()]
    assert done.returncode == 0
    assert ["rate", "100", "%", "100", "%", "67", "%"] in rows
    assert [row[2:] for row in rows if row[0] == "against"] == [["not", "told", "apart", "worse"]]
    assert ["sure", "10/10", "10/10", "0/10"] in rows
