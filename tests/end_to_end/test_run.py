"""`rightcall run`, in a real process, with real agents."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.processes import rightcall, true_rightcall
from tests.projects import make_project
from tests.running.runner.running import none_left
from tests.waiting import PATIENCE

AGENT = """
import asyncio, os, sys, time
from concurrent.futures import ThreadPoolExecutor
from opentelemetry import trace
from rightcall.running.tracing import tool

@tool
def search(query: str) -> list[str]:
    return [query.upper()]

@tool
async def price(item: str) -> int:
    await asyncio.sleep(0.001)
    return len(item)

@tool
def clock() -> float:
    return time.perf_counter()

def answer(query: str) -> str:
    print("asked for", query)
    if query == "crash":
        os._exit(7)
    if query == "modules":
        return [name for name in ("pydantic", "rich", "click", "rightcall.judging") if name in sys.modules]
    [found] = search(query)
    return f"found {found}"

def remember(input: str, session: dict) -> list:
    search(input)
    session.setdefault("heard", []).append(input)
    return session["heard"]

def count(query: str) -> str:
    with open("counter", "a") as file:
        file.write("x")
    search("odd" if len(open("counter").read()) % 2 else "even")
    return "counted"

def bypassed(query: str) -> str:
    with trace.get_tracer("framework").start_as_current_span("search") as span:
        span.set_attribute("tool.name", "search")
        span.set_attribute("output.value", "real")
    return "found"

def timed(query: str) -> float:
    return clock()

def nested(item: str) -> int:
    return asyncio.run(price(item))

async def everything_at_once(query: str) -> list:
    loop = asyncio.get_running_loop()
    with ThreadPoolExecutor(2) as pool:
        return await asyncio.gather(
            price(query), asyncio.to_thread(search, query), loop.run_in_executor(pool, search, query), price(query),
        )
"""
SHOP = """\
agent: agent.py:answer
cases:
  - id: laptop
    tags: [smoke]
    input: {query: laptop}
    expect: {calls: [{search: {query: laptop}}], output: found LAPTOP}
  - id: phone
    input: {query: phone}
    expect: {calls: [{search: {query: phone}}]}
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    return make_project(tmp_path, {"agent.py": AGENT, "shop.yaml": SHOP, "rightcall.toml": ""})


def runs_in(folder: Path) -> list[Path]:
    return sorted((folder / ".rightcall" / "runs").glob("*"))


def evalset(folder: Path, *cases: str, **top: object) -> None:
    head = "".join([f"{key}: {json.dumps(value)}\n" for key, value in top.items()])
    (folder / "shop.yaml").write_text(head + "cases:\n" + "".join([f"  - {case}\n" for case in cases]))


def test_passing_is_quiet_and_leaves_a_run_that_can_be_read(shop: Path) -> None:
    done = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"2 passed in \d+\.\d\ds  run [0-9a-f]{4}\n", done.stdout)
    assert done.stderr == ""
    [run] = runs_in(shop)
    header = json.loads((run / "run.json").read_text())
    lines = [json.loads(line) for line in (run / "cases.jsonl").read_text().splitlines()]
    assert header["totals"] == {"passed": 2, "failed": 0, "not_measured": 0, "error": 0}
    assert header["finished"] is not None
    assert {line["case_id"]: line["outcome"]["stdout"] for line in lines} == {
        "laptop": "asked for laptop\n",
        "phone": "asked for phone\n",
    }
    assert none_left(0.5)


@pytest.mark.parametrize(
    ("redirection", "code", "told"),
    [(">&-", 0, ""), ("2>&-", 0, ""), ("> /dev/full", 2, "rightcall: standard output: No space left on device")],
)
def test_output_that_cannot_be_written_is_no_defect(shop: Path, redirection: str, code: int, told: str) -> None:
    command = f'"{sys.executable}" -m rightcall run shop.yaml {redirection}'

    done = subprocess.run(["sh", "-c", command], cwd=shop, capture_output=True, text=True, timeout=PATIENCE)

    assert (done.returncode, done.stderr[: len(told)]) == (code, told)
    assert "Traceback" not in done.stderr
    assert len(runs_in(shop)) == 1


