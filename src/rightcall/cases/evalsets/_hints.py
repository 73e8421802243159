"""What an editor says of the keys of an eval set, when somebody points at them."""

from __future__ import annotations

from typing import Any

from rightcall.judging import EVALUATORS, SHORTHANDS

KEYS = {
    "agent": "What is run: file.py:function, module:function, a folder of ADK, cmd:program, or http://…",
    "args": "How arguments are compared: subset (the expected ones are there), exact, superset or ignore.",
    "cases": "What the agent is asked, and what is expected of it.",
    "config": "The configuration of this evaluator.",
    "defaults": "How expectations are judged where they do not say otherwise.",
    "evaluators": "Custom evaluators, by ids that `expect` may then use.",
    "each": "With true, `returns` is a list, and each call gets one of its values.",
    "expect": "What should happen: each key is a question, and all of them must be answered well.",
    "expected_behavior": "What the agent should do, in words, for evaluators that read.",
    "id": "What the case is called; every case has an id of its own.",
    "input": "What the agent is given: a text, or anything that its function takes.",
    "match": "How paths are compared: EXACT, IN_ORDER, ANY_ORDER, UNORDERED or SUBSET.",
    "metadata": "Whatever you want to keep beside it; only `overall`, and code of yours, look into it.",
    "mocks": "What tools give back in this case, without being run.",
    "overall": "What is asked of all cases together, by a name for each question.",
    "positional": "The positional arguments that a call must have for this answer.",
    "raises": "The error that the tool raises: a message, or type and message.",
    "returns": "What the tool gives back.",
    "sequence": "What the tool gives back, call after call.",
    "session": "What the agent is to know of its session: for ADK app_name, user_id and state.",
    "tags": "Words to choose cases by: rightcall run --tag smoke",
    "then": "Answers, call after call; each returns or raises.",
    "threshold": "The least score that passes, from 0 to 1; 1 by default.",
    "timeout": "Seconds a case may take.",
    "turns": "A conversation: what the user says turn by turn, and what is expected of each.",
    "type": "The type id of an evaluator, such as tool-call-order.",
    "weight": "How much it counts in the score of a case; 1 by default.",
    "when": "The arguments that a call must have for this answer; matchers are allowed.",
}


def with_hint(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key, with what is said of it."""
    return _with(schema, description=KEYS[key]) if key in KEYS else schema


def with_question(key: str, schema: dict[str, Any]) -> dict[str, Any]:
    """The schema of a key of `expect`, with what its evaluator says of itself.

    Keys that are other tools' names for the same are allowed, but not proposed: editors that know `doNotSuggest` leave
    them out.
    """
    kind = EVALUATORS.get(SHORTHANDS.get(key, key))
    if kind is None:
        return _with(schema, doNotSuggest=True)
    return _with(schema, description=(kind.__doc__ or "").strip().partition("\n")[0])


def _with(schema: dict[str, Any], **more: Any) -> dict[str, Any]:
    # yaml-language-server 1.25 forgets what stands beside a `$ref`, so that moves inside.
    return {"allOf": [schema], **more} if "$ref" in schema else {**schema, **more}
