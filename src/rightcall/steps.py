"""Functions that make the steps of an expectation, for tests: `any_order("seats", "price")`.

They return plain objects, as in a file, so `print` shows what to write there. A step is the name of a tool,
`{name: arguments}`, what one of these functions returns, or a list of steps in order.
"""

from __future__ import annotations

from typing import Any


def call(name: str, /, **parts: Any) -> dict[str, Any]:
    """Return a call by its parts: `call("pay", args={"amount": 5}, status="ok")`.

    The parts are `args`, `output`, `status` (`ok` or `error`), `agent`, `turn` and, in rules, `nth`.
    """
    return {"name": name, **parts}


def any_order(*steps: Any) -> dict[str, Any]:
    """Return steps that may come in any order. A list among them is a branch, interleaved with the rest."""
    return {"any_order": list(steps)}


def at_once(*calls: Any) -> dict[str, Any]:
    """Return calls that the model requests in one message, or that run at the same time."""
    return {"at_once": list(calls)}


def optional(*steps: Any) -> dict[str, Any]:
    """Return steps in order that may be left out together."""
    return {"optional": _one_or_all(steps)}


def one_of(*steps: Any) -> dict[str, Any]:
    """Return alternatives, of which exactly one is taken. A list among them is a sequence of steps."""
    return {"one_of": list(steps)}


def repeat(*steps: Any, at_least: int | None = None, at_most: int | None = None) -> dict[str, Any]:
    """Return steps in order that may be repeated: at least once or `at_least` times, and at most `at_most` times."""
    bounds = {"at_least": at_least, "at_most": at_most}
    given = {name: number for name, number in bounds.items() if number is not None}
    return {"repeat": _one_or_all(steps), **given}


def steps(*steps: Any, agent: str | None = None) -> dict[str, Any]:
    """Return steps in order; with `agent`, that agent makes all of their calls."""
    return {"steps": list(steps)} if agent is None else {"steps": list(steps), "agent": agent}


def value_from(
    call: str | None = None, /, *, output: str | None = None, args: str | None = None, input: str | None = None
) -> dict[str, Any]:
    """Return the matcher of a value that the agent has seen before.

    `value_from("search")` matches a value in an output of `search`; with `output="$.hits[*].id"`, a value at that path
    of the output; with `args=`, one in its arguments. `value_from(input="$.user")` matches a value in the input of the
    run, `value_from("anywhere")` one in any output or in the input.
    """
    paths = {"output": output, "args": args, "input": input}
    given = {name: path for name, path in paths.items() if path is not None}
    if not given:
        return {"$from": call}
    return {"$from": given if call is None else {"call": call, **given}}


def bind(name: str, /) -> dict[str, Any]:
    """Return a matcher that matches any value and gives it a name, for `ref`."""
    return {"$bind": name}


def ref(name: str, /) -> dict[str, Any]:
    """Return a matcher of the value that `bind` gave this name."""
    return {"$ref": name}


def _one_or_all(steps: tuple[Any, ...]) -> Any:
    return steps[0] if len(steps) == 1 else list(steps)