def test_a_rule_against_a_tool_that_no_agent_has_passes_with_a_note(shop: Path) -> None:
    (shop / "guard.yaml").write_text("cases: [{id: guard, input: phone, expect: {never: [Search]}}]")

    done = rightcall("run", "agent.py:answer", "guard.yaml", cwd=shop)

    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == (
        "note: no trace shows a tool `Search`, which `never` names; did you mean `search`?"
    )


def test_a_rule_that_applies_to_no_case_is_noted_once(shop: Path) -> None:
    cases = "cases: [{id: guard, input: phone}, {id: other, input: laptop}]"
    (shop / "policy.yaml").write_text(
        "rules: [{call: search, at_most: 9}, {call: refund, only_after: search}]\n" + cases
    )
    note = "note: the rule `refund` only after `search` never applied in 2 cases: no `refund` was called"

    done = rightcall("run", "agent.py:answer", "policy.yaml", cwd=shop)
    written = rightcall("run", "agent.py:answer", "policy.yaml", "--format", "json", cwd=shop)

    assert done.returncode == 0
    assert done.stdout.splitlines().count(note) == 1
    assert note in json.loads(written.stdout)["notes"]


def test_a_wrong_argument_is_told_with_its_place(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SHOP.replace("query: phone}}]", "query: phones}}]"))

    done = rightcall("run", "shop.yaml", cwd=shop)

    assert done.returncode == 1
    assert done.stdout.startswith(
        'shop.yaml:9:22: RC104 phone: `search` was called with query "phone", expected "phones"\n'
    )


def test_a_case_whose_agent_dies_is_an_error_and_the_others_are_judged(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SHOP.replace("input: {query: phone}", "input: {query: crash}"))

    done = rightcall("run", "shop.yaml", cwd=shop)

    assert done.returncode == 2
    assert done.stdout.startswith("shop.yaml:7:5: RC503 phone: the agent ended its process with exit code 7\n")
    assert "1 passed, 1 in error" in done.stdout
    assert none_left()


BAD_REQUESTS = {
    "misspelt key": (
        ["shop.yaml"],
        ("tags:", "tgs:"),
        "shop.yaml:4:5: unknown key 'cases[0].tgs'; did you mean 'tags'?",
    ),
    "duplicate id": (
        ["shop.yaml"],
        ("id: phone", "id: laptop"),
        "shop.yaml:7:5: the id 'laptop' is already used by the case",
    ),
    "unknown evaluator": (["shop.yaml"], ("output: found", "outptu: found"), "'outptu' names no evaluator"),
    "missing eval set": (["agent.py", "shp.yaml"], None, "shp.yaml: No such file or directory"),
    "missing agent file": (["agnt.py", "shop.yaml"], None, "no file agnt.py"),
    "missing function": (["agent.py:anser", "shop.yaml"], None, "did you mean 'answer'"),
    "unknown case": (["shop.yaml", "--case", "lptop"], None, "no case matches 'lptop'; did you mean 'laptop'?"),
    "unknown tag": (["shop.yaml", "--tag", "smok"], None, "no case has the tag 'smok'; did you mean 'smoke'?"),
    "unknown run": (["--resume", "zzz"], None, "there are no runs here yet"),
    "no recording": (["shop.yaml", "--replay"], None, "shop.recording.jsonl: No such file or directory"),
    "no eval set": (["agent.py"], None, "an eval set is missing"),
    "too many": (["a", "b", "c"], None, "give an agent and an eval set"),
    "repeats": (["shop.yaml", "--min-repeat-pass", "2"], None, "--min-repeat-pass 2 is more than --repeat 1"),
    "runs is a file": (["shop.yaml", "--runs", "agent.py"], None, "Not a directory; choose another folder"),
    "unknown option": (["shop.yaml", "--wrokers", "2"], None, "'--wrokers'"),
    "no number": (["shop.yaml", "--timeout", "nan"], None, "nan is not a number above 0"),
    "no share": (["shop.yaml", "--min-pass", "nan"], None, "nan is not a number from 0 to 1"),
    "no folder": (["shop.yaml", "--output-file", "none/x.json"], None, "none/x.json: there is no folder none"),
    "output is a folder": (["shop.yaml", "--output-file", "."], None, ".: this is a folder; name a file in it"),
    "record and replay": (["shop.yaml", "--record", "--replay"], None, "give one of them"),
}


