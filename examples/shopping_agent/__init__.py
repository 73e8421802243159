"""A shopping assistant, as an agent of ADK and as a plain Python function."""

from . import agent

__all__ = ["agent"]
