"""`rightcall show`, `score`, `pull` and `score --watch` with the address of a trace server."""

from __future__ import annotations

import gzip
import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.connect.loopback import Answer, Asked, PhoenixLike, served, span, trace, trace_id
from tests.connect.trace_servers import TempoLike
from tests.processes import rightcall
from tests.waiting import until

EXPECT = "calls: [{search: {q: 0}}]"


def test_traces_of_a_server_are_shown_under_its_address() -> None:
    with served(PhoenixLike(2)) as server:
        done = rightcall("show", f"phoenix://{server.host}/support")

    assert done.returncode == 0, done.stderr
    assert done.stdout.count(f"phoenix://{server.host}/support") == 2
    assert "search(q=1)" in done.stdout


def test_traces_of_a_server_are_scored_like_those_of_a_file(tmp_path: Path) -> None:
    with served(PhoenixLike(2)) as server:
        address = f"phoenix://{server.host}/support"
        pulled = rightcall("pull", address, "-o", "traces.jsonl.gz", cwd=tmp_path)
        there = rightcall("score", address, "--expect", EXPECT, "--format", "json", cwd=tmp_path)
    here = rightcall("score", "traces.jsonl.gz", "--expect", EXPECT, "--format", "json", cwd=tmp_path)

    assert pulled.stdout == f"2 traces from {address} in traces.jsonl.gz\n"
    assert len(gzip.decompress((tmp_path / "traces.jsonl.gz").read_bytes()).splitlines()) == 2
    assert (there.returncode, here.returncode) == (1, 1)
    assert _told(there.stdout) == _told(here.stdout)


def _told(printed: str) -> list[Any]:
    cases = json.loads(printed)["cases"]
    return [(case["verdict"], case["findings"], case["trajectory"]["calls"]) for case in cases]


def test_a_file_is_not_overwritten_and_a_failed_pull_leaves_none(tmp_path: Path) -> None:
    (tmp_path / "mine.jsonl").write_text("precious")
    with served(lambda _: Answer({}, 500, {"retry-after": "0"})) as server:
        address = f"phoenix://{server.host}/support"
        kept = rightcall("pull", address, "-o", "mine.jsonl", cwd=tmp_path)
        failed = rightcall("pull", address, "-o", "new.jsonl", cwd=tmp_path)

    assert (kept.returncode, failed.returncode) == (2, 2)
    assert "--force" in kept.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["mine.jsonl"]


def test_a_pull_of_nothing_says_so_and_leaves_no_file(tmp_path: Path) -> None:
    with served(PhoenixLike(0)) as phoenix, served(TempoLike(0)) as tempo:
        empty = rightcall("pull", f"phoenix://{phoenix.host}/support", "-o", "new.jsonl", cwd=tmp_path)
        searched = rightcall("pull", f"tempo://{tempo.host}", "-o", "new.jsonl", cwd=tmp_path)

    assert (empty.returncode, searched.returncode) == (2, 2)
    assert "no traces match this address\n" in empty.stderr
    assert "of the last 7 days (for more, give since=)" in searched.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_alias_of_the_configuration_names_a_server(tmp_path: Path) -> None:
    with served(PhoenixLike(3)) as server:
        (tmp_path / "rightcall.toml").write_text(f"[sources]\nprod = 'phoenix://{server.host}/support'\n")
        done = rightcall("score", "prod:?limit=1", "--expect", "calls: [search]", cwd=tmp_path)

    assert (done.returncode, done.stdout.splitlines()[-1][:8]) == (0, "1 passed"), done.stderr


def test_verdicts_go_to_where_the_traces_are_and_a_dry_run_sends_none() -> None:
    phoenix = PhoenixLike(2)
    with served(phoenix) as server:
        address = f"phoenix://{server.host}/support"
        dry = rightcall("score", address, "--expect", EXPECT, "--push-dry-run")
        assert phoenix.annotations == {}
        sent = rightcall("score", address, "--expect", EXPECT, "--push")

    assert f"{trace_id(1)} span " in dry.stdout
    assert f"3 verdicts sent to {address}" in sent.stderr
    assert len(phoenix.annotations) == 3


def test_verdicts_stand_where_the_server_does_not_take_them() -> None:
    phoenix = PhoenixLike(1)

    def refusing(asked: Asked) -> Answer:
        return Answer({"detail": "full"}, 507) if asked.method == "POST" else phoenix(asked)

    with served(refusing) as server:
        done = rightcall("score", f"phoenix://{server.host}/support", "--expect", EXPECT, "--push")

    assert done.stdout.splitlines()[-1].startswith("1 passed")
    assert "1 of 1 verdicts not sent" in done.stderr
    assert done.returncode == 2


