"""The shopping agent of the examples does what its README says."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rightcall import ToolTrajectoryEvaluator, Trajectory
from rightcall.agents import Answer, Request, load_agent
from rightcall.tracing import capture

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


def asked(*questions: Any, named: str = "agent.py:answer") -> tuple[list[str], Trajectory]:
    """What the agent says to questions of one session, and the calls it makes for the last of them."""
    agent = load_agent(named, EXAMPLE)
    session: dict[str, Any] = {}
    said = []
    for turn, question in enumerate(questions):
        with capture() as captured:
            answer = agent.answer(Request(input=question, case_id="case", turn=turn, session=session))
        assert isinstance(answer, Answer)
        said.append(answer.output)
    agent.close()
    return said, captured.trajectory()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("case_id", TABLE)
def test_the_five_situations_give_the_verdicts_of_the_table(case_id: str, form: str) -> None:
    folder = EXAMPLE / "evals" / form
    cases = json.loads((folder / "shop.evalset.json").read_text())["eval_cases"]
    [conversation] = [case["conversation"] for case in cases if case["eval_id"] == case_id]
    criteria = json.loads((folder / "test_config.json").read_text())["criteria"]["tool_trajectory_avg_score"]
    evaluator = ToolTrajectoryEvaluator(config={**criteria, "args_match": "exact"})

    said, path = asked(conversation[0]["user_content"])
    result = evaluator.evaluate(path, {"expected": conversation[0]["intermediate_data"]["tool_uses"]})

    assert result.passed is TABLE[case_id][FORMS.index(form)]
    assert said == [conversation[0]["final_response"]["parts"][0]["text"]]


def test_a_conversation_remembers_what_it_is_about() -> None:
    said, path = asked("Do you have the Phone X?", "Add two to my cart")

    assert said[-1] == "I added 2 Phone X to your cart."
    assert [(call.name, call.args) for call in path.calls] == [
        ("check_inventory", {"product_id": "P003"}),
        ("add_to_cart", {"product_id": "P003", "quantity": 2}),
    ]


def test_the_folder_alone_is_the_agent() -> None:
    said, path = asked({"query": "Compare P001 and P002"}, named=".")

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
    said, path = asked("A phone, please")

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
