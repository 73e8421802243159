"""Read the trajectory of whatever an assertion is given: traces, spans, messages, lists of calls."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from rightcall.errors import InputError, shown
from rightcall.judging import STEP_WORDS, AgentExecution
from rightcall.running.tracing import Captured
from rightcall.values.trajectory import ToolCall, Trajectory

_FIELDS = frozenset(ToolCall.__struct_fields__)
_MOST_COUNTED = 100


def trajectory_of(subject: Any) -> Trajectory:
    """Return the trajectory of what a test has.

    - a `Trajectory`, what `capture` captured, or an `AgentExecution`;
    - a path, bytes or a decoded document: a trace or a log of messages, in any format that `read` knows;
    - what an SDK returned: a message, or the completion around it;
    - what a framework returned: `AgentRunResult` of Pydantic AI, `RunResult` of OpenAI Agents, the state of a LangGraph
      graph, and the results of LlamaIndex, Agno, smolagents, AutoGen and Haystack;
    - a list of spans, of messages, or of calls: names, `{"search": {"query": "laptop"}}`, `{"name": …, "args": …}`
      or `ToolCall`s. A call given by its name only has no recorded arguments.

    An empty list says nothing about calls: there may have been none, or they were not recorded. `Trajectory()` says
    that there were none.

    Raises:
        InputError: nothing can be read from it, or it has several runs.
    """
    if isinstance(subject, Trajectory):
        return subject
    if isinstance(subject, Captured):
        return subject.trajectory()
    if isinstance(subject, AgentExecution):
        return subject.trajectory
    returned = None if isinstance(subject, (list, tuple)) else _of_framework(subject)
    if returned is not None:
        return returned
    if isinstance(subject, (str, bytes, bytearray, os.PathLike, Mapping)) or hasattr(subject, "read"):
        return _only_one(subject)
    if hasattr(type(subject), "model_dump"):
        from rightcall.reading import read_messages

        return read_messages(subject)  # what an SDK returned: a message, or a completion with one
    if isinstance(subject, Iterable):
        return _listed(list(subject))
    raise InputError(f"no calls can be read from {shown(subject)}; give a trajectory, a trace, spans or messages")


def written_step(item: Any) -> Any:
    """Return an expected step as a file would have it; `ToolCall`s in it become calls with their name and arguments.

    Raises:
        InputError: it is not a step.
    """
    if isinstance(item, ToolCall):
        return {"name": item.name} if "args" in item.unrecorded else {"name": item.name, "args": item.args}
    if isinstance(item, str):
        return item
    if isinstance(item, (list, tuple)):
        return [written_step(each) for each in item]
    if not isinstance(item, Mapping):
        raise InputError(f"an expected call is a name or {{name: arguments}}, not {shown(item)}")
    words = item.keys() & {*STEP_WORDS}
    if len(item) != 1 and not words and not isinstance(item.get("name"), str):
        raise InputError(f"an expected call is a name or {{name: arguments}}, not {shown(item)}")
    return {key: _inside(value) if key in words else value for key, value in item.items()}


def _inside(value: Any) -> Any:
    """The value of a key: steps, unless the word is the name of a tool and these are its arguments."""
    is_group = isinstance(value, Mapping) and bool(value.keys() & {*STEP_WORDS})
    return written_step(value) if is_group or isinstance(value, (list, tuple, ToolCall)) else value


def _of_framework(subject: Any) -> Trajectory | None:
    """Return the trajectory in the result of a framework; None if it is none.

    Raises:
        InputError: it is one, but has no calls in it.
    """
    from rightcall.running.agents import answer_of, form_of

    form = form_of(subject)
    if form is None:
        return None
    answer = answer_of(subject)
    if answer.messages is None:
        raise InputError(
            f"a result of {form.framework} does not hold the calls of its run; capture them: with capture() as captured"
        )
    from rightcall.reading import read_messages

    read = read_messages(answer.messages)
    usage = answer.usage if read.usage is None else read.usage
    return msgspec.structs.replace(read, output=answer.output, usage=usage)


def _only_one(source: Any) -> Trajectory:
    from rightcall.reading import read

    found = []
    for trajectory in read(source):
        found.append(trajectory)
        if len(found) > _MOST_COUNTED:  # a log can have millions of runs
            break
    if len(found) != 1:
        count = f"more than {_MOST_COUNTED}" if len(found) > _MOST_COUNTED else str(len(found) or "no")
        raise InputError(f"{shown(source)} has {count} runs, and an assertion is about one; choose one with read(…)")
    return found[0]


def _listed(items: Sequence[Any]) -> Trajectory:
    if not items:
        return Trajectory(calls_recorded=False)
    if all([_is_call(item) for item in items]):
        return Trajectory.of([_made(item) for item in items])
    from rightcall.reading import read_messages, read_spans

    if all([_is_live_span(item) for item in items]):
        return read_spans(items)
    if all([callable(getattr(item, "to_input_item", None)) for item in items]):
        return read_messages([item.to_input_item() for item in items])  # `new_items` of OpenAI Agents
    if any([not isinstance(item, Mapping) for item in items]):
        return read_messages(items)
    return _only_one(items)


def _is_call(item: Any) -> bool:
    if isinstance(item, Mapping):
        is_spelt_out = isinstance(item.get("name"), str) and item.keys() <= _FIELDS
        return is_spelt_out or _is_short(item)
    return isinstance(item, (str, ToolCall))


def _is_short(item: Mapping[Any, Any]) -> bool:
    """Whether an object is `{name: arguments}`."""
    return len(item) == 1 and all([isinstance(args, Mapping) or args is None for args in item.values()])


def _made(item: Any) -> Any:
    if isinstance(item, Mapping) and "name" not in item:
        [(name, args)] = item.items()
        return {"name": name} if args is None else {"name": name, "args": args}
    return item


def _is_live_span(item: Any) -> bool:
    return hasattr(item, "attributes") and hasattr(item, "start_time") and not isinstance(item, Mapping)
