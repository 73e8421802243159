"""Writes traces as `Trace.to_json()` does, by MLflow's own client, in the environment of MLflow.

python mlflow_traces.py ADDRESS FOLDER EXPERIMENT_ID=NAME…
"""

import sys
from pathlib import Path

from mlflow import MlflowClient


def main(address: str, folder: str, *experiments: str) -> None:
    """Write a file for each experiment, one trace a line, the oldest first."""
    client = MlflowClient(tracking_uri=address)
    for experiment in experiments:
        experiment_id, _, name = experiment.partition("=")
        traces = client.search_traces(locations=[experiment_id], max_results=100, order_by=["timestamp_ms ASC"])
        lines = [trace.to_json() + "\n" for trace in traces]
        (Path(folder) / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
