"""Recognise results which say that a call was refused, or that a person edited it, and why."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rightcall._lazy import lazy_pattern
from rightcall.reading.conventions import ASKED_FOR, REFUSED, REFUSED_BY_USER
from rightcall.reading.spans import NOTHING, CallRecord, outcome

from ._agent_parts import UNFINISHED
from ._log import listed, plain, word

# Claude Code: the note beside a result, and the text of the result.
_REFUSED = "User rejected tool use"
_REJECTED = "The user doesn't want to proceed with this tool use. The tool use was rejected"
_CANCELLED = "[Operation Cancelled] Reason: User "
_DENIALS = (f"{_CANCELLED}did not allow tool call", f"{_CANCELLED}denied execution", "User declined")
"""Prefixes of Qwen Code's and Gemini CLI's texts of refusals. Calls cancelled while they ran have other texts."""
_BY_AGNO = lazy_pattern(
    r"(?:Function call was rejected by the user|Tool call was rejected)\Z"
    r"|Tool call limit reached\. Tool call \S{1,200} not executed\."
)
_IGNORED = lazy_pattern(r"Multiple handoffs detected, ignoring this one\.\Z")
"""OpenAI Agents: the result of each hand-off of one answer but the first."""
NOT_THE_FIRST = "another hand-off was made instead"
_BY_STRANDS = lazy_pattern(
    r"tool cancelled by user\Z|Manual approval denied: |CONFIRMATION_FAILED: "
    r"|Tool call cancelled\. .{0,2000} You MUST follow this guidance immediately\.\Z",
    re.S,
)
_BY_CREWAI = lazy_pattern(
    r"Tool '[^']{1,200}' has reached its (?:maximum usage limit|usage limit of \d{1,9} times) and cannot be used "
    r"anymore\.\Z"
)
_BY_HOOK = "Encountered error in step execution: denied by pre-tool hook: "
"""The beginning of what Google's Antigravity tells the model of a call that a hook or a policy denied."""
_BEGINNINGS = {
    "Anthropic": lazy_pattern(
        "Claude requested permissions to |Permission to use .{1,2000} has been denied"
        r"|PreToolUse:\S{1,200} hook error: \[|Hook PreToolUse:\S{1,200} denied this tool",
        re.S,
    ),
    "LangChain": lazy_pattern("User rejected the tool call for `|Tool call limit exceeded\\. Do not "),
    # Some versions of OpenCode write the error as JavaScript prints it.
    "OpenCode": lazy_pattern(
        "(?:Error: )?(?:The user rejected permission |The user has specified a rule which prevents you from )"
    ),
    "OpenAI chat": _BY_AGNO,
    "Bedrock Converse": _BY_STRANDS,
}
"""Prefixes of errors that are refusals, by format: Claude Code and its hooks, LangChain's middleware that asks a person
and the one that limits calls, and others."""
_SENTENCES = {
    "OpenAI Responses": ("Tool execution was not approved.",),  # OpenAI Agents
    "Goose": (
        "The user has declined to run this tool. DO NOT attempt to call this tool again. If there are no alternative "
        "methods to proceed, clearly explain the situation and STOP.",
    ),
    "Agent Framework": ("Error: Tool call invocation was rejected by user.",),
}
"""Complete texts of results that are refusals, by format, where only the text shows it."""
_DENIED_IN_CLINE = lazy_pattern("The user denied this operation(?:\\.\\Z| and )")
"""Cline and Roo Code: the beginning of a refusal, which goes on with what the user said instead."""
_IN_TRACES = (
    (lazy_pattern(r"Error: Tool call invocation was rejected by user\.\Z"), REFUSED_BY_USER),  # Agent Framework
    (_BY_AGNO, REFUSED),
    (_BEGINNINGS["LangChain"], REFUSED),
    (lazy_pattern(r"Tool execution was not approved\.\Z"), REFUSED_BY_USER),  # OpenAI Agents
    (lazy_pattern(r"The tool call was denied\.\Z"), REFUSED),  # Pydantic AI
    (_BY_STRANDS, REFUSED_BY_USER),
    (_BY_CREWAI, REFUSED),
    (_IGNORED, NOT_THE_FIRST),
)
"""Default texts of frameworks for the result of a refused call, and the reason that each stands for.

Messages in spans have the format of the instrumentation, which does not mark refusals. A text counts whatever the
instrumentation scope is: exports of servers have no scope, and without it a refused call must not become a made one.
"""
_FINAL = "Final result processed."
_SKIPPED = "Tool not executed - a final result was already processed."
"""Results in Pydantic AI of its output tool, and of tools that the model requested together with it."""
_NOT_RUN = {"generating": UNFINISHED, "generated": ASKED_FOR, "canceled": REFUSED_BY_USER}
"""States of calls that were not run, in sessions of Continue, which keeps them beside the message."""
UNCONFIRMED = (
    "This tool call requires confirmation, please approve or reject.",
    "This tool call is rejected.",
)
"""Results in ADK of calls that wait for confirmation. Such a text alone does not mark a call as withheld."""

_EDITED = "Note: a human reviewer replaced this tool call before it ran."
"""Prefix of the result of a call that a person edited; it is the default text of LangChain's middleware."""
_EXECUTED = lazy_pattern(r" Executed instead: (?P<tool>\S{1,200}) with arguments (?=\{)")
_RESPONSE = ".\n\nTool response:"
_LONGEST_NOTE = 2_000
_decode = json.JSONDecoder().raw_decode


