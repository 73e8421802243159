"""Rightcall judges AI agents by the tools they call."""

__version__ = "0.1.0"
