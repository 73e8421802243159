"""A real Phoenix: sent spans by OTLP/HTTP, and asked for them by its REST interface and by its client."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.environments import provide

from .connected import PULL, pull_many, pulled, push_twice
from .pictures import Part, seen
from .processes import CLIENTS, NotFoundError, ServerFailedError, asked, free_port, run_client, started
from .recordings import Recording, with_resource

if TYPE_CHECKING:
    from playwright.sync_api import Page

VERSION = "20.26.1"
_REQUIREMENTS = (f"arize-phoenix=={VERSION}", "pyarrow")
_MOST = 1000
_SECONDS_TO_KEEP = 120
_SECONDS_TO_SHOW = 120


@dataclass(frozen=True)
class Phoenix:
    """A server that answers."""

    address: str
    python: Path

    def send(self, recording: Recording) -> None:
        """Send a recording, into a project of its own."""
        wire = with_resource(recording.wire, "openinference.project.name", recording.key)
        asked(f"{self.address}/v1/traces", wire, content_type="application/x-protobuf")

    def exports(self, recordings: Sequence[Recording], folder: Path) -> dict[str, dict[str, bytes]]:
        """What the server gives of each recording, by the form it is asked for in."""
        rest = {
            form: {recording.name: self._page(recording, form) for recording in recordings}
            for form in ("spans/otlpv1", "spans")
        }
        script = CLIENTS / "phoenix_spans.py"
        run_client(self.python, script, self.address, str(folder), *[recording.key for recording in recordings])
        files = {recording.name: folder / f"{recording.key}.parquet" for recording in recordings}
        frames = {name: file.read_bytes() for name, file in files.items() if file.exists()}
        ours = {PULL: pulled(self.address.replace("http", "phoenix", 1), recordings)}
        return {**ours, **rest, "client's dataframe, Parquet": frames}

    def connected(self, recordings: Sequence[Recording], *, is_kept: bool) -> Iterator[str]:
        """What the command does with the server, in lines."""
        base = self.address.replace("http", "phoenix", 1)
        named = {recording.name: recording for recording in recordings}
        chosen, small = named["pydantic-ai/trip-pkg2-fmt5"], named["langfuse-observe/trip"]
        yield push_twice(f"{base}/{chosen.key}", lambda: self._marks(chosen))
        yield seen("Phoenix", f"{base}/shop", self.send, self._show, is_kept=is_kept)
        yield pull_many(f"{base}/many", small)

    def _show(self, page: Page, trace_id: str) -> Part:
        """Open the page of a trace of the example, at the call that was wrong."""
        project = json.loads(asked(f"{self.address}/v1/projects/shop"))["data"]["id"]
        page.set_default_timeout(_SECONDS_TO_SHOW * 1000)
        page.goto(f"{self.address}/projects/{project}/traces/{trace_id}", wait_until="domcontentloaded")
        page.get_by_text("reserve_item").first.click()
        page.get_by_role("button", name=re.compile("^Annotations")).last.click()
        page.get_by_text("List", exact=True).last.wait_for()
        page.wait_for_timeout(1000)  # things move while they open
        return (340, 1360)

    def _marks(self, recording: Recording) -> list[str]:
        """The ids of our annotations on the traces and spans of a recording."""
        project = f"{self.address}/v1/projects/{recording.key}"
        spans = json.loads(asked(f"{project}/spans?limit={_MOST}"))["data"]
        owners = {span["context"]["trace_id"] for span in spans}, {span["context"]["span_id"] for span in spans}
        found = []
        for kind, ids in zip(("trace", "span"), owners, strict=True):
            query = "&".join([f"{kind}_ids={each}" for each in sorted(ids)])
            found += json.loads(asked(f"{project}/{kind}_annotations?limit={_MOST}&{query}"))["data"]
        return [each["identifier"] for each in found if each["name"].startswith("rightcall")]

    def _page(self, recording: Recording, form: str) -> bytes:
        """All spans of a project. They are there some time after they were sent."""
        address = f"{self.address}/v1/projects/{recording.key}/{form}?limit={_MOST}"
        end = time.monotonic() + _SECONDS_TO_KEEP
        while time.monotonic() < end:
            page = self._known(address)
            if page is not None and len(json.loads(page)["data"]) == recording.spans:
                return page
            time.sleep(0.5)
        raise ServerFailedError(f"{address} does not give {recording.spans} spans")

    def _known(self, address: str) -> bytes | None:
        """What a project holds; nothing as long as the server does not know the project."""
        try:
            return asked(address)
        except NotFoundError:
            return None


@contextmanager
def started_in(folder: Path) -> Iterator[Phoenix]:
    """A Phoenix with an empty database in the folder."""
    python = provide("servers/phoenix", _REQUIREMENTS)
    port = free_port()
    address = f"http://127.0.0.1:{port}"
    variables = {
        "PHOENIX_WORKING_DIR": str(folder),
        "PHOENIX_HOST": "127.0.0.1",
        "PHOENIX_PORT": str(port),
        "PHOENIX_GRPC_PORT": str(free_port()),
        "PHOENIX_TELEMETRY_ENABLED": "false",
        "PHOENIX_ALLOW_EXTERNAL_RESOURCES": "false",
    }
    command = [str(python), "-m", "phoenix.server.main", "serve"]
    with started(command, variables, f"{address}/healthz", folder / "server.log"):
        yield Phoenix(address, python)
