"""What works with a framework without a change to the agent: mocks by name, recordings, memory, contexts, errors."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.targets import table

from .cells import EVALS, carry_out

HEADING = "Abilities"
MAIN = ("pydantic_ai", "langgraph", "openai_agents", "google_adk")
"""The frameworks whose tools are stood in for by name."""
ABILITIES = (
    "mocks by name",
    "recorded, replayed offline three times",
    "memory over three turns",
    "injected context is not an argument",
    "calls of an agent that raised",
)
RECORDING = "offline.recording.jsonl"
_HERE = Path(__file__).parent
_GONE = {"OPENAI_BASE_URL": "http://127.0.0.1:9/v1", "GOOGLE_GEMINI_BASE_URL": "http://127.0.0.1:9"}
"""Where nothing listens: port 9 is that of the discard service (RFC 863)."""
_KEYS = ("OPENAI_API_KEY", "GOOGLE_API_KEY")


class Trial:
    """One framework, tried in a folder of its own with the model that the variables lead to."""

    def __init__(self, python: Path, key: str, variables: Mapping[str, str], folder: Path) -> None:
        self._python, self._variables, self._folder = python, variables, folder
        self._agent = _HERE / "agents" / key / "offline.py"
        folder.mkdir(parents=True)

    def abilities(self) -> dict[str, bool]:
        """Whether each ability is there."""
        is_mocked = self._passes("mocked", "agent")
        ran = (self._folder / "ran").exists()
        is_recorded = self._passes("offline", "agent", "--record")
        recording = (self._folder / RECORDING).read_text("utf-8")
        (self._folder / "ran").unlink()
        replays = [self._passes("offline", "agent", "--replay", is_gone=True) for _ in range(3)]
        is_replayed = all(replays) and not (self._folder / "ran").exists()
        found = (
            is_mocked and not ran,
            is_recorded and is_replayed and '"answer"' in recording,
            is_recorded,
            is_recorded
            and all([entry.get("args", {}).keys() <= {"order_id", "amount"} for entry in _lines(recording)]),
            self._keeps_calls(),
        )
        return dict(zip(ABILITIES, found, strict=True))

    def _passes(self, evals: str, name: str, *options: str, is_gone: bool = False) -> bool:
        return bool(self._case(evals, name, *options, is_gone=is_gone)["verdict"] == "passed")

    def _keeps_calls(self) -> bool:
        case = self._case("broken", "broken")
        calls = [call["name"] for call in (case["trajectory"] or {}).get("calls", ())]
        return calls == ["lookup_order"] and "after the call" in case["outcome"]["error"]

    def _case(self, evals: str, name: str, *options: str, is_gone: bool = False) -> Any:
        report, evalset = self._folder / "report.json", self._folder / f"{evals}.yaml"
        shutil.copy(EVALS / f"{evals}.yaml", evalset)
        variables = {**self._variables, "RAN": str(self._folder / "ran")}
        if is_gone:
            variables = {key: value for key, value in variables.items() if key not in _KEYS} | _GONE
        output = (
            "--workers",
            "1",
            "--timeout",
            "120",
            "--runs",
            str(self._folder / "runs"),
            "--format",
            f"json={report}",
        )
        command = [
            str(self._python),
            "-m",
            "rightcall",
            "run",
            f"{self._agent}:{name}",
            str(evalset),
            *options,
            *output,
        ]
        carry_out(command, variables, (0, 1, 2))
        [case] = json.loads(report.read_text("utf-8"))["cases"]
        return case


def _lines(recording: str) -> list[Any]:
    return [json.loads(line) for line in recording.splitlines()]


def render(found: Mapping[str, Mapping[str, bool]]) -> str:
    """The table as Markdown: a row for each framework, a column for each ability."""
    rows = [(name, *["yes" if has[ability] else "**no**" for ability in ABILITIES]) for name, has in found.items()]
    return table(("framework", *ABILITIES), rows)


def all_there(names: Sequence[str]) -> str:
    """The table in which every framework has every ability."""
    return render({name: dict.fromkeys(ABILITIES, True) for name in names})
