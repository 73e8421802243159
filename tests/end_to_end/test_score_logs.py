"""`rightcall score` and `rightcall show` on logs of messages, in a real process."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.processes import rightcall
from tests.reading.logs import ANSWERED, ASKED, asks, gives, refund
from tests.walls import for_each

ODD = {"role": "assistant", "tool_calls": [{"id": "1", "tool": "delete_all"}]}
DENIED: list[dict[str, Any]] = [
    {"kind": "response", "parts": [{"part_kind": "tool-call", "tool_name": "refund", "args": {"n": 7}}]},
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "refund", "content": "No.", "outcome": "denied"}],
    },
]


def written(path: Path, *documents: Any) -> str:
    path.write_text("\n".join(json.dumps(document) for document in documents))
    return path.name


@pytest.mark.parametrize("rule", ["calls: []", "never: [delete_all]", "counts: {delete_all: 0}", "steps: 0"])
def test_a_log_with_calls_that_were_not_understood_is_not_measured(tmp_path: Path, rule: str) -> None:
    log = written(tmp_path / "log.json", [ASKED, ODD, ANSWERED])
    done = rightcall("score", log, "--expect", f"{{{rule}}}", cwd=tmp_path)

    assert done.returncode == 2
    assert "RC304" in done.stdout
    assert "message 2: an item of `tool_calls` with the keys id, tool" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 not measured")


@pytest.mark.parametrize("rule", ["calls: []", "never: [refund]", "counts: {refund: 0}", "steps: 0"])
def test_what_the_calls_in_sight_break_fails_all_the_same(tmp_path: Path, rule: str) -> None:
    log = written(tmp_path / "log.json", [*refund(), ODD])
    done = rightcall("score", log, "--expect", f"{{{rule}}}", cwd=tmp_path)

    assert done.returncode == 1
    assert done.stdout.splitlines()[-1].startswith("1 failed")


def test_show_says_that_calls_were_not_understood(tmp_path: Path) -> None:
    nothing = written(tmp_path / "nothing.json", [ASKED, ODD])
    something = written(tmp_path / "something.json", [*refund(), ODD])
    text = rightcall("show", nothing, something, cwd=tmp_path).stdout

    assert "calls were not understood: cannot tell whether tools were called" in text
    assert "1 call · others may be missing: not everything was understood" in text
    assert "no calls" not in text


def test_the_code_is_explained() -> None:
    assert rightcall("explain", "RC304").stdout.startswith("RC304 calls-not-understood")


def test_a_call_that_was_refused_is_shown_and_not_judged(tmp_path: Path) -> None:
    log = written(tmp_path / "log.json", DENIED)
    shown = rightcall("show", log, cwd=tmp_path).stdout
    plain = json.loads(rightcall("show", "--json", log, cwd=tmp_path).stdout)

    assert "no calls" in shown
    assert "not made: refund(n=7): No." in shown
    assert plain["withheld"] == [{"name": "refund", "args": {"n": 7}, "reason": "No."}]
    for source in (log, written(tmp_path / "lines.jsonl", plain)):
        assert rightcall("score", source, "--expect", "{never: [refund]}", cwd=tmp_path).returncode == 0


def test_a_kept_run_still_knows_what_was_withheld(tmp_path: Path) -> None:
    log = written(tmp_path / "log.json", DENIED)
    (tmp_path / "e.yaml").write_text("cases:\n  - id: one\n    expect: {never: [refund]}\n")
    rightcall("score", log, "--evalset", "e.yaml", "--keep", cwd=tmp_path)
    report = json.loads(rightcall("report", "last", "--format", "json", cwd=tmp_path).stdout)

    assert report["cases"][0]["trajectory"]["withheld"] == [{"name": "refund", "args": {"n": 7}, "reason": "No."}]


EVALSET = """\
cases:
  - {id: one, expect: {calls: [first]}}
  - {id: two, expect: {calls: [second]}}
  - {id: three, expect: {calls: [third]}}
"""


@pytest.mark.parametrize("ids", [None, "id", "case_id"])
def test_a_file_of_conversations_is_joined_to_cases_in_order_or_by_id(tmp_path: Path, ids: str | None) -> None:
    (tmp_path / "e.yaml").write_text(EVALSET)
    cases = [("one", "first"), ("two", "second"), ("three", "third")]
    documents = [
        {**({ids: case} if ids else {}), "messages": [ASKED, asks((tool, "c", "{}")), gives("c", "ok"), ANSWERED]}
        for case, tool in (reversed(cases) if ids else cases)
    ]
    log = written(tmp_path / "log.jsonl", *documents)
    done = rightcall("score", log, "--evalset", "e.yaml", cwd=tmp_path)

    assert (done.returncode, done.stdout.splitlines()[-1][:8]) == (0, "3 passed")


CHOICES = (["--case", "one"], ["--tag", "x"], ["--only", "calls"], ["--skip", "counts"])
CHOSEN = """
cases:
  - {id: one, tags: [x], expect: {calls: [first]}}
  - {id: two, expect: {counts: {first: 1}}}
