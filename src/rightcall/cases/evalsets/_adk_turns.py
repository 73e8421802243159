"""ADK's invocations: what the user says in a turn, and what is expected of the agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from rightcall.errors import shown
from rightcall.values.decoding import Path

from ._foreign import Part
from ._pages import Draft, Page

_KNOWN_OF_TURN = ("invocation_id", "creation_timestamp", "rubrics", "app_details", "duration")
_KNOWN_OF_CALL = ("id", "partial_args", "will_continue")


class Expecting(Protocol):
    """A metric, as far as a turn must know it."""

    @property
    def name(self) -> str:
        """Its name."""

    @property
    def is_of_calls(self) -> bool:
        """Whether it judges calls, and not the answer."""


class AdkTurn(msgspec.Struct, frozen=True):
    """One turn: the input, the expected calls and answer with their places, and whatever else was written."""

    input: Any
    calls: list[dict[str, Any]]
    call_places: list[Path]
    response: str
    page: Page
    path: Path
    calls_key: str
    response_key: str
    rest: dict[str, Any]

    def trace(self, draft: Draft, place: Path, metrics: Sequence[Expecting]) -> None:
        """Tell a draft where the parts of the turn are written."""
        draft.trace(place, self.page, self.path)
        for metric in metrics:
            key = self.calls_key if metric.is_of_calls else self.response_key
            draft.trace((*place, "expect", metric.name), self.page, (*self.path, key))
            for number, origin in enumerate(self.call_places if metric.is_of_calls else []):
                draft.trace((*place, "expect", metric.name, number), self.page, origin)


def turn_of(part: Part) -> AdkTurn:
    """An invocation of an eval set. Raises `DocumentError`."""
    user = part.object("user_content")
    if user is None:
        part.rest((*_KNOWN_OF_TURN, "final_response", "intermediate_data"))
        raise part.problem("'user_content' is missing")
    response, data = part.object("final_response"), part.object("intermediate_data")
    rest = part.rest(_KNOWN_OF_TURN)
    given = _plain_text(user, "user")
    calls = _calls(data) if data is not None else []
    if response is not None and _plain_text(response, "model") is None:
        rest["final_response"] = response.value
    if data is not None and (left := _left_over(data)):
        rest["intermediate_data"] = left
    return AdkTurn(
        input=user.value if given is None else given,
        calls=[call for call, _ in calls],
        call_places=[place for _, place in calls],
        response="" if response is None else _joined_text(response),
        page=part.page,
        path=part.path,
        calls_key="intermediate_data",
        response_key="final_response",
        rest=rest,
    )


def old_turn(part: Part) -> AdkTurn:
    """A turn of one of the older lists. Raises `DocumentError`."""
    calls = [(_old_call(call), call.path) for call in part.objects("expected_tool_use")]
    response = part.text("reference", "")
    given = part.text("query")
    rest = part.rest(("expected_intermediate_agent_responses",))
    if any(call.value.keys() - {"tool_name", "tool_input"} for call in part.objects("expected_tool_use")):
        rest["expected_tool_use"] = part.any("expected_tool_use")
    return AdkTurn(
        input=given,
        calls=[call for call, _ in calls],
        call_places=[place for _, place in calls],
        response=response,
        page=part.page,
        path=part.path,
        calls_key="expected_tool_use",
        response_key="reference",
        rest=rest,
    )


def _old_call(part: Part) -> dict[str, Any]:
    args = part.any("tool_input")
    if args is not None and not isinstance(args, dict):
        raise part.problem(f"arguments are an object, not {shown(args)}", "tool_input")
    call = {part.text("tool_name"): args or {}}
    part.rest(("mock_tool_output",))
    return call


def _calls(data: Part) -> list[tuple[dict[str, Any], Path]]:
    """The expected calls: under `tool_uses`, or the function calls among the events."""
    if data.has("tool_uses") or not data.has("invocation_events"):
        return [(_call(call), call.path) for call in data.objects("tool_uses")]
    found = []
    for event in data.objects("invocation_events"):
        content = event.object("content")
        for part in content.objects("parts") if content is not None else []:
            call = part.object("function_call")
            if call is not None:
                found.append((_call(call), call.path))
    return found


def _call(part: Part) -> dict[str, Any]:
    args = part.any("args")
    if args is not None and not isinstance(args, dict):
        raise part.problem(f"arguments are an object, not {shown(args)}", "args")
    call = {part.text("name"): args or {}}
    part.rest(_KNOWN_OF_CALL)
    return call


def _left_over(data: Part) -> dict[str, Any]:
    """What of the intermediate data is more than the names and arguments of calls."""
    uses = data.any("tool_uses") or []
    plain = all(use.keys() <= {"name", "args"} for use in uses)
    known = ("tool_responses", "intermediate_responses")
    rest = {key: value for key, value in data.rest(known).items() if value != []}
    rest |= {} if plain else {"tool_uses": uses}
    return rest | ({"invocation_events": data.any("invocation_events")} if data.has("invocation_events") else {})


def _joined_text(content: Part) -> str:
    """The texts of a content, one below the other."""
    texts = [part.any("text") for part in content.objects("parts")]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _plain_text(content: Part, role: str) -> str | None:
    """The text of a content that is nothing but one text; none where there is more to it."""
    parts = content.any("parts")
    alone = isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict)
    if not alone or not content.value.keys() <= {"parts", "role"} or content.value.get("role", role) != role:
        return None
    text = parts[0].get("text")
    return text if isinstance(text, str) and parts[0].keys() == {"text"} else None
