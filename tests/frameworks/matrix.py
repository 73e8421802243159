"""The frameworks of the matrix, each in an environment of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchmarks.environments import ROOT

_OURS = ("--editable", f"{ROOT}[run]", "opentelemetry-exporter-otlp-proto-common")


@dataclass(frozen=True)
class Framework:
    """A framework: what is installed, and which agent is run.

    The first package is the one whose version is told. `variables` are set where the agent is instrumented.
    """

    name: str
    packages: tuple[str, ...]
    agent: str
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The name of its folders."""
        return self.agent.partition("/")[0]

    @property
    def requirements(self) -> tuple[str, ...]:
        """What pip installs: the framework and its instrumentation, Rightcall, and what drives the agent."""
        return (*self.packages, *_OURS)

    @property
    def version(self) -> str:
        """The version of the framework."""
        return self.packages[0].partition("==")[2]


FRAMEWORKS = (
    Framework("Pydantic AI", ("pydantic-ai-slim[openai]==2.66.0",), "pydantic_ai/agent.py:answer"),
    Framework(
        "LangGraph",
        (
            "langgraph==1.2.22",
            "langchain==1.4.7",
            "langchain-openai==1.7.3",
            "openinference-instrumentation-langchain==0.1.80",
        ),
        "langgraph/agent.py:agent",
    ),
    Framework(
        "OpenAI Agents",
        ("openai-agents==0.24.0", "openinference-instrumentation-openai-agents==2.6.0"),
        "openai_agents/agent.py:answer",
    ),
    Framework(
        "Google ADK",
        ("google-adk==2.13.0",),
        "google_adk",
        {"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_ONLY"},
    ),
    Framework("Strands", ("strands-agents[openai]==1.62.0",), "strands/agent.py:answer"),
    Framework(
        "Agno",
        ("agno==3.1.10", "openai==3.51.0", "openinference-instrumentation-agno==1.0.15"),
        "agno/evaluated.py:answer",
    ),
    Framework(
        "AutoGen",
        (
            "autogen-agentchat==0.7.5",
            "autogen-ext[openai]==0.7.5",
            "openinference-instrumentation-autogen-agentchat==0.1.22",
        ),
        "autogen/evaluated.py:answer",
    ),
)
