"""A conversation of three turns with two calls in it, as instrumentations record it, for tests."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from tests.reading.traces import span

ASKED = ("Where is order 7?", "Then refund it.", "Thanks!")
ANSWERED = ("It was shipped.", "I refunded 20.", "You are welcome.")
CALLED: tuple[tuple[str, dict[str, Any]] | None, ...] = (
    ("lookup_order", {"order_id": 7}),
    ("refund", {"order_id": 7, "amount": 20}),
    None,
)
MADE = [("lookup_order", 0), ("refund", 1)]
"""The calls that were made, and in which turn."""

Message = dict[str, Any]


def says(role: str, text: str) -> Message:
    """A message that is a text."""
    return {"role": role, "content": text}


def asks_for(tool: str, args: dict[str, Any], call_id: str | None = None) -> Message:
    """A message by which the model asks for a call."""
    call = {"type": "function", "function": {"name": tool, "arguments": json.dumps(args)}}
    return {"role": "assistant", "tool_calls": [call if call_id is None else {"id": call_id, **call}]}


def gives(output: str, call_id: str | None = None) -> Message:
    """A message with what a tool gave back."""
    return {"role": "tool", "content": output, **({} if call_id is None else {"tool_call_id": call_id})}


def of_turn(turn: int, ids: bool = True) -> list[Message]:
    """The messages of one turn."""
    call_id = f"c{turn}" if ids else None
    called = CALLED[turn]
    work = [] if called is None else [asks_for(*called, call_id), gives("ok", call_id)]
    return [says("user", ASKED[turn]), *work, says("assistant", ANSWERED[turn])]


def log(turns: int = 3, ids: bool = True) -> list[Message]:
    """The messages of the conversation up to the end of a turn."""
    return [message for turn in range(turns) for message in of_turn(turn, ids)]


def chat(number: int, shown: Sequence[Message], answer: Message | None = None, **more: Any) -> dict[str, Any]:
    """A span of a model: what it was shown, and what it answered."""
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": json.dumps(shown)}
    if answer is not None:
        attributes["gen_ai.output.messages"] = json.dumps([answer])
    return span(number, attributes, **more)


def tool_span(number: int, tool: str, args: dict[str, Any], call_id: str | None = None, **more: Any) -> dict[str, Any]:
    """A span of a tool."""
    attributes = {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": tool,
        "gen_ai.tool.call.arguments": json.dumps(args),
        "gen_ai.tool.call.result": "ok",
    }
    return span(number, attributes if call_id is None else {**attributes, "gen_ai.tool.call.id": call_id}, **more)


def agent_span(number: int, name: str = "support", lasts: int = 9, **more: Any) -> dict[str, Any]:
    """A span of an agent that runs for some microseconds."""
    attributes = {"gen_ai.operation.name": "invoke_agent", **({"gen_ai.agent.name": name} if name else {})}
    return span(number, attributes, **{"endTimeUnixNano": str((number + lasts) * 1000), **more})


def spans_of_turn(
    turn: int,
    *,
    tools: bool = True,
    ids: bool = True,
    outputs: bool = True,
    agent: str | None = "support",
    parent: int | None = None,
    **more: Any,
) -> list[dict[str, Any]]:
    """The spans of one turn: an agent's, its model's, and those of tools; models are shown the whole conversation."""
    first = 10 * (turn + 1)
    above = parent if agent is None else first
    around = [] if agent is None else [agent_span(first, agent, parent=parent, **more)]
    call_id = f"c{turn}" if ids else None
    said, called = [*log(turn, ids), says("user", ASKED[turn])], CALLED[turn]
    made = []
    if called is not None:
        asking = asks_for(*called, call_id)
        made.append(chat(first + 1, said, asking if outputs else None, parent=above, **more))
        made += [tool_span(first + 2, *called, call_id, parent=above, **more)] if tools else []
        said = [*said, asking, gives("ok", call_id)]
    made.append(chat(first + 3, said, says("assistant", ANSWERED[turn]), parent=above, **more))
    return [*around, *made]


def spans_that_waited() -> list[dict[str, Any]]:
    """The spans of a run that waited for a person to allow its second call, and went on in a trace of its own."""
    asked, looking = says("user", "Refund order 7."), asks_for("lookup_order", {"order_id": 7}, "c0")
    asking, found = asks_for("refund", {"order_id": 7, "amount": 20}, "c1"), gives("ok", "c0")
    first = [
        agent_span(10),
        chat(11, [asked], looking, parent=10),
        tool_span(12, "lookup_order", {"order_id": 7}, "c0", parent=10),
        chat(13, [asked, looking, found], asking, parent=10),
    ]
    shown = [asked, looking, found, asking, gives("ok", "c1")]
    rest = [
        agent_span(20),
        tool_span(21, "refund", {"order_id": 7, "amount": 20}, "c1", parent=20),
        chat(22, shown, says("assistant", "I refunded 20."), parent=20),
    ]
    for trace, spans in (("1" * 32, first), ("2" * 32, rest)):
        for each in spans:
            each["traceId"] = trace
            each["attributes"].append({"key": "gen_ai.conversation.id", "value": {"stringValue": "c"}})
    return [*first, *rest]
