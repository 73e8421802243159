"""Agents of Google's Agent Development Kit (ADK), run by its own runner."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Mapping
from typing import Any

from rightcall.errors import AgentError, MissingExtraError, shown

from ._agent import AgentAnswer, AgentRequest
from ._python_agents import plain

_USER = "user"


class AdkAgent:
    """An ADK agent; every run of a case has its own session, kept in memory.

    The session has the `app_name`, `user_id` and `state` of the case. An object with none of these keys is the state
    itself. A text is the user's message; an object with `parts` is ADK's content; any other input is sent as JSON. The
    output is the text of the last final response. The events are the answer's messages.
    """

    is_async = True

    def __init__(self, target: Any, name: str, close: Callable[[], None]) -> None:
        self._target, self._name, self._close = target, name, close
        self._runners: dict[str, Any] = {}
        self._sessions: Any = None

    async def answer(self, request: AgentRequest) -> AgentAnswer:
        """Return the agent's last final response."""
        session = _session_of(request.session, self._name)
        runner = self._runner(str(session["app_name"] or getattr(self._target, "name", "agent")))
        session_id = await self._session(runner.app_name, session, request)
        said = self._content(request.input)
        output, messages = None, [_dumped(said)]
        user_id = str(session["user_id"] or _USER)
        async for event in runner.run_async(user_id=user_id, session_id=session_id, new_message=said):
            if event.content is None:
                continue
            messages.append(_dumped(event.content))
            output = _text_of(event.content) if event.is_final_response() else output
        return AgentAnswer(output=output, messages=messages)

    def close(self) -> None:
        """Remove the agent's folder from the search path; sessions end with this object."""
        self._close()

    def _runner(self, app_name: str) -> Any:
        if app_name not in self._runners:
            kit = _kit(self._name)
            self._sessions = self._sessions or kit.InMemorySessionService()
            kind = "app" if type(self._target).__module__.startswith("google.adk.apps") else "agent"
            self._runners[app_name] = kit.Runner(
                app_name=app_name, session_service=self._sessions, **{kind: self._target}
            )
        return self._runners[app_name]

    async def _session(self, app_name: str, session: Mapping[str, Any], request: AgentRequest) -> str:
        """Return the id of this run's session, which is created with the first turn."""
        session_id = request.run or uuid.uuid4().hex
        owner = {"app_name": app_name, "user_id": str(session["user_id"] or _USER), "session_id": session_id}
        if await self._sessions.get_session(**owner) is None:
            await self._sessions.create_session(**owner, state=dict(session["state"] or {}))
        return session_id

    def _content(self, given: Any) -> Any:
        content = _kit(self._name).Content
        try:
            if isinstance(given, Mapping) and "parts" in given:
                return content.model_validate({"role": _USER, **given})
            text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
            return content.model_validate({"role": _USER, "parts": [{"text": text}]})
        except (TypeError, ValueError) as problem:
            raise AgentError(f"{self._name}: the input {shown(given)} cannot be sent to it: {problem}") from None


class _Kit:
    """The classes of ADK that are used here, imported late."""

    def __init__(self) -> None:
        from google.adk.runners import Runner
        from google.adk.sessions import InMemorySessionService
        from google.genai.types import Content

        self.Runner, self.InMemorySessionService, self.Content = Runner, InMemorySessionService, Content


def _kit(name: str) -> _Kit:
    try:
        return _Kit()
    except ImportError:
        raise MissingExtraError(f"{name} needs Google's ADK; to run it: pip install google-adk") from None


def _session_of(session: Any, name: str) -> dict[str, Any]:
    if session is not None and not isinstance(session, Mapping):
        raise AgentError(f"{name}: the session of an ADK agent is an object, not {shown(session)}")
    given = dict(session or {})
    keys = {"app_name": "appName", "user_id": "userId", "state": "state"}
    if given and not any([key in given for pair in keys.items() for key in pair]):
        given = {"state": given}
    found = {key: given.get(key, given.get(camel)) for key, camel in keys.items()}
    if found["state"] is not None and not isinstance(found["state"], Mapping):
        raise AgentError(f"{name}: the state of a session is an object, not {shown(found['state'])}")
    return found


def _dumped(content: Any) -> Any:
    return plain(content.model_dump(mode="json", exclude_none=True))


def _text_of(content: Any) -> str:
    return "".join(part.text for part in content.parts or () if part.text and not part.thought)
