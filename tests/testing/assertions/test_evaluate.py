"""`evaluate`: a whole eval set as one assertion."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.projects import make_project
from tests.running.runner.running import none_left

from rightcall import CheckFailedError, CriteriaError, InputError, NotMeasuredError, evaluate, gate, load_eval_set, soft
from rightcall.errors import AgentError
from rightcall.reporting.store import open_run

AGENT = """
from pathlib import Path
from rightcall import tool

@tool
def search(query: str) -> str:
    return query

def answer(query: str) -> str:
    if query == "raise":
        raise ValueError("no such thing")
    search("phone" if query == "wrong" else query)
    return query

def fickle(query: str) -> None:
    times = Path(f"{query}.times")
    made = len(times.read_text()) if times.exists() else 0
    times.write_text("x" * (made + 1))
    if made % 2:
        search(query)
"""
ADK = {
    "eval_set_id": "home",
    "eval_cases": [
        {
            "eval_id": "laptop",
            "conversation": [
                {
                    "user_content": {"role": "user", "parts": [{"text": "laptop"}]},
                    "final_response": {"role": "model", "parts": [{"text": "laptop"}]},
                    "intermediate_data": {"tool_uses": [{"name": "search", "args": {"query": "laptop"}}]},
                }
            ],
        }
    ],
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    make_project(tmp_path, {"agent.py": AGENT, "rightcall.toml": ""})
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(folder: Path, *queries: str, name: str = "shop.yaml", agent: str = "agent: agent.py:answer\n") -> Path:
    cases = [
        {"id": query, "tags": [query], "input": {"query": query}, "expect": {"calls": [{"search": {"query": query}}]}}
        for query in queries
    ]
    (folder / name).write_text(f"{agent}cases: {json.dumps(cases)}\n")
    return folder / name


def test_results_come_in_the_order_of_the_file(project: Path) -> None:
    path = write(project, "laptop", "tablet")

    results = evaluate(path, repeat=2)

    assert [(result.case_id, result.repeat, result.verdict) for result in results] == [
        ("laptop", 0, "passed"),
        ("laptop", 1, "passed"),
        ("tablet", 0, "passed"),
        ("tablet", 1, "passed"),
    ]
    assert not (project / ".rightcall").exists()
    assert none_left()


def test_a_failure_names_the_case_the_call_and_the_argument_and_how_many_more(project: Path) -> None:
    with pytest.raises(CheckFailedError) as raised:
        evaluate(load_eval_set(write(project, "raise", "wrong", "laptop")))

    first, *others = str(raised.value).splitlines()
    assert first == (
        'wrong: `search` was called with query "phone", expected "wrong" (calls 0/1), '
        "and 1 more of 3 cases did not pass"
    )
    assert "raise: the agent raised ValueError: no such thing" in others
    assert len(raised.value.results) == 2


def test_a_soft_block_waits_for_it(project: Path) -> None:
    with soft() as block:
        evaluate(write(project, "wrong"))
        kept = list(block.problems)
        block.problems.clear()

    assert [str(problem).partition(":")[0] for problem in kept] == ["wrong"]


def test_an_agent_that_breaks_is_not_an_agent_that_did_badly(project: Path) -> None:
    with pytest.raises(NotMeasuredError, match=r"^raise: the agent raised ValueError: no such thing"):
        evaluate(write(project, "raise", "laptop"))


def test_so_many_repeats_have_to_pass_as_are_asked_for(project: Path) -> None:
    path = write(project, "laptop", agent="agent: agent.py:fickle\n")

    evaluate(path, repeat=4, min_repeat_pass=2, workers=1)
    with pytest.raises(CheckFailedError, match=r"^laptop: `search` was never called"):
        evaluate(path, repeat=4, workers=1)


def based(project: Path, *queries: str) -> Path:
    """An eval set of which the run `last` has five trials, all passed."""
    path = write(project, *queries, agent="agent: agent.py:answer\n")
    evaluate(path, repeat=5, runs=".rightcall/runs")
    return path


def test_an_agent_that_got_worse_fails_and_the_case_is_named(project: Path) -> None:
    path = based(project, "laptop", "tablet")
    (project / "agent.py").write_text(AGENT.replace('query == "wrong"', 'query == "laptop"'))

    with pytest.raises(CheckFailedError, match=r"worse than \w+: laptop 5/5 → 0/5, 5 of 5 rounds") as raised:
        evaluate(path, repeat=5, gate="last")

    assert len(raised.value.results) == 5


def test_a_gate_that_is_sure_stops_early(project: Path) -> None:
    path = based(project, "laptop", "tablet")

    results = evaluate(path, repeat=(4, 40), gate="last", rule_out=0.6, runs=".rightcall/runs", workers=1)

    kept = open_run("last").header.gate
    assert kept is not None
    assert (kept.verdict, kept.rounds, kept.planned_rounds) == ("no worse", 4, 40)
    assert len(results) < 80


def test_what_a_gate_cannot_tell_skips_the_test_or_fails(project: Path) -> None:
    path = based(project, "laptop")

    with pytest.raises(pytest.skip.Exception, match="10 points are not ruled out"):
        evaluate(path, repeat=2, gate="last")
    with pytest.raises(NotMeasuredError, match="10 points are not ruled out"):
        evaluate(path, repeat=2, gate="last", inconclusive="fail")


def test_results_can_be_put_through_a_gate_afterwards(project: Path) -> None:
    path = based(project, "laptop", "tablet")
    results = evaluate(path, repeat=5)

    said = gate(results, "last", rule_out=0.6)

    assert (said.verdict, said.exit_code) == ("no worse", 0)
    with pytest.raises(InputError, match="repeats are missing"):
        gate([result for result in results if result.repeat != 1], "last")


def test_a_tag_that_must_pass_and_a_rate_to_reach_need_no_base(project: Path) -> None:
    path = project / "must.yaml"
    path.write_text(
        "agent: agent.py:answer\ncases:\n"
        "  - {id: a, tags: [safety], input: {query: wrong}, expect: {args: [{search: {query: wrong}}]}}\n"
        "  - {id: b, input: {query: b}, expect: {calls: [search]}}\n"
    )

    with pytest.raises(CheckFailedError, match="judged by themselves, failed: a"):
        evaluate(path, repeat=2, must=["safety"], min_rate=0.0, workers=1)
    with pytest.raises(InputError, match="did you mean 'safety'"):
        evaluate(path, must=["saftey"])
    with pytest.raises(CheckFailedError, match="at least 99 %: fails"):
        evaluate(path, repeat=(2, 40), min_rate=0.99, workers=1)
    with pytest.raises(NotMeasuredError, match="at least 90 %: inconclusive"):
        evaluate(path, cases=["b"], repeat=2, min_rate=0.9, workers=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"repeat": (3, 10)}, "give gate="),
        ({"min_rate": 2}, "min_rate is a share"),
        ({"repeat": (3, 2), "gate": "last"}, "the least and the most"),
        ({"gate": "last", "min_repeat_pass": 1}, "both decide"),
        ({"gate": "last", "rule_out": 2}, "rule_out is a share"),
        ({"gate": "last", "inconclusive": "maybe"}, "'pass' or 'fail'"),
    ],
)
def test_what_no_gate_can_ask_is_refused(project: Path, options: dict[str, Any], message: str) -> None:
    with pytest.raises(CriteriaError, match=message):
        evaluate(write(project, "laptop"), **options)


def test_cases_can_be_chosen_and_kept(project: Path) -> None:
    path = write(project, "wrong", "laptop", "tablet")

    evaluate(path, cases=["lap*"], tags=["laptop"], runs="kept")

    run = open_run("last", project / "kept")
    assert run.header.totals is not None
    assert run.header.totals.passed == 1
    assert [result.case_id for result in run.results()] == ["laptop"]


def test_files_of_adk_are_taken_as_they_are_also_by_the_folder(project: Path) -> None:
    tests = project / "tests"
    tests.mkdir()
    (tests / "home.test.json").write_text(json.dumps(ADK))
    (tests / "test_config.json").write_text('{"criteria": {"tool_trajectory_avg_score": 1.0}}')
    write(tests, "tablet", name="more.yaml", agent="")

    results = evaluate("tests", "agent.py:answer")

    assert [result.case_id for result in results] == ["laptop", "tablet"]


def test_the_agent_may_be_named_by_the_project(project: Path) -> None:
    path = write(project, "laptop", agent="")

    with pytest.raises(AgentError, match="names no agent"):
        evaluate(path)
    (project / "rightcall.toml").write_text('agent = "agent.py:answer"\n')
    assert len(evaluate(path)) == 1


def test_what_makes_no_sense_is_refused(project: Path) -> None:
    path = write(project, "laptop")

    with pytest.raises(AgentError, match="so name it"):
        evaluate(path, print)  # type: ignore[arg-type]
    with pytest.raises(CriteriaError, match="repeat is a number from 1"):
        evaluate(path, repeat=0)
    with pytest.raises(CriteriaError, match="min_repeat_pass is from 1 to 2"):
        evaluate(path, repeat=2, min_repeat_pass=3)
    (project / "empty").mkdir()
    with pytest.raises(InputError, match="has no eval sets"):
        evaluate(project / "empty")
    with pytest.raises(InputError, match=r"none\.yaml"):
        evaluate("none.yaml")
