"""What the peers answered, kept with their versions, so that the documents can be made without any of them."""

import json
import subprocess
from pathlib import Path
from typing import Any

from benchmarks.environments import ROOT, log_of, python_of, quiet_environment

PEERS = ("uipath", "google-adk", "agentevals", "deepeval")
TELLERS = {"agentevals": "agentevals", "deepeval": "deepeval", "google-adk": "agentevals-cli"}
"""The peers whose texts of failures are compared, and the environment of each: ADK prints tables, which needs more."""
_RECORD = Path(__file__).parent / "recorded.json"
_TEXTS = Path(__file__).parent / "recorded_failures.json"
_VERSION = "import importlib.metadata, sys; print(importlib.metadata.version(sys.argv[1]))"


def recorded() -> dict[str, Any]:
    """For each peer its version, and the answers of its modes."""
    answers: dict[str, Any] = json.loads(_RECORD.read_text(encoding="utf-8"))
    return answers


def recorded_failures() -> dict[str, Any]:
    """For each peer its version, and what it says of each path that went wrong."""
    texts: dict[str, Any] = json.loads(_TEXTS.read_text(encoding="utf-8"))
    return texts


def record() -> None:
    """Ask every peer anew, in an environment of its own, which is made first if it is missing.

    Raises:
        EnvironmentFailedError: a peer could not be installed.
        CalledProcessError: a peer could not be asked; its log says why.
    """
    answers = {peer: {"version": _version_of(peer), "modes": _asked(peer)} for peer in PEERS}
    texts = {peer: {"version": _version_of(peer, home), "texts": _told(peer, home)} for peer, home in TELLERS.items()}
    _RECORD.write_text(json.dumps(answers, indent=1) + "\n", encoding="utf-8")
    _TEXTS.write_text(json.dumps(texts, indent=1) + "\n", encoding="utf-8")


def _version_of(peer: str, home: str | None = None) -> str:
    return _run(home or peer, "-c", _VERSION, peer).strip()


def _asked(peer: str) -> Any:
    return json.loads(_run(peer, "-m", f"benchmarks.comparison.peers.{peer.replace('-', '_')}"))


def _told(peer: str, home: str) -> Any:
    return json.loads(_run(home, "-m", f"benchmarks.comparison.tellers.{peer.replace('-', '_')}"))


def _run(home: str, *arguments: str) -> str:
    with log_of(f"{home}-comparison").open("w") as log:
        command = [str(python_of(home)), *arguments]
        done = subprocess.run(
            command, cwd=ROOT, env=quiet_environment(), stdout=subprocess.PIPE, stderr=log, text=True, check=True
        )
    return done.stdout
