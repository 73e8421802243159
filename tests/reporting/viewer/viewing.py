"""Runs to look at, and a browser without a screen: one request in, one answer out."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from msgspec.structs import replace

from rightcall import CaseResult, ToolCall, Trajectory, load_eval_set
from rightcall.cases.verdicts import judge
from rightcall.reporting.store import RunFolder, create_run
from rightcall.reporting.viewer import EditSession, Hosts, Library, Token, make_app
from rightcall.values.results import Aggregates, Outcome, Tally, measures_of

PORT = 8732
EVALSET = """
cases:
  - id: laptop_search
    expect:
      calls:
        - search: {query: laptop}
        - reserve: {item: P001}
  - id: gift_card
    expect: {calls: [search]}
"""


def call(name: str, begin: int = 0, took: int = 5, error: str | None = None, **args: Any) -> ToolCall:
    """A recorded call, with times in milliseconds."""
    output = None if error is not None else {"ok": True}
    return ToolCall(name, args, output, error, start_ns=begin * 1_000_000, end_ns=(begin + took) * 1_000_000)


RIGHT = (call("search", 0, 5, query="laptop"), call("reserve", 10, 20, item="P001"))
WRONG = (call("search", 0, 5, query="laptop"), call("reserve", 10, 20, item="P010"))
SEARCH = (call("search", 0, 7, query="card"),)


def results_of(folder: Path, **calls: Iterable[ToolCall]) -> list[CaseResult]:
    """The results of cases by their ids, given what the agent called for each."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "shop.yaml"
    path.write_text(EVALSET)
    cases = {case.id: case for case in load_eval_set(path).cases}
    made = [judge(cases[case_id], Trajectory(calls=tuple(each), output="ok")) for case_id, each in calls.items()]
    return [replace(each, outcome=Outcome(seconds=0.25)) for each in made]


def new_run(runs: Path, *results: CaseResult, is_complete: bool = True, **known: Any) -> RunFolder:
    """A run with these results; one that is not complete looks as if it had been killed."""
    fields = {"agent": "agent.py:answer", "evalset": "shop.yaml", "evalset_hash": "0", "branch": "main", **known}
    run = create_run(runs, **fields)
    append(run, *results)
    if not is_complete:
        return run
    tally, aggregates = Tally(run.needed), Aggregates()
    for each in results:
        tally.count(each.case_id, each.verdict, each.repeat)
        aggregates.add(measures_of(each.results))
    return run.finish(tally.totals(), aggregates.by_evaluator(), 1.5, is_complete=True, rate=tally.rate())


def append(run: RunFolder, *results: CaseResult) -> None:
    """Write results into a journal, as the process that runs them would."""
    journal = run.journal()
    for each in results:
        journal.append(each, "digest")
    journal.close()


def unsealed(run: RunFolder) -> RunFolder:
    """The run as versions wrote it that knew no seal of the journal."""
    header = json.loads((run.folder / "run.json").read_text())
    del header["journal"]
    (run.folder / "run.json").write_text(json.dumps(header))
    return run


class Answer:
    """What came back."""

    def __init__(self, messages: list[dict[str, Any]]) -> None:
        self.status: int = messages[0]["status"]
        self.headers = {key.decode().lower(): value.decode() for key, value in messages[0]["headers"]}
        self.text = b"".join([message.get("body", b"") for message in messages[1:]]).decode()


class Browser:
    """Asks a viewer of some runs, as a browser on this machine would unless told otherwise."""

    def __init__(
        self, runs: Path, token: Token | None = None, *, redacts: bool = True, session: EditSession | None = None
    ) -> None:
        self.library = Library(runs, redacts=redacts)
        self.app = make_app(self.library, Hosts("127.0.0.1", PORT), token, session)

    def get(self, address: str, **headers: str) -> Answer:
        return self.ask("GET", address, headers)

    def ask(self, method: str, address: str, headers: Mapping[str, str], body: bytes = b"") -> Answer:
        path, _, query = address.partition("?")
        given = {"host": f"127.0.0.1:{PORT}", **{key.replace("_", "-"): value for key, value in headers.items()}}
        scope = {
            "type": "http",
            "method": method,
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(key.encode(), value.encode()) for key, value in given.items()],
        }
        return Answer(asyncio.run(self._asked(scope, body)))

    async def _asked(self, scope: dict[str, Any], body: bytes) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Any) -> None:
            messages.append(message)

        await self.app(scope, receive, send)
        return messages