def test_it_has_to_be_known_where_verdicts_go(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("[]")

    done = rightcall("score", "a.json", "--expect", EXPECT, "--push", cwd=tmp_path)

    assert done.returncode == 2
    assert "--push-to URL" in done.stderr


@pytest.mark.parametrize("address", ["phoenix://user:hunter2@localhost/a", "phoenix://localhost/a?api_key=hunter2"])
def test_a_key_in_an_address_is_refused_and_not_printed(address: str) -> None:
    done = rightcall("score", address, "--expect", EXPECT)

    assert done.returncode == 2
    assert "hunter2" not in done.stdout + done.stderr


def test_a_webhook_hears_of_each_verdict() -> None:
    with served(lambda _: Answer({})) as hook, served(PhoenixLike(2)) as server:
        done = rightcall(
            *("score", f"phoenix://{server.host}/support", "--expect", EXPECT),
            *("--webhook", f"http://{hook.host}/hooks/1"),
        )
        told = hook.asked[0].body

    assert done.returncode == 1
    assert [each["verdict"] for each in told["results"]] == ["passed", "failed"]
    assert told["results"][1]["findings"][0]["code"] == "RC104"


def _until(look: Callable[[], bool]) -> None:
    until(look, 60)


@contextmanager
def _watching(folder: Path, address: str, expect: str = EXPECT) -> Iterator[subprocess.Popen[str]]:
    asked = ["score", address, "--expect", expect, "--watch", "--every", "0.1", "--push"]
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", *asked],
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def test_a_watch_judges_each_trace_once_and_again_when_a_span_comes_late(tmp_path: Path) -> None:
    phoenix = PhoenixLike(1)
    with served(phoenix) as server:
        address = f"phoenix://{server.host}/support"
        with _watching(tmp_path, address) as process:
            _until(lambda: phoenix.labels == ["passed"])
            phoenix.spans[trace_id(0)].append(span(0, "refund"))
            _until(lambda: phoenix.labels == ["failed", "failed"])
            phoenix.spans[trace_id(0)].pop()
            _until(lambda: phoenix.labels == ["passed", "passed"])
            process.send_signal(signal.SIGINT)
            output, _ = process.communicate()
            assert process.returncode == 130
        told = [line[:8] for line in output.splitlines() if line[:1].isdigit()]
        assert told == ["1 passed", "1 failed", "1 passed"]


def test_a_trace_is_open_until_its_root_has_ended(tmp_path: Path) -> None:
    phoenix = PhoenixLike(1)
    root, call = phoenix.spans[trace_id(0)]
    phoenix.spans[trace_id(0)] = [call]
    second = span(0, "reimburse")
    second |= {key: str(int(call["endTimeUnixNano"]) + 5000) for key in ("startTimeUnixNano", "endTimeUnixNano")}
    second["attributes"].append({"key": "gen_ai.tool.call.result", "value": {"stringValue": "done"}})
    rule = "rules: [{call: search, followed_by: reimburse}]"
    with served(phoenix) as server, _watching(tmp_path, f"phoenix://{server.host}/support", rule):
        _until(lambda: len(server.asked) > 12)
        assert phoenix.labels == []
        phoenix.spans[trace_id(0)] += [second, root]
        _until(lambda: phoenix.labels != [])

        assert phoenix.labels == ["passed"]


def test_a_trace_is_followed_though_the_server_lists_it_no_more(tmp_path: Path) -> None:
    phoenix = PhoenixLike(1)
    is_listed = True

    def listing(asked: Asked) -> Answer:
        if asked.path.endswith("/traces") and not is_listed:
            return Answer({"data": [], "next_cursor": None})
        return phoenix(asked)

    with served(listing) as server, _watching(tmp_path, f"phoenix://{server.host}/support"):
        _until(lambda: phoenix.labels == ["passed"])
        is_listed = False
        phoenix.spans[trace_id(0)].append(span(0, "refund"))

        _until(lambda: phoenix.labels == ["failed", "failed"])


def test_two_watches_at_once_leave_each_mark_once(tmp_path: Path) -> None:
    phoenix = PhoenixLike(3)
    with served(phoenix) as server:
        address = f"phoenix://{server.host}/support"
        with _watching(tmp_path, address) as first, _watching(tmp_path, address) as second:
            _until(lambda: len(phoenix.labels) == 5)
            polls = len(server.asked) + 12
            _until(lambda: len(server.asked) > polls)

            assert (first.poll(), second.poll()) == (None, None)
            assert sorted(phoenix.labels) == ["failed"] * 4 + ["passed"]


def test_a_watch_that_is_killed_goes_on_where_it_was(tmp_path: Path) -> None:
    phoenix = PhoenixLike(1)
    with served(phoenix) as server:
        address = f"phoenix://{server.host}/support"
        with _watching(tmp_path, address) as process:
            _until(lambda: phoenix.labels == ["passed"])
            polls = len(server.asked) + 6
            _until(lambda: len(server.asked) > polls)
            process.kill()
            process.communicate()
        sent = [asked for asked in server.asked if asked.method == "POST"]
        phoenix.spans[trace_id(1)] = trace(1)
        with _watching(tmp_path, address):
            _until(lambda: len(phoenix.labels) == 3)

        assert len(sent) == 1
        again = [asked for asked in server.asked if asked.method == "POST"][1:]
        assert trace_id(0) not in json.dumps([asked.body for asked in again])


def test_a_first_eval_set_is_learned_from_what_a_server_has(tmp_path: Path) -> None:
    with served(PhoenixLike(6)) as server:
        made = rightcall("init", "shop", "--from", f"phoenix://{server.host}/support", cwd=tmp_path)
    scored = rightcall("score", "traces", "--evalset", "evals/production.yaml", cwd=tmp_path / "shop")

    assert made.returncode == 0, made.stderr + made.stdout
    assert "6 traces of phoenix://" in made.stdout
    assert scored.stdout.splitlines()[-1].startswith("2 passed"), scored.stdout + scored.stderr
