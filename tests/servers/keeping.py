"""A few exports that are kept as fixtures of the one test command."""

from __future__ import annotations

import functools
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

ARCHIVE = Path(__file__).parents[1] / "data" / "servers.tar.xz"
CHOSEN = (
    "agent-framework/nested",
    "autogen-dup-native+oi/trip",
    "google-adk/nested-2.13.0-span",
    "langfuse-observe/trip",
    "langgraph-openinference/nested-0.1.29",
    "openai-agents-openinference/nested",
    "pydantic-ai/recursion-pkg2-fmt5",
    "raw-chat-openllmetry/trip-0.40.14",
    "smolagents-openinference/trip-toolcalling",
    "strands/nested-0.2.1",
    "strands/nested-1.62.0",
    "uipath/trip-weather_tools-style",
    "vercel-ai/nested-v6",
)
"""Small recordings of many kinds, among them those that came back as something else once."""


def keep(server: str, exports: Mapping[str, Mapping[str, bytes]]) -> None:
    """Put what a server gave of the chosen recordings into the archive, beside what others gave."""
    others = {name: data for name, data in _held().items() if not name.startswith(f"{server}/")}
    ours = {
        f"{server}/{form}/{name}": exports[form][name] for form in exports for name in CHOSEN if name in exports[form]
    }
    with tarfile.open(ARCHIVE, "w:xz") as archive:
        for name, data in sorted({**others, **ours}.items()):
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    _held.cache_clear()


def kept() -> dict[tuple[str, str, str], bytes]:
    """The exports by server, form and recording."""
    found = {}
    for path, data in _held().items():
        server, _, rest = path.partition("/")
        name = next(name for name in CHOSEN if rest.endswith(f"/{name}"))
        found[server, rest.removesuffix(f"/{name}"), name] = data
    return found


@functools.cache
def _held() -> dict[str, bytes]:
    if not ARCHIVE.exists():
        return {}
    with tarfile.open(ARCHIVE) as archive:
        files = [(member.name, archive.extractfile(member)) for member in archive.getmembers()]
        return {name: file.read() for name, file in files if file is not None}
