"""A real MLflow: sent spans by OTLP/HTTP, and asked for traces by its REST interface and by its client."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from benchmarks.environments import provide

from .connected import PULL, pulled, push_twice
from .pictures import Part, seen
from .processes import CLIENTS, asked, free_port, run_client, started
from .recordings import Recording

if TYPE_CHECKING:
    from playwright.sync_api import Page

VERSION = "3.17.2"
_REQUIREMENTS = (f"mlflow=={VERSION}",)
_JSON = "application/json"
_SECONDS_TO_SHOW = 120


@dataclass(frozen=True)
class MLflow:
    """A server that answers, and the ids of its experiments by the name of the recording."""

    address: str
    python: Path
    experiments: dict[str, str] = field(default_factory=dict)

    def send(self, recording: Recording) -> None:
        """Send a recording, into an experiment of its own."""
        made = self._asked("2.0/mlflow/experiments/create", {"name": recording.key})
        self.experiments[recording.name] = made["experiment_id"]
        headers = {"content_type": "application/x-protobuf", "x_mlflow_experiment_id": made["experiment_id"]}
        asked(f"{self.address}/v1/traces", recording.wire, **headers)

    def exports(self, recordings: Sequence[Recording], folder: Path) -> dict[str, dict[str, bytes]]:
        """What the server gives of each recording, by the form it is asked for in."""
        ids = {recording.name: self._traces(recording) for recording in recordings}
        batches = {
            name: self._get("traces/batchGet", [("trace_ids", one) for one in held]) for name, held in ids.items()
        }
        single = {
            name: b"\n".join([self._get("traces/get", [("trace_id", one)]) for one in held])
            for name, held in ids.items()
        }
        experiments = [f"{self.experiments[recording.name]}={recording.key}" for recording in recordings]
        script = CLIENTS / "mlflow_traces.py"
        run_client(self.python, script, self.address, str(folder), *experiments)
        written = {recording.name: (folder / f"{recording.key}.jsonl").read_bytes() for recording in recordings}
        ours = pulled(self.address.replace("http", "mlflow", 1), recordings)
        return {PULL: ours, "traces/batchGet": batches, "traces/get": single, "Trace.to_json()": written}

    def connected(self, recordings: Sequence[Recording], *, is_kept: bool) -> Iterator[str]:
        """What the command does with the server, in lines."""
        base = self.address.replace("http", "mlflow", 1)
        chosen = next(recording for recording in recordings if recording.name == "pydantic-ai/trip-pkg2-fmt5")
        yield push_twice(f"{base}/{chosen.key}", lambda: self._marks(chosen))
        yield seen("MLflow", f"{base}/shop", self.send, self._show, is_kept=is_kept)

    def _show(self, page: Page, trace_id: str) -> Part:
        """Open the page of a trace of the example, at the call that was wrong."""
        place = f"{self.address}/#/experiments/{self.experiments['shop']}/traces"
        page.set_default_timeout(_SECONDS_TO_SHOW * 1000)
        page.goto(f"{place}?selectedEvaluationId=tr-{trace_id}", wait_until="domcontentloaded")
        page.get_by_text("reserve_item").first.click()
        page.get_by_text("Assess").first.click()
        verdict = page.get_by_text("failed", exact=True).last
        verdict.wait_for()
        page.wait_for_timeout(1000)  # things move while they open
        around = verdict.bounding_box()
        if around is not None:  # the arrow before the verdict opens its explanation
            page.mouse.click(around["x"] - 20, around["y"] + around["height"] / 2)
        page.get_by_text("expected 2").last.wait_for()
        return (0, 952)

    def _marks(self, recording: Recording) -> list[str]:
        """The ids of our assessments on the traces of a recording."""
        infos = [json.loads(self._get("traces/get", [("trace_id", one)])) for one in self._traces(recording)]
        held = [each for info in infos for each in info["trace"]["trace_info"].get("assessments", [])]
        return [each["metadata"]["rightcall.id"] for each in held if "rightcall.id" in each.get("metadata", {})]

    def _traces(self, recording: Recording) -> list[str]:
        place = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": self.experiments[recording.name]}}
        wanted = {"locations": [place], "max_results": 100, "order_by": ["timestamp_ms ASC"]}
        return [trace["trace_id"] for trace in self._asked("3.0/mlflow/traces/search", wanted)["traces"]]

    def _get(self, method: str, arguments: Sequence[tuple[str, str]]) -> bytes:
        return asked(f"{self.address}/api/3.0/mlflow/{method}?{urlencode(arguments)}")

    def _asked(self, method: str, body: Any) -> Any:
        return json.loads(asked(f"{self.address}/api/{method}", json.dumps(body).encode(), content_type=_JSON))


@contextmanager
def started_in(folder: Path) -> Iterator[MLflow]:
    """An MLflow with an empty database in the folder."""
    python = provide("servers/mlflow", _REQUIREMENTS)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    variables = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        "DO_NOT_TRACK": "true",
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",
    }
    command = [str(python), "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1"]
    store = [
        "--backend-store-uri",
        f"sqlite:///{folder}/mlflow.db",
        "--default-artifact-root",
        str(folder / "artifacts"),
    ]
    with started([*command, *store], variables, f"{address}/health", folder / "server.log"):
        yield MLflow(address, python)