"""


@for_each("choice", CHOICES)
def test_a_trace_of_a_case_that_is_not_chosen_is_not_judged_as_another(tmp_path: Path, choice: list[str]) -> None:
    (tmp_path / "e.yaml").write_text(CHOSEN)
    log = written(tmp_path / "log.jsonl", {"case_id": "two", "messages": [ASKED, asks(("first", "c", "{}")), ANSWERED]})
    done = rightcall("score", log, "--evalset", "e.yaml", *choice, cwd=tmp_path)

    assert done.returncode == 2
    assert "RC303 one: no trace belongs to this case" in done.stdout
    assert "1 trace not judged: no case matches" in done.stderr


@for_each("choice", CHOICES)
def test_traces_keep_their_places_where_not_all_cases_are_chosen(tmp_path: Path, choice: list[str]) -> None:
    (tmp_path / "e.yaml").write_text(CHOSEN)
    documents = [{"messages": [ASKED, asks((tool, "c", "{}")), ANSWERED]} for tool in ("first", "second")]
    for join in ("auto", "order"):
        there, back = (
            rightcall(
                "score",
                written(tmp_path / "log.jsonl", *logs),
                "--evalset",
                "e.yaml",
                *choice,
                "--join",
                join,
                cwd=tmp_path,
            )
            for logs in (documents, documents[::-1])
        )
        assert (there.returncode, back.returncode) == (0, 1)


def test_an_expectation_is_not_updated_from_a_trace_of_a_case_that_is_not_chosen(tmp_path: Path) -> None:
    (tmp_path / "e.yaml").write_text(CHOSEN)
    log = written(tmp_path / "log.jsonl", {"case_id": "two", "messages": [ASKED, asks(("other", "c", "{}")), ANSWERED]})
    done = rightcall("accept", log, "--evalset", "e.yaml", "--case", "one", cwd=tmp_path)

    assert done.returncode == 2
    assert (tmp_path / "e.yaml").read_text() == CHOSEN


def test_a_log_record_whose_keys_look_like_positions_costs_no_other_file(tmp_path: Path) -> None:
    record = {"eventName": "gen_ai.user.message", "body": {"kvlistValue": {"values": [{"key": "1.5"}]}}}
    odd = written(tmp_path / "odd.json", {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]})
    good = written(tmp_path / "good.json", refund())
    done = rightcall("show", good, odd, good, cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout.count("1 call") == 2


AGENT = """\
import json, sys

asked = json.load(sys.stdin)
text = json.dumps(asked)
call = {"part_kind": "tool-call", "tool_name": "refund", "args": {"n": 7}, "tool_call_id": "c"}
outcome = "success" if "go ahead" in text else "denied"
result = {**call, "part_kind": "tool-return", "content": "ok", "outcome": outcome}
print(json.dumps({"output": "ok", "messages": [
    {"kind": "response", "parts": [call]}, {"kind": "request", "parts": [result]}]}))
"""

TURNS = """\
cases:
  - id: refused
    input: refund
    expect: {never: [refund]}
  - id: approved
    turns:
      - {input: refund, expect: {calls: []}}
      - {input: go ahead, expect: {calls: [refund]}}
"""


def test_a_call_refused_in_one_turn_and_made_in_the_next_was_made(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "e.yaml").write_text(TURNS)
    done = rightcall("run", f"cmd:{sys.executable} agent.py", "e.yaml", cwd=tmp_path)
    cases = json.loads(rightcall("report", "last", "--format", "json", cwd=tmp_path).stdout)["cases"]
    withheld = {case["case_id"]: [call["name"] for call in case["trajectory"]["withheld"]] for case in cases}

    assert done.returncode == 0, done.stdout
    assert withheld == {"refused": ["refund"], "approved": []}


def test_a_run_whose_messages_were_not_understood_is_not_measured(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(f"print({json.dumps(json.dumps({'output': 'ok', 'messages': [ASKED, ODD]}))})")
    (tmp_path / "e.yaml").write_text("cases:\n  - {id: one, input: x, expect: {never: [delete_all]}}\n")
    done = rightcall("run", f"cmd:{sys.executable} agent.py", "e.yaml", cwd=tmp_path)

    assert done.returncode == 2
    assert "RC304 one: the trace may have calls that were not understood: message 2" in done.stdout