@pytest.mark.parametrize("name", BAD_REQUESTS)
def test_a_request_that_cannot_be_met_is_one_line_and_nothing_is_run(shop: Path, name: str) -> None:
    arguments, change, message = BAD_REQUESTS[name]
    (shop / "shop.yaml").write_text(SHOP.replace(*change) if change else SHOP)

    done = rightcall("run", *arguments, cwd=shop)

    assert done.returncode == 2
    assert done.stdout == ""
    assert message in done.stderr
    assert done.stderr.startswith("rightcall: ")
    assert done.stderr.count("\n") == 1
    assert runs_in(shop) == []


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import nowhere_to_be_found", "nowhere_to_be_found"),
        ("import os; os._exit(9)", "while the agent was loaded: the agent ended its process with exit code 9"),
        ("raise SystemExit(3)", "it calls sys.exit(3)"),
        ("def answer(", "agent.py"),
    ],
    ids=["import", "exit", "system exit", "syntax"],
)
def test_an_agent_that_cannot_be_loaded_ends_the_run_before_it_begins(shop: Path, code: str, message: str) -> None:
    (shop / "agent.py").write_text(code)

    done = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""
    assert runs_in(shop) == []


def test_an_agent_that_an_eval_set_names_is_run_inside_this_project_only(shop: Path, tmp_path: Path) -> None:
    (shop / "rightcall.toml").write_text("")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "rightcall.toml").write_text("")
    downloaded = os.path.relpath(shop / "shop.yaml", tmp_path / "mine")

    refused = rightcall("run", downloaded, cwd=tmp_path / "mine")
    trusted = rightcall("run", downloaded, "--trust", cwd=tmp_path / "mine")
    at_home = rightcall("run", "shop.yaml", cwd=shop)
    (shop / "shop.yaml").write_text(SHOP.replace("agent.py:answer", f"'cmd:{sys.executable} agent.py'"))

    assert refused.returncode == 2
    assert "not inside the project of the current folder" in refused.stderr
    assert (trusted.returncode, at_home.returncode) == (0, 0), trusted.stderr
    assert rightcall("run", "shop.yaml", cwd=shop).returncode == 2


@pytest.mark.parametrize("mark", ["rightcall.toml", "pyproject.toml", ".git"])
def test_an_agent_of_a_project_inside_of_this_one_is_run_from_inside_it_or_with_trust(
    tmp_path: Path, mark: str
) -> None:
    got = make_project(tmp_path / "got", {"agent.py": AGENT, "shop.yaml": SHOP, mark: ""})
    (tmp_path / "pyproject.toml").touch()

    refused = rightcall("run", "got/shop.yaml", cwd=tmp_path)
    trusted = rightcall("run", "got/shop.yaml", "--trust", cwd=tmp_path)
    inside = rightcall("run", "shop.yaml", cwd=got)

    assert refused.returncode == 2
    assert f"is inside another project ({got})" in refused.stderr
    assert (trusted.returncode, inside.returncode) == (0, 0), trusted.stderr


def test_options_come_from_the_project_and_the_command_line_wins(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SHOP.replace("agent: agent.py:answer\n", ""))
    (shop / "pyproject.toml").write_text(
        '[tool.rightcall]\nagent = "agent.py:answer"\nevalset = "shop.yaml"\nrepeat = 3\n'
    )
    (shop / "rightcall.toml").unlink()
    (shop / "below").mkdir()

    done = rightcall("run", "--format", "json", cwd=shop / "below")
    fewer = rightcall("run", "--format", "json", "--repeat", "1", cwd=shop)

    assert len(json.loads(done.stdout)["cases"]) == 6
    assert len(json.loads(fewer.stdout)["cases"]) == 2


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("wokers = 2", "rightcall.toml:1:1: unknown option 'wokers'; did you mean 'workers'?"),
        ("\nworkers = 0", "rightcall.toml: workers: 0 is not a whole number of at least 1"),
        ("fail-fast = 1", "rightcall.toml: fail_fast is true or false"),
        ("workers = ", "rightcall.toml: Invalid value"),
    ],
)
def test_a_mistake_in_the_configuration_is_told(shop: Path, written: str, message: str) -> None:
    (shop / "rightcall.toml").write_text(written)

    done = rightcall("run", "shop.yaml", cwd=shop)

    assert done.returncode == 2
    assert message in done.stderr


