"""An execution of an agent, in the calling style of UiPath's documents."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import msgspec

from rightcall.values.trajectory import Trajectory


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
