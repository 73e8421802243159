"""Recordings that a server cannot give back as they were, each with the reason."""

from __future__ import annotations

_NO_SCOPES = "two instrumentations count the same tokens, and nothing is left that tells them apart"
_CHAINS = "spans that say nothing are chains by what MLflow adds, so the run begins with them"
_LOGFIRE = "MLflow repeats Logfire's messages in attributes of its own; with them ids, groups and turns are known"
_MLFLOW = {
    "mlflow-langgraph/nested-semconv": _CHAINS,
    "openai-agents-dup-oi+v2/nested": _NO_SCOPES,
    "openai-agents-dup-oi+v2/trip-chat": _NO_SCOPES,
    "openai-agents-logfire/trip-chat": _LOGFIRE,
}
_MLFLOW_FORMS = ("traces/batchGet", "traces/get", "Trace.to_json()")

REASONS: dict[tuple[str, str, str], str] = {
    ("mlflow", form, name): reason for form in _MLFLOW_FORMS for name, reason in _MLFLOW.items()
}
"""By the server, the form of its export and the recording."""
