"""UiPath's calling style, and its rule for which of the expected tools a call is of.

Facts of UiPath's package (2.14): a call whose span has a tool id is matched by it alone, with the id of what is
expected or, where that has none, with its name; other calls are matched by name, after both names are cleaned as the
LangChain runtime cleans them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.errors import CriteriaError, shown
from rightcall.values.trajectory import ToolCall, Trajectory

_NOT_ALLOWED = lazy_pattern("[^a-zA-Z0-9_-]")
_LONGEST = 64


class Naming(msgspec.Struct, frozen=True):
    """The expected tools, by id and by name."""

    by_id: dict[str, str]
    by_name: dict[str, str]

    @classmethod
    def of(cls, expected: Iterable[Any]) -> Naming:
        """The naming of expected tools: names, or objects with a `name` and perhaps an `id`.

        Raises:
            CriteriaError: two tools have one name and different ids.
        """
        made = cls({}, {})
        ids: dict[str, str | None] = {}
        for each in expected:
            name, tool_id = (each, None) if isinstance(each, str) else (each.name, each.id)
            if ids.setdefault(name, tool_id) != tool_id:
                raise CriteriaError(f"{shown(name)} is expected with different tool ids; give each tool its own name")
            made.by_id.setdefault(name if tool_id is None else tool_id, name)
            made.by_name.setdefault(cleaned(name), name)
        return made

    def renamed(self, trajectory: Trajectory) -> Trajectory:
        """The trajectory with its calls named as the expected tools are that they are of."""
        calls = [self._renamed(call) for call in trajectory.calls]
        return msgspec.structs.replace(trajectory, calls=tuple(calls))

    def _renamed(self, call: ToolCall) -> ToolCall:
        if call.tool_id is None:
            name = self.by_name.get(cleaned(call.name), call.name)
        else:
            name = self.by_id.get(call.tool_id) or f"{call.name} (tool id {call.tool_id})"
        return call if name == call.name else msgspec.structs.replace(call, name=name)


def cleaned(name: str) -> str:
    """A tool's name as a runtime shows it to models: blanks as `_`, other signs dropped, at most 64 characters."""
    return _NOT_ALLOWED.sub("", "_".join(name.split()))[:_LONGEST]


class AgentExecution(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """One run of an agent: its input, its output and its OpenTelemetry spans."""

    agent_input: Any = None
    agent_output: Any = None
    agent_trace: Sequence[Any] = ()
    expected_agent_behavior: str | None = None
    simulation_instructions: str = ""

    @property
    def workload_output(self) -> Any:
        """The output, by the name that newer documents have for it."""
        return self.agent_output

    @property
    def workload_trace(self) -> Sequence[Any]:
        """The spans, by the name that newer documents have for them."""
        return self.agent_trace

    @cached_property
    def trajectory(self) -> Trajectory:
        """The tool calls in the spans, read once."""
        # Reading spans takes many modules, and judging lists of calls needs none of them.
        from rightcall.reading import read_spans

        read = read_spans(self.agent_trace)
        # These are all spans of the run, so without tool spans there were no calls. Where a span was not understood, or
        # some calls were found and the reader misses others, that stays.
        is_whole = read.calls_recorded or not (read.calls or read.not_understood)
        return msgspec.structs.replace(read, input=self.agent_input, output=self.agent_output, calls_recorded=is_whole)
