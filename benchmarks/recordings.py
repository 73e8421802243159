"""Recorded runs of the corpus, to be copied with ids of their own."""

import json
import random
import re
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

import rightcall

from .environments import ROOT

_CORPUS = ROOT / "tests" / "data" / "corpus.tar.xz"
# Conversations and sessions have UUIDs in every recording. Copies that shared one would be one run.
_ID = re.compile(
    r'(?<="traceId": ")[0-9a-f]{32}|(?<="spanId": ")[0-9a-f]{16}|(?<="parentSpanId": ")[0-9a-f]{16}'
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
)
_HEXADECIMAL = re.compile("[0-9a-f]")


@dataclass(frozen=True)
class Recording:
    """One recorded run: its OTLP document, and the calls that were really made, in order."""

    name: str
    document: dict[str, Any]
    calls: list[dict[str, Any]]


def recordings(is_wanted: Callable[[str], bool] = lambda name: True) -> list[Recording]:
    """The wanted recordings whose spans carry arguments and outputs of all their calls."""
    with tarfile.open(_CORPUS) as corpus:
        paths = (member.name.rpartition("/") for member in corpus.getmembers())
        names = [name for name, _, file in paths if file == "otlp.json" and not name.startswith("_")]
        found = [_recording(corpus, name) for name in names if is_wanted(name)]
    return [recording for recording in found if _carries_content(recording)]


CASE = "rightcall.case.id"


def naming(document: dict[str, Any], attribute: str, case: str) -> dict[str, Any]:
    """The document, with a case named by an attribute of its outermost spans."""
    made: dict[str, Any] = json.loads(json.dumps(document))
    named = {"key": attribute, "value": {"stringValue": case}}
    for resource in made["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            for span in scope["spans"]:
                if not span.get("parentSpanId"):
                    span["attributes"] = [*span.get("attributes", ()), named]
    return made


class Copies:
    """Copies of one document as text on a line, each with trace, span and session ids of its own."""

    def __init__(self, document: dict[str, Any], generator: random.Random) -> None:
        text = json.dumps(document) + "\n"
        # Text, id, text, id, text: a copy replaces every second part.
        self._between = _ID.split(text)
        self._ids = _ID.findall(text)
        self._generator = generator
        self.size = len(text.encode())

    def __iter__(self) -> Iterator[str]:
        while True:
            fresh = {held: self._fresh(held) for held in dict.fromkeys(self._ids)}
            parts = [self._between[0]]
            for held, text in zip(self._ids, self._between[1:], strict=True):
                parts += (fresh[held], text)
            yield "".join(parts)

    def _fresh(self, held: str) -> str:
        digits = iter(f"{self._generator.getrandbits(128):032x}")
        return _HEXADECIMAL.sub(lambda _: next(digits), held)


def _recording(corpus: tarfile.TarFile, name: str) -> Recording:
    document, truth = (_json(corpus, f"{name}/{file}") for file in ("otlp.json", "expected.json"))
    return Recording(name, document, truth["calls"])


def _json(corpus: tarfile.TarFile, name: str) -> Any:
    file = corpus.extractfile(name)
    return json.load(file) if file else {}


def _carries_content(recording: Recording) -> bool:
    # Two copies, because traces without a session in common are one run only while no other is beside them.
    two = "".join(islice(Copies(recording.document, random.Random(1)), 2))
    trajectories = list(rightcall.read(two.encode()))
    calls = [call for trajectory in trajectories for call in trajectory.calls]
    return len(trajectories) == 2 and bool(calls) and not any(call.unrecorded for call in calls)
