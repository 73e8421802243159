"""Recordings that a server cannot give back as they were, each with the reason."""

from __future__ import annotations

from .connected import PULL

_CHAINS = "spans that say nothing are chains by what MLflow adds, so the run begins with them"
_LOGFIRE = "MLflow repeats Logfire's messages in attributes of its own; with them ids, groups and turns are known"
_MLFLOW_FORMS = (PULL, "traces/batchGet", "traces/get", "Trace.to_json()")
_MLFLOW = {
    "mlflow-langgraph/nested-semconv": _CHAINS,
    "openai-agents-logfire/trip-chat": _LOGFIRE,
}

_RESPONSES = "Phoenix makes an output of the response's id, so a run begins with spans that say nothing else"
_PHOENIX_FORMS = (PULL, "spans/otlpv1", "spans")
_PHOENIX = {"mlflow-langgraph/nested-semconv": _RESPONSES}

_PARQUET = "client's dataframe, Parquet"
_NO_COLUMN = "the client cannot write it: an attribute is a text in one span and an object in another"
_NOT_WRITTEN = (
    "haystack/trip",
    "langgraph-dup-oi+openllmetry/nested",
    "langgraph-dup-oi+openllmetry/trip-react",
    "langgraph-openinference/nested",
    "langgraph-openinference/nested-0.1.29",
    "langgraph-openinference/trip-react",
    "langgraph-openinference/trip-react-0.1.29",
    "langgraph-openllmetry/identical-parallel",
    "langgraph-openllmetry/nested",
    "langgraph-openllmetry/trip-react",
    "mlflow-langgraph/nested-semconv",
    "mlflow-langgraph/trip",
    "vercel-ai/nested-v4",
    "vercel-ai/nested-v6",
    "vercel-ai/nested-v7-legacy",
    "vercel-ai/trip-v4",
    "vercel-ai/trip-v6",
    "vercel-ai/trip-v7-legacy",
)

REASONS: dict[tuple[str, str, str], str] = {
    **{("mlflow", form, name): reason for form in _MLFLOW_FORMS for name, reason in _MLFLOW.items()},
    **{("phoenix", form, name): reason for form in _PHOENIX_FORMS for name, reason in _PHOENIX.items()},
    **{("phoenix", _PARQUET, name): _NO_COLUMN for name in _NOT_WRITTEN},
}
"""By the server, the form of its export and the recording."""