def refusal_of(message: Mapping[str, Any], result: CallRecord) -> str:
    """Return the reason if a result is a refusal: by the user, or by an approval that a rule may have decided."""
    error = result.error or ""
    if message.get("toolUseResult") == _REFUSED or error.startswith(_REJECTED):
        return REFUSED_BY_USER
    if result.output in _SENTENCES.get(result.format, ()):
        return REFUSED_BY_USER
    if isinstance(result.output, str) and _BY_CREWAI.match(result.output):  # CrewAI asks every model in its format
        return REFUSED
    if result.output.__class__ is str and _IGNORED.match(result.output):
        return NOT_THE_FIRST
    if result.format == "Anthropic" and _DENIED_IN_CLINE.match(_denial(result.output)):
        return REFUSED_BY_USER
    if result.format == "Gemini" and word(plain(result.output).get("output")).startswith(_BY_HOOK):
        return REFUSED
    begins = _BEGINNINGS.get(result.format)
    if begins is not None and begins.match(error):
        return REFUSED
    # Inspect's errors have a type, which is `approval` if an approver rejected the call.
    kind = message.get("error")
    if isinstance(kind, dict) and kind.get("type") == "approval":
        return REFUSED
    # Qwen Code marks the call as cancelled beside the result, and says in it that the user did not allow the call.
    # Gemini CLI says so in the result alone, in the history that it sends to the model.
    beside = message.get("toolCallResult")
    is_marked = result.format == "Gemini" if beside is None else plain(beside).get("status") == "cancelled"
    return REFUSED_BY_USER if is_marked and error.startswith(_DENIALS) else ""


def _denial(output: Any) -> str:
    """Return the text of a result that may be a denial; of one that Roo Code wrote as an object, its message."""
    told = plain(output)
    return word(told.get("message")) if told.get("status") == "denied" else word(output)


def refusals_in(results: Sequence[CallRecord]) -> list[tuple[CallRecord, str]]:
    """Return the results in messages of spans that are refusals, each with the reason."""
    told = [(each, each.error if each.failed else each.output) for each in results]
    texts = [(each, text) for each, text in told if isinstance(text, str)]
    return [(each, reason) for each, text in texts for pattern, reason in _IN_TRACES if pattern.match(text)]


def take_edit(record: CallRecord) -> None:
    """Replace a call that a person edited by the call that was made, if the result has a note of it.

    The call of the model was not made. Name, arguments and output of the edited call are read from the note; what
    cannot be read there counts as not recorded.
    """
    given = record.error if record.failed else record.output
    note, *more = given if isinstance(given, list) and given else (given,)
    if not isinstance(note, str) or not note.startswith(_EDITED):
        return
    said = _EXECUTED.search(note[:_LONGEST_NOTE])
    args, rest = _executed(note, said.end()) if said else (NOTHING, "")
    record.name = said["tool"] if said else record.name
    record.args, record.output, record.error = args, NOTHING, None
    if rest.startswith(_RESPONSE) or rest == ".":
        text = rest[len(_RESPONSE) :].removeprefix("\n")
        record.output = outcome(text) if not more else more[0] if len(more) == 1 else more
        record.error = text if record.failed and text else None


def _executed(note: str, place: int) -> tuple[Any, str]:
    """Return the arguments at a place of a note, and what follows them."""
    try:
        args, end = _decode(note, place)
    except (ValueError, RecursionError):
        return NOTHING, ""
    return args, note[end:]


def unconfirmed(message: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the calls, by id, that an event of ADK asks the user to confirm."""
    actions = message.get("actions")
    if not isinstance(actions, dict):
        return {}
    value = actions.get("requested_tool_confirmations") or actions.get("requestedToolConfirmations")
    return value if isinstance(value, dict) else {}


def withhold(message: Mapping[str, Any], calls: Sequence[CallRecord], results: Sequence[CallRecord]) -> None:
    """Mark the calls and results of a message that say that a call was not made, with the reason."""
    states = _states(message) if calls and "toolCallStates" in message else {}
    for call in calls:
        call.withheld = call.withheld or (_NOT_RUN.get(states.get(call.call_id or "", ""), "") if states else "")
        if call.failed:
            call.withheld = refusal_of(message, call) or call.withheld
    if not results:
        return
    waiting = unconfirmed(message)
    # The final result ends a run of Pydantic AI: tools requested together with it are skipped.
    is_over = len(results) > 1 and any([result.output == _FINAL for result in results])
    for result in results:
        if reason := refusal_of(message, result):
            result.withheld = reason
        elif result.call_id in waiting:
            result.withheld = ASKED_FOR
        elif is_over and result.output == _SKIPPED:
            result.withheld = "a final result was already given"


def _states(message: Mapping[str, Any]) -> Mapping[str, str]:
    """Return the states of the calls of a message, by id (Continue)."""
    held = listed(message["toolCallStates"])
    states = [(plain(each).get("toolCallId"), plain(each).get("status")) for each in held]
    return {call_id: status for call_id, status in states if isinstance(call_id, str) and isinstance(status, str)}
