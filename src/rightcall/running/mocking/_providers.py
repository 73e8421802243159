"""Providers of models: the variables by which SDKs find them, and where they are by default."""

from __future__ import annotations

from typing import NamedTuple


class Provider(NamedTuple):
    """A provider that SDKs find by variables of the environment."""

    name: str
    bases: tuple[str, ...]
    """The variables that hold its address."""
    address: str = ""
    """Its address where none of them is set; empty if an SDK needs one to be set."""


PROVIDERS = (
    Provider("openai", ("OPENAI_BASE_URL", "OPENAI_API_BASE"), "https://api.openai.com/v1"),
    Provider("anthropic", ("ANTHROPIC_BASE_URL",), "https://api.anthropic.com"),
    Provider("gemini", ("GOOGLE_GEMINI_BASE_URL", "GEMINI_BASE_URL"), "https://generativelanguage.googleapis.com"),
    Provider("azure", ("AZURE_OPENAI_ENDPOINT",)),
    Provider("groq", ("GROQ_BASE_URL",)),
    Provider("mistral", ("MISTRAL_BASE_URL",)),
    Provider("together", ("TOGETHER_BASE_URL",)),
    Provider("openrouter", ("OPENROUTER_BASE_URL",)),
    Provider("deepseek", ("DEEPSEEK_BASE_URL",)),
    Provider("litellm", ("LITELLM_PROXY_API_BASE", "LITELLM_BASE_URL")),
    Provider("ollama", ("OLLAMA_HOST", "OLLAMA_BASE_URL")),
)
KEY_VARIABLES = (
    *("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY", "AZURE_OPENAI_API_KEY"),
    *("GROQ_API_KEY", "MISTRAL_API_KEY", "TOGETHER_API_KEY", "OPENROUTER_API_KEY", "DEEPSEEK_API_KEY"),
)
"""The variables that hold keys. An SDK refuses to be made without one, also where nothing will be sent."""
