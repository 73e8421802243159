"""Marks as people see them: the page of a trace in each server, with the call that was wrong."""

from __future__ import annotations

import base64
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import TracesData
from tests.browser.browsers import lacking, started_browser
from tests.processes import rightcall

from .processes import ServerFailedError
from .recordings import Recording

if TYPE_CHECKING:
    from playwright.sync_api import Page

Part = tuple[int, int]
"""The left and the right end of what a picture shows of a page."""
_IMAGES = Path(__file__).parents[2] / "docs" / "images"
_SIZE = {"width": 1360, "height": 560}
_MOST_BYTES = 200_000
_WRONG = "reserve_two"
_KINDS = {"answer": "AGENT", "search_products": "TOOL", "check_inventory": "TOOL", "reserve_item": "TOOL"}
_SECONDS = 120


def seen(
    name: str, address: str, send: Callable[[Recording], None], show: Callable[[Page, str], Part], *, is_kept: bool
) -> str:
    """Look at the marks of a failed case in the page of its trace; return what was seen, in words.

    Args:
        name: The server's.
        address: The place with the traces, for `rightcall score`.
        send: Sends a recording to that place.
        show: Opens the page of the trace with this id at the call that was wrong, and returns where to look.
        is_kept: Whether the picture is one of the documents.

    Raises:
        ServerFailedError: the page does not show the marks.
    """
    if reason := lacking():
        return f"{name}: not looked at: {reason}"
    with tempfile.TemporaryDirectory() as folder, started_browser() as browser:
        project = Path(folder) / "shop"
        rightcall("init", str(project))
        wire, trace_id = _traces(project / "traces" / "shop.jsonl")
        send(Recording("shop", wire))
        _push(address, project)
        page = browser.new_context(viewport=_SIZE, locale="en-GB", timezone_id="UTC").new_page()  # type: ignore[arg-type]
        left, right = show(page, trace_id)
        for word in ("rightcall:shop", "rightcall:shop:calls", "failed"):
            if not page.get_by_text(word, exact=True).count():
                raise ServerFailedError(f"{name}: the page of a trace does not show {word}")
        picture = page.screenshot(clip={"x": left, "y": 0, "width": right - left, "height": _SIZE["height"]})
    if is_kept:
        if len(picture) > _MOST_BYTES:
            raise ServerFailedError(f"{name}: the picture has {len(picture):,} bytes, more than {_MOST_BYTES:,}")
        (_IMAGES / f"{name.lower()}.png").write_bytes(picture)
    return f"{name}: the page of the trace shows the marks of the trace and of the span"


def _push(address: str, project: Path) -> None:
    """Score the traces and send the verdicts, as soon as the server has them all."""
    end = time.monotonic() + _SECONDS
    while True:
        done = rightcall("score", address, "--evalset", "evals/shop.yaml", "--push", cwd=project)
        if "5 verdicts sent" in done.stderr:
            return
        if time.monotonic() > end:
            raise ServerFailedError(f"{address}: {done.stdout[-500:]} {done.stderr[-500:]}")
        time.sleep(1)


def _traces(file: Path) -> tuple[bytes, str]:
    """Return the traces of the example as if they were made now, and the id of the one that fails."""
    whole, failing = TracesData(), ""
    for line in file.read_text("utf-8").splitlines():
        document: dict[str, Any] = json.loads(line)
        spans = [span for each in document["resourceSpans"] for scope in each["scopeSpans"] for span in scope["spans"]]
        failing = spans[0]["traceId"] if _WRONG in line else failing
        shift = time.time_ns() - min(int(span["startTimeUnixNano"]) for span in spans)
        for span in spans:
            kind = {"key": "openinference.span.kind", "value": {"stringValue": _KINDS[span["name"]]}}
            span["attributes"].append(kind)  # servers show agents and tools by it
            span |= {key: str(int(span[key]) + shift) for key in ("startTimeUnixNano", "endTimeUnixNano")}
            span |= {
                key: base64.b64encode(bytes.fromhex(span[key])).decode()
                for key in ("traceId", "spanId", "parentSpanId")
                if key in span
            }
        json_format.ParseDict(document, part := TracesData())
        whole.MergeFrom(part)
    return bytes(whole.SerializeToString()), failing
