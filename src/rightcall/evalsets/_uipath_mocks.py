"""UiPath's ways to answer for tools, as native mocks."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.decoding import Path
from rightcall.errors import shown

from ._foreign import Part
from ._pages import Draft

_TARGET = "_target_"
_ANYTHING = ("mockito.any", "mockito.any_", "mockito.matchers.any", "mockito.matchers.any_", "mockito.ANY")


class Mocks(msgspec.Struct, frozen=True):
    """Mocks in the native grammar, and what was asked for that is not available."""

    written: dict[str, Any]
    unavailable: tuple[str, ...] = ()


def translate_mocks(case: Part, place: Path, draft: Draft) -> Mocks:
    """The mocks of a case.

    A tool that a language model should stand in for is never run: it raises an error that says so.

    Raises:
        DocumentError: a mock is wrong, or has no counterpart.
    """
    unavailable = ("input-mocking",) if case.has("input_mocking_strategy") else ()
    strategy = case.object("mocking_strategy")
    if strategy is None:
        return Mocks({}, unavailable)
    kind = strategy.text("type")
    if kind == "mockito":
        return Mocks(_rules(strategy, place, draft), unavailable)
    if kind != "llm":
        raise strategy.problem(f"the mocking strategies known are 'mockito' and 'llm', not {shown(kind)}", "type")
    refusal = {"type": "NotImplementedError", "message": "simulating a tool by a language model is not yet available"}
    simulated = {tool.text("name"): {"raises": refusal} for tool in strategy.objects("tools_to_simulate")}
    return Mocks(simulated, ("llm-mocking", *unavailable))


def _rules(strategy: Part, place: Path, draft: Draft) -> dict[str, Any]:
    key = "config" if strategy.has("config") else "behaviors"
    rules: dict[str, list[tuple[dict[str, Any], Part]]] = {}
    for behavior in strategy.objects(key, required=True):
        # Of several behaviours that fit a call, mockito takes the last one; native rules are taken from the first on.
        rules.setdefault(behavior.text("function"), []).insert(0, (_rule(behavior), behavior))
        behavior.rest()
    for tool, written in rules.items():
        for number, (_, behavior) in enumerate(written):
            draft.trace((*place, "mocks", tool, number), behavior.page, behavior.path)
    return {tool: [rule for rule, _ in written] for tool, written in rules.items()}


def _rule(behavior: Part) -> dict[str, Any]:
    when = _when(behavior)
    answers = behavior.objects("then", required=True)
    kinds = {answer.text("type") for answer in answers}
    for answer in answers:
        if answer.text("type") not in ("return", "raise"):
            raise answer.problem(f"a mock returns or raises, it cannot {shown(answer.text('type'))}", "type")
    if not answers:
        raise behavior.problem("'then' is empty; a mock has an answer", "then")
    if kinds == {"return"}:
        values = [_plain(answer.any("value"), answer) for answer in answers]
        return when | ({"returns": values[0]} if len(values) == 1 else {"sequence": values})
    if len(answers) == 1:
        return when | {"raises": _error(answers[0])}
    raise behavior.problem("a mock that raises has one answer here; returns in sequence are plain values", "then")


def _when(behavior: Part) -> dict[str, Any]:
    arguments = behavior.object("arguments")
    if arguments is None:
        return {}
    if arguments.items("args"):
        reason = "a mock knows the arguments of a call by their names; write them under 'kwargs'"
        raise arguments.problem(reason, "args")
    named = arguments.object("kwargs")
    if named is None or not named.value:
        return {}
    return {"when": {key: _matcher(value, named) for key, value in named.value.items()}}


def _matcher(value: Any, part: Part) -> Any:
    if isinstance(value, dict) and value.get(_TARGET) in _ANYTHING:
        return {"$any": True}
    return _plain(value, part)


def _plain(value: Any, part: Part) -> Any:
    """A value without anything in it that names code to be run."""
    if isinstance(value, dict):
        if _TARGET in value:
            named = shown(value[_TARGET])
            raise part.problem(f"{_TARGET!r} names code to be run, {named}; a mock has plain values only")
        return {key: _plain(item, part) for key, item in value.items()}
    return [_plain(item, part) for item in value] if isinstance(value, list) else value


def _error(answer: Part) -> dict[str, Any]:
    value = answer.any("value")
    if isinstance(value, str):
        return {"type": "Exception", "message": value}
    if not isinstance(value, dict) or not isinstance(value.get(_TARGET), str):
        raise answer.problem(f"an exception is named by {_TARGET!r}, not {shown(value)}", "value")
    message = next((str(value[key]) for key in ("message", "msg") if key in value), "")
    name = value[_TARGET].removeprefix("builtins.")
    return {"type": name, "message": message} if message else {"type": name}
