"""What can be run: Python functions and objects, ADK agents, commands, HTTP endpoints."""

from ._agent import Agent, AgentOptions, Answer, Request
from ._hearing import hearing
from ._loading import load_agent
from ._modules import SearchPath, import_file
from ._tracebacks import traceback_of

__all__ = [
    "Agent",
    "AgentOptions",
    "Answer",
    "Request",
    "SearchPath",
    "hearing",
    "import_file",
    "load_agent",
    "traceback_of",
]