def test_repeats_are_all_to_pass_unless_fewer_are_asked_for(shop: Path) -> None:
    evalset(shop, "{id: a, input: {query: x}, expect: {calls: [{search: {query: odd}}]}}")
    options = ["run", "agent.py:count", "shop.yaml", "--repeat", "4", "--workers", "1"]

    strict = rightcall(*options, cwd=shop)
    relaxed = rightcall(*options, "--min-repeat-pass", "2", cwd=shop)
    share = rightcall(*options, "--min-pass", "0.0", cwd=shop)

    assert strict.returncode == 1
    assert "(2 of 4 repeats)" in strict.stdout
    assert re.search("2/4 +✓✗✓✗", strict.stdout)
    assert "shop.yaml:2:" in strict.stdout
    assert relaxed.returncode == 0
    assert share.returncode == 0


def test_only_what_failed_last_time_is_run_again(shop: Path) -> None:
    (shop / "shop.yaml").write_text(SHOP.replace("query: phone}}]", "query: phones}}]"))

    rightcall("run", "shop.yaml", cwd=shop)
    again = rightcall("run", "./shop.yaml", "--failed", "--format", "json", cwd=shop)

    assert [case["case_id"] for case in json.loads(again.stdout)["cases"]] == ["phone"]


def test_fail_fast_stops_when_the_case_cannot_pass_any_more(shop: Path) -> None:
    evalset(shop, "{id: a, input: {query: x}, expect: {calls: [{search: {query: odd}}]}}")
    options = ["run", "agent.py:count", "shop.yaml", "--repeat", "8", "--workers", "1", "--fail-fast"]

    made_up = rightcall(*options, "--min-repeat-pass", "4", cwd=shop)
    (shop / "counter").unlink()
    lost = rightcall(*options, "--min-repeat-pass", "7", cwd=shop)

    assert (made_up.returncode, "4/8" in made_up.stdout) == (0, True)
    assert lost.returncode == 1
    assert "2/4" in lost.stdout  # the second failure is the one too many


def test_cases_say_how_often_they_run_and_have_to_pass(shop: Path) -> None:
    (shop / "shop.yaml").write_text(
        "defaults: {repeat: 4, min_repeat_pass: 2}\ncases:\n"
        "  - {id: a, input: {query: x}, expect: {calls: [{search: {query: odd}}]}}\n"
        "  - {id: b, repeat: 3, min_repeat_pass: 3, input: {query: x}, expect: {calls: [search]}}\n"
    )
    options = ["run", "agent.py:count", "shop.yaml", "--workers", "1"]

    own = rightcall(*options, cwd=shop)
    reported = rightcall("report", "last", "--format", "json", cwd=shop)
    asked = rightcall(*options, "--repeat", "1", "--case", "b", cwd=shop)

    assert (own.returncode, asked.returncode) == (0, 0)
    trials = json.loads(reported.stdout)["trials"]
    assert {case: (sum_of(each), each["needed"], each["verdict"]) for case, each in trials.items()} == {
        "a": (4, 2, "passed"),
        "b": (3, 3, "passed"),
    }
    assert "1 passed" in asked.stdout


def sum_of(trials: dict[str, int]) -> int:
    return sum([trials[name] for name in ("passed", "failed", "error", "not_measured")])


def test_the_command_says_it_before_the_case_and_the_case_before_the_configuration(shop: Path) -> None:
    (shop / "rightcall.toml").write_text("repeat = 5\n")
    case = "{id: a, repeat: 2, input: {query: x}, expect: {calls: [search]}}"
    evalset(shop, case, "{id: b, input: {query: x}, expect: {calls: [search]}}")

    configured = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)
    asked = rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "3", cwd=shop)

    assert re.findall(r"(\d)/\d", configured.stdout) == ["2", "5"]
    assert re.findall(r"(\d)/\d", asked.stdout) == ["3", "3"]


def test_a_run_that_says_nothing_of_rounds_can_be_resumed(shop: Path) -> None:
    evalset(shop, "{id: a, input: {query: x}, expect: {calls: [search]}}")
    rightcall("run", "agent.py:answer", "shop.yaml", "--repeat", "3", cwd=shop)

    resumed = rightcall("run", "agent.py:answer", "shop.yaml", "--resume", "last", cwd=shop)

    assert (resumed.returncode, "3/3" in resumed.stdout) == (0, True)


