"""ATIF, the Agent Trajectory Interchange Format of Harbor (Terminal-Bench): steps of a user, a system and an agent."""

from __future__ import annotations

from typing import Any

from ._log import Log, listed, plain, word

_ROLES = {"user": "user", "agent": "assistant", "system": "system"}


def is_atif(document: Any) -> bool:
    """Whether a document is a trajectory of ATIF."""
    return (
        isinstance(document, dict)
        and word(document.get("schema_version")).startswith("ATIF")
        and isinstance(document.get("steps"), list)
    )


def atif_logs(document: dict[str, Any]) -> list[Log]:
    """Return the log of a trajectory."""
    inner = [each for each in listed(document.get("subagent_trajectories")) if is_atif(each)]
    log = Log(
        [message for step in document["steps"] for message in _of_step(step)],
        id=word(document.get("trajectory_id")) or word(document.get("session_id")) or None,
        about=document,
        nested="beside the steps there are conversations in `subagent_trajectories`" if inner else "",
    )
    return [log]


def _of_step(step: Any) -> list[Any]:
    role = _ROLES.get(word(step.get("source"))) if isinstance(step, dict) else None
    if role is None:
        return [step]
    if step.get("is_copied_context") is True:
        return []  # it happened in the trajectory that this one goes on from
    message: dict[str, Any] = {"role": role, "content": step.get("message")}
    if step.get("tool_calls"):
        message["tool_calls"] = step["tool_calls"]
    results = listed(plain(step.get("observation")).get("results"))
    calls = listed(step.get("tool_calls"))
    if len(calls) == len(results) == 1 and _is_told(results[0]):
        # The only result of the only call need not name it (Harbor, RFC 0001, "ObservationResult").
        results = [{**results[0], "source_call_id": plain(calls[0]).get("tool_call_id")}]
    # A result of no call is something that the environment told the agent.
    return [message, *[result for result in results if not _is_told(result)]]


def _is_told(result: Any) -> bool:
    return isinstance(result, dict) and result.get("source_call_id") is None
