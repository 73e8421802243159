"""The shopping agent of the examples does what its README says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from rightcall import Case, Trajectory, judge, load_eval_set
from rightcall.running.agents import AgentAnswer, AgentRequest, load_agent
from rightcall.running.mocking import Mocks, use_mocks
from rightcall.running.tracing import capture

EXAMPLE = Path(__file__).parents[2] / "examples" / "shopping_agent"
FORMS = ("exact", "in_order", "any_order")
TABLE = {
    "as_expected": (True, True, True),
    "one_call_more": (False, True, True),
    "wrong_order": (False, False, True),
    "call_missing": (False, False, False),
    "wrong_argument": (False, False, False),
}
"""What EXACT, IN_ORDER and ANY_ORDER say of each case."""


def asked(*questions: Any, named: str = "agent.py:answer", session: Any = None) -> tuple[list[str], list[Trajectory]]:
    """What the agent says to questions of one session, and the calls it makes for each of them."""
    agent = load_agent(named, EXAMPLE)
    shared = {} if session is None else session
    said, paths = [], []
    for turn, question in enumerate(questions):
        with capture() as captured:
            answer = agent.answer(AgentRequest(input=question, case_id="case", turn=turn, session=shared))
        assert isinstance(answer, AgentAnswer)
        said.append(answer.output)
        paths.append(captured.trajectory())
    agent.close()
    return said, paths


def judged(case: Case) -> dict[str, bool]:
    """Which expectations of a case the agent meets."""
    with use_mocks(Mocks.of(case.mocks)):
        [said], [path] = asked(case.input, session=case.session)
    result = judge(case, structs.replace(path, output=said))
    return {one.evaluator: one.passed for one in result.results}


@pytest.mark.parametrize("form", FORMS)
def test_the_five_situations_give_the_verdicts_of_the_table_in_adks_files(form: str) -> None:
    eval_set = load_eval_set(EXAMPLE / "evals" / form / "shop.evalset.json")

    assert {case.id: list(judged(case).values()) for case in eval_set.cases} == {
        case_id: [passes[FORMS.index(form)]] for case_id, passes in TABLE.items()
    }


def test_the_five_situations_give_the_verdicts_of_the_table_in_the_native_file() -> None:
    eval_set = load_eval_set(EXAMPLE / "evals" / "shop.yaml")

    verdicts = {case.id: judged(case) for case in eval_set.cases}

    assert verdicts.pop("as_expected") == dict.fromkeys((*FORMS, "output"), True)
    assert {case_id: tuple(found[form] for form in FORMS) for case_id, found in verdicts.items()} == {
        case_id: passes for case_id, passes in TABLE.items() if case_id != "as_expected"
    }


@pytest.mark.parametrize("case_id", ["a_laptop", "sold_out_meanwhile", "comparison"])
def test_what_the_assistant_should_do_it_does(case_id: str) -> None:
    [case] = [case for case in load_eval_set(EXAMPLE / "evals" / "conversations.yaml").cases if case.id == case_id]

    assert set(judged(case).values()) == {True}


def test_a_conversation_remembers_what_it_is_about() -> None:
    said, [_, path] = asked("Do you have the Phone X?", "Add two to my cart")

    assert said[-1] == "I added 2 Phone X to your cart."
    assert [(call.name, call.args) for call in path.calls] == [
        ("check_inventory", {"product_id": "P003"}),
        ("add_to_cart", {"product_id": "P003", "quantity": 2}),
    ]


def test_the_folder_alone_is_the_agent() -> None:
    said, [path] = asked({"query": "Compare P001 and P002"}, named=".")

    assert said[0].endswith("sold out.")
    assert path.names == ("get_product_details",) * 2 + ("check_inventory",) * 2


class Model(BaseHTTPRequestHandler):
    """A model that searches, and then says what it was told."""

    seen: list[dict[str, Any]] = []

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.seen.append({"path": self.path, "key": self.headers["authorization"], **asked})
        last = asked["messages"][-1]
        function = {"name": "search_products", "arguments": '{"query": "phone"}'}
        message: dict[str, Any] = {"role": "assistant", "content": last["content"]}
        if last["role"] == "user":
            call = {"id": "1", "type": "function", "function": function}
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
        body = json.dumps({"choices": [{"message": message}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[dict[str, Any]]]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    monkeypatch.setenv("SHOPPING_AGENT_BASE_URL", f"http://127.0.0.1:{server.server_address[1]}/v1/")
    monkeypatch.setenv("SHOPPING_AGENT_MODEL", "small")
    monkeypatch.setenv("SHOPPING_AGENT_API_KEY", "5")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    Model.seen.clear()
    yield Model.seen
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_model_leads_the_agent_when_one_is_configured(model: list[dict[str, Any]]) -> None:
    said, [path] = asked("A phone, please")

    assert [(call.name, call.args) for call in path.calls] == [("search_products", {"query": "phone"})]
    assert json.loads(said[0])["count"] == 1
    assert [(one["path"], one["model"], one["key"]) for one in model] == [
        ("/v1/chat/completions", "small", "Bearer 5")
    ] * 2
    described = {one["function"]["name"]: one["function"] for one in model[0]["tools"]}
    assert described["add_to_cart"]["parameters"] == {
        "type": "object",
        "properties": {"product_id": {"type": "string"}, "quantity": {"type": "integer"}},
        "required": ["product_id"],
    }