def test_what_was_not_reached_last_time_did_not_pass(shop: Path) -> None:
    evalset(shop, *[f"{{id: c{number}, input: {{query: x}}, expect: {{calls: []}}}}" for number in range(20)])
    rightcall("run", "agent.py:answer", "shop.yaml", "--fail-fast", "--workers", "1", cwd=shop)

    again = rightcall("run", "agent.py:answer", "shop.yaml", "--failed", cwd=shop)

    assert "20 failed in" in again.stdout


def test_cases_are_chosen_by_id_and_by_tag(shop: Path) -> None:
    by_tag = rightcall("run", "shop.yaml", "--tag", "smoke", "--format", "json", cwd=shop)
    by_id = rightcall("run", "shop.yaml", "--case", "ph*", "--output-file", "out.json", cwd=shop)

    assert [case["case_id"] for case in json.loads(by_tag.stdout)["cases"]] == ["laptop"]
    assert by_id.stdout.startswith("1 passed")
    assert [case["case_id"] for case in json.loads((shop / "out.json").read_text())["cases"]] == ["phone"]


def test_fail_fast_stops_at_the_first_case_that_does_not_pass(shop: Path) -> None:
    evalset(shop, *[f"{{id: c{number}, input: {{query: x}}, expect: {{calls: []}}}}" for number in range(20)])

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--fail-fast", "--workers", "1", cwd=shop)

    assert done.returncode == 1
    assert "1 failed, not complete in" in done.stdout
    assert none_left()


def test_a_conversation_has_one_session_and_its_calls_know_their_turn(shop: Path) -> None:
    turn = "{input: %s, expect: {calls: [{search: {query: %s}}]}}"
    turns = f"[{turn % ('one', 'one')}, {turn % ('two', 'two')}]"
    evalset(shop, f"{{id: talk, session: {{}}, turns: {turns}, expect: {{output: [one, two]}}}}")

    done = rightcall("run", "agent.py:remember", "shop.yaml", "--repeat", "2", cwd=shop)

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_turn_of_a_conversation_is_held_against_what_it_gave_back(shop: Path) -> None:
    turns = "[{input: one, expect: {output: [one]}}, {input: two, expect: {output: [two]}}]"
    evalset(shop, f"{{id: talk, session: {{}}, turns: {turns}}}")

    done = rightcall("run", "agent.py:remember", "shop.yaml", cwd=shop)

    assert done.returncode == 1
    assert "turn 2" in done.stdout
    assert "turn 1" not in done.stdout


def test_tools_are_recorded_once_and_replayed_for_ever(shop: Path) -> None:
    evalset(
        shop,
        "{id: a, input: {query: x}, expect: {calls: [clock]}}",
        "{id: b, input: {query: x}, expect: {calls: [clock]}}",
    )
    options = ["run", "agent.py:timed", "shop.yaml", "--format", "json"]

    recorded = rightcall(*options, "--record", cwd=shop)
    replayed = [rightcall(*options, "--replay", cwd=shop) for _ in range(2)]
    real = rightcall(*options, cwd=shop)

    def answers(done: object) -> dict[str, float]:
        cases = json.loads(done.stdout)["cases"]  # type: ignore[attr-defined]
        return {case["case_id"]: case["trajectory"]["output"] for case in cases}

    assert answers(replayed[0]) == answers(replayed[1]) == answers(recorded)
    assert answers(real) != answers(recorded)
    told = "note: recorded 2 answers of 2 cases in shop.recording.jsonl"
    assert told in json.loads(recorded.stdout)["notes"]
    assert told in rightcall("run", "agent.py:timed", "shop.yaml", "--record", cwd=shop).stdout


def test_a_mocked_tool_that_is_called_otherwise_is_an_error(shop: Path) -> None:
    mocks = "mocks: {search: {when: {query: y}, returns: [Y]}}"
    evalset(shop, f"{{id: a, input: {{query: x}}, {mocks}, expect: {{calls: [search]}}}}",
            f"{{id: b, input: {{query: y}}, {mocks}, expect: {{calls: [search], output: found Y}}}}")  # fmt: skip

    done = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 2
    assert "RC506 a: no mock of 'search' matches {'query': 'x'}" in done.stdout
    assert "1 passed, 1 in error" in done.stdout


