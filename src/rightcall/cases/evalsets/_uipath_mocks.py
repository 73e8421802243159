"""UiPath's ways to answer for tools, as native mocks."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.errors import shown
from rightcall.values.decoding import Path

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
    for answer in answers:
        if answer.text("type") not in ("return", "raise"):
            raise answer.problem(f"a mock returns or raises, it cannot {shown(answer.text('type'))}", "type")
    if not answers:
        raise behavior.problem("'then' is empty; a mock has an answer", "then")
    written = [_answer(answer) for answer in answers]
    return when | (written[0] if len(written) == 1 else {"then": written})


def _answer(answer: Part) -> dict[str, Any]:
    if answer.text("type") == "raise":
        return {"raises": _error(answer)}
    return {"returns": _plain(answer.any("value"), answer)}


def _when(behavior: Part) -> dict[str, Any]:
    arguments = behavior.object("arguments")
    if arguments is None:
        return {}
    named = arguments.any("kwargs") or {}
    if not isinstance(named, dict):
        raise arguments.problem(f"kwargs: an object is expected, not {shown(named)}", "kwargs")
    written: dict[str, Any] = {}
    if named:
        written["when"] = {key: _matcher(value, arguments) for key, value in named.items()}
    if in_order := arguments.items("args"):
        written["positional"] = [_matcher(value, arguments) for value in in_order]
    return written


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