@pytest.mark.parametrize("options", [[], ["--replay"]])
def test_a_tool_that_runs_itself_though_it_is_answered_for_is_an_error(shop: Path, options: list[str]) -> None:
    mocks = "" if options else "mocks: {search: {returns: [X]}}, "
    evalset(shop, f"{{id: a, input: {{query: x}}, {mocks}expect: {{calls: [search]}}}}")
    (shop / "shop.recording.jsonl").write_text('{"case": "a", "tool": "search", "args": {}, "output": 1}\n')

    done = rightcall("run", "agent.py:bypassed", "shop.yaml", *options, cwd=shop)

    assert done.returncode == 2
    assert "RC506 a: the tool 'search' is mocked, but ran for real" in done.stdout


@pytest.mark.parametrize(
    ("agent", "options", "message"),
    [
        ("http://127.0.0.1:9/", ["--replay"], "--replay reaches neither tools nor models of 'http://127.0.0.1:9/'"),
        ("cmd:touch made", [], "shop.yaml:2:6: the case 'a' mocks tools, but those of 'cmd:touch made'"),
    ],
)
def test_tools_out_of_reach_are_not_run_instead(shop: Path, agent: str, options: list[str], message: str) -> None:
    evalset(shop, "{id: a, input: {query: x}, mocks: {search: {returns: [X]}}, expect: {calls: [search]}}")

    done = rightcall("run", agent, "shop.yaml", *options, cwd=shop)

    assert done.returncode == 2
    assert message in done.stderr
    assert not (shop / "made").exists()
    assert runs_in(shop) == []


def test_many_cases_at_once_do_not_mix_their_calls(shop: Path) -> None:
    calls = "[{price: {item: %s}}, {search: {query: %s}}, {search: {query: %s}}, {price: {item: %s}}]"
    expect = f"expect: {{calls: {{criteria: {calls}, match: unordered}}}}"
    evalset(shop, *[f"{{id: c{n}, input: {{query: q{n}}}, {expect % ((f'q{n}',) * 4)}}}" for n in range(200)])

    done = rightcall("run", "agent.py:everything_at_once", "shop.yaml", "--concurrency", "50", cwd=shop)

    assert done.returncode == 0, done.stdout[:2000] + done.stderr
    assert done.stdout.startswith("200 passed")


def test_several_synchronous_cases_run_in_threads(shop: Path) -> None:
    evalset(shop, *[f"{{id: c{n}, input: {{item: {'x' * n}z}}, expect: {{output: {n + 1}}}}}" for n in range(30)])

    done = rightcall("run", "agent.py:nested", "shop.yaml", "--concurrency", "5", "--workers", "1", cwd=shop)

    assert done.returncode == 0, done.stdout[:2000] + done.stderr


def test_workers_load_neither_pydantic_nor_rich_nor_what_judges(shop: Path) -> None:
    evalset(shop, "{id: a, input: {query: modules}, expect: {output: []}}")

    done = true_rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 0, done.stdout


def test_runs_are_private_under_any_umask(shop: Path) -> None:
    before = os.umask(0)
    try:
        rightcall("run", "shop.yaml", cwd=shop)
    finally:
        os.umask(before)

    for path in (shop / ".rightcall").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path


def test_an_evaluator_that_is_not_available_is_told_by_name_and_the_others_judge(shop: Path) -> None:
    evaluators = "evaluators: {judge: {type: llm-judge-trajectory-simulation}}\n"
    case = "  - {id: a, input: {query: x}, expect: {calls: [{search: {query: y}}], judge: null}}\n"
    (shop / "shop.yaml").write_text(f"{evaluators}cases:\n{case}")

    done = rightcall("run", "agent.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 1
    assert "RC104 a" in done.stdout
    assert "RC403 a: 'judge' (llm-judge-trajectory-simulation) is not yet available" in done.stdout


def test_calls_in_other_processes_are_not_taken_for_no_calls(shop: Path) -> None:
    (shop / "pool.py").write_text(
        "from concurrent.futures import ProcessPoolExecutor\n"
        "from rightcall import tool\n\n"
        "@tool\n"
        "def delete(name):\n"
        "    return name\n\n"
        "def answer(query):\n"
        "    with ProcessPoolExecutor(1) as pool:\n"
        "        return pool.submit(delete, query).result()\n"
    )
    evalset(shop, "{id: a, input: {query: x}, expect: {never: [delete]}}")

    done = rightcall("run", "pool.py:answer", "shop.yaml", cwd=shop)

    assert done.returncode == 2, done.stdout + done.stderr
    assert "RC301 a" in done.stdout
    assert "note: the agent started Python processes of its own" in done.stdout


def test_calls_in_a_forked_process_are_not_taken_for_no_calls(shop: Path) -> None:
    (shop / "fork.py").write_text(
        "import os\n"
        "from rightcall import tool\n\n"
        "@tool\n"
        "def delete(name):\n"
        "    return name\n\n"
        "def answer(query):\n"
        "    child = os.fork()\n"
        "    if not child:\n"
        "        delete(query)\n"
        "        os._exit(0)\n"
        "    os.waitpid(child, 0)\n"
    )
    (shop / "terminal.py").write_text(
        "import os, pty\n"
        "from fork import delete\n\n"
        "def answer(query):\n"
        "    child, _ = pty.fork()\n"
        "    if not child:\n"
        "        os.execvp('true', ['true'])\n"
        "    os.waitpid(child, 0)\n"
    )
    evalset(shop, "{id: a, input: {query: x}, expect: {never: [delete]}}")

    done = rightcall("run", "fork.py:answer", "shop.yaml", cwd=shop)

    assert rightcall("run", "terminal.py:answer", "shop.yaml", cwd=shop).returncode == 0
    assert done.returncode == 2, done.stdout + done.stderr
    assert "RC301 a" in done.stdout
    assert [line for line in done.stdout.splitlines() if line.startswith("note:")] == [
        "note: the agent started Python processes of its own: calls of tools inside them were not seen"
    ]


@pytest.mark.parametrize(
    ("agent", "told", "notes"),
    [
        ("cmd:false", "RC501 a: /usr/bin/false ended with exit code 1", 0),
        ("http://127.0.0.1:1/answer", "RC501 a: http://127.0.0.1:1/answer cannot be reached: Connection refused", 0),
        ("cmd:echo hello", "RC301 a: the trace has no tool data", 1),
    ],
    ids=["exit code", "no connection", "no calls"],
)
def test_advice_on_recording_is_for_agents_that_answered_and_are_of_this_kind(
    shop: Path, agent: str, told: str, notes: int
) -> None:
    evalset(shop, "{id: a, input: {query: x}, expect: {calls: [search]}}")

    done = rightcall("run", agent, "shop.yaml", cwd=shop)

    found = [line for line in done.stdout.splitlines() if line.startswith("note:")]
    assert told in done.stdout
    assert len(found) == notes
    assert "@rightcall.tool" not in done.stdout
    assert all("answer with its messages" in note for note in found)


def test_every_format_of_a_report_can_be_asked_for_while_running(shop: Path) -> None:
    summary = shop / "summary.md"
    files = ["--format", "junit=junit.xml", "--format", "markdown=comment.md"]

    done = rightcall(
        "run", "agent.py:answer", "shop.yaml", *files, cwd=shop, GITHUB_ACTIONS="true", GITHUB_STEP_SUMMARY=str(summary)
    )

    assert done.returncode == 0, done.stderr
    assert "2 passed" in done.stdout
    assert ElementTree.parse(shop / "junit.xml").getroot().get("tests") == "2"
    assert "2 passed" in (shop / "comment.md").read_text()
    assert "2 passed" in summary.read_text()


@pytest.mark.parametrize("options", [[], ["--replay"]], ids=["mocks", "recording"])
def test_a_name_that_no_tool_has_is_refused_before_the_first_request(shop: Path, options: list[str]) -> None:
    (shop / "plain.py").write_text(
        'def refund(order):\n    open("refunded", "w").close()\n\n'
        'def answer(query):\n    refund(query)\n    return "Refunded"\n'
    )
    mocks = "" if options else "mocks: {refund: {returns: 1}}, "
    evalset(shop, f"{{id: a, input: x, {mocks}expect: {{output: Refunded}}}}")
    (shop / "shop.recording.jsonl").write_text('{"case": "a", "tool": "refund", "args": {}, "output": 1}\n')

    done = rightcall("run", "plain.py:answer", "shop.yaml", *options, cwd=shop)

    assert done.returncode == 2
    assert "no tool 'refund' to stand in for: no tools were found in the agent" in done.stderr
    assert "@rightcall.tool" in done.stderr
    assert not (shop / "refunded").exists()


def test_a_dry_run_lists_cases_tools_and_what_stands_in_for_each(shop: Path) -> None:
    evalset(
        shop,
        "{id: a, input: {query: x}, mocks: {search: {returns: [X]}}, expect: {calls: [search]}}",
        "{id: b, input: {query: y}, repeat: 3, expect: {calls: [search]}}",
    )

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--dry-run", cwd=shop)

    assert done.returncode == 0
    lines = done.stdout.splitlines()
    assert lines[:3] == ["2 cases of shop.yaml, agent agent.py:answer", "  a  mocks search", "  b  3 times"]
    assert any("search(query: str)" in line and line.endswith("mocks in 1 of 2 cases, else runs") for line in lines)
    assert any("price(" in line and line.endswith("runs") for line in lines)
    assert runs_in(shop) == []


@pytest.mark.parametrize("code", [0, 3], ids=["success", "failure"])
def test_what_a_command_writes_to_standard_error_is_kept(shop: Path, code: int) -> None:
    (shop / "agent.sh").write_text(
        'echo "starting" >&2\necho "TypeError: no laptop" >&2\n'
        f'echo "    at agent.mjs:3:17" >&2\necho "  [Symbol(error.code)]: true" >&2\necho half\nexit {code}\n'
    )
    evalset(shop, "{id: a, input: x, expect: {output: half}}")

    done = rightcall("run", "cmd:sh agent.sh", "shop.yaml", "--format", "json", cwd=shop)

    outcome = json.loads(done.stdout)["cases"][0]["outcome"]
    assert outcome["stderr"].startswith("starting\nTypeError: no laptop\n    at agent.mjs:3:17\n")
    if code:
        assert outcome["error"].endswith("ended with exit code 3: TypeError: no laptop")
        assert "agent.mjs:3:17" in outcome["traceback"]
        assert "rightcall" not in outcome["traceback"]
        assert outcome["stdout"] == "half\n"


@pytest.mark.parametrize(
    ("options", "evaluators"),
    [
        (["--skip", "judges"], ["output", "order"]),
        (["--only", "order"], ["order"]),
        (["--only", "order,output", "--skip", "final-output"], ["order"]),
    ],
    ids=["skip", "only", "both"],
)
def test_evaluators_are_chosen_by_name(shop: Path, options: list[str], evaluators: list[str]) -> None:
    expect = "expect: {output: found, order: [search], llm-judge-output: {rubrics: [polite]}}"
    evalset(shop, f"{{id: a, input: {{query: x}}, {expect}}}")

    done = rightcall("run", "agent.py:answer", "shop.yaml", *options, "--format", "json", cwd=shop)

    [case] = json.loads(done.stdout)["cases"]
    assert [one["evaluator"] for one in case["evaluations"]] == evaluators


def test_an_evaluator_that_no_case_has_is_told_with_the_nearest(shop: Path) -> None:
    evalset(shop, "{id: a, input: {query: x}, expect: {order: [search]}}")

    done = rightcall("run", "agent.py:answer", "shop.yaml", "--only", "ordr", cwd=shop)

    assert done.returncode == 2
    assert "no case has an evaluator 'ordr'; did you mean 'order'?" in done.stderr


def test_a_command_in_an_eval_set_says_where_it_belongs(shop: Path) -> None:
    (shop / "shop.yaml").write_text("agent: cmd:node agent.mjs\ncases: [{id: a, input: x, expect: {output: x}}]\n")

    done = rightcall("run", "shop.yaml", cwd=shop)

    assert done.returncode == 2
    assert "commands and addresses in an eval set are not trusted" in done.stderr
    assert "write it as agent in rightcall.toml" in done.stderr


def test_accepting_a_run_of_some_cases_does_not_complain_of_the_others(shop: Path) -> None:
    evalset(
        shop,
        "{id: a, input: {query: x}, expect: {calls: [price]}}",
        "{id: b, input: {query: y}, expect: {calls: [search]}}",
    )
    rightcall("run", "agent.py:answer", "shop.yaml", "--case", "a", cwd=shop)

    done = rightcall("accept", "last", "--dry-run", cwd=shop)

    assert "no trace belongs" not in done.stdout + done.stderr


def test_the_only_eval_set_of_a_folder_need_not_be_named(shop: Path) -> None:
    evalset(shop, "{id: a, input: {query: x}, expect: {calls: [search]}}")
    (shop / "evals").mkdir()
    (shop / "shop.yaml").rename(shop / "evals" / "shop.yaml")

    done = rightcall("run", "agent.py:answer", cwd=shop)

    assert "an eval set is missing" not in done.stderr
    assert "run " in done.stdout
