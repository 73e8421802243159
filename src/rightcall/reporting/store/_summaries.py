"""Summaries of the newest runs, for the status line and for shell completion.

A shell asks for completion at every key press, so this module imports only the standard library: msgspec alone would
add 30 ms of CPU time to 100. Files are read up to a limit. A run that cannot be read is left out here; commands that
open it report what is wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rightcall.values.results import Verdict

HEADER_FILE = "run.json"
JOURNAL_FILE = "cases.jsonl"
FOLDER_NAME = re.compile(r"\d{8}T\d{6}\.\d{3}Z-([0-9a-f]{6})", re.ASCII)
"""The name of a run's folder: its start time and its id."""

# The journal writes these four keys first, so verdicts are read without decoding the results, which may be megabytes.
_LINE_HEAD = re.compile(
    rb'\{"digest": ?"([^"\\]*)", ?"case_id": ?("[^"\\]*(?:\\.[^"\\]*)*"), ?"repeat": ?(\d{1,9}), ?"verdict": ?"(\w+)"'
)
_VERDICTS: dict[str, Verdict] = {
    "passed": "passed",
    "failed": "failed",
    "not_measured": "not_measured",
    "error": "error",
}
_WORST_FIRST: tuple[Verdict, ...] = ("error", "not_measured")
_MOST_BYTES = 8 << 20
_MOST_RUNS = 50
_MOST_PROBLEMS = 5
_MOST_CHECKED_BYTES = 256 << 20


class SealedPart(NamedTuple):
    """The length and the hash of the part of the journal that the run itself wrote."""

    length: int
    sha256: str


class Trial(NamedTuple):
    """One repeat of one case, without its results."""

    case_id: str
    repeat: int
    verdict: Verdict
    digest: str
    """The digest of the case, and of the agent at that time."""

    @property
    def question(self) -> str:
        """The part of the digest that covers the case alone, whatever the agent; empty in older runs."""
        return self.digest.partition("-")[0] if "-" in self.digest else ""


class CaseProblem(NamedTuple):
    """A case that did not pass, and the first problem found in it, without secrets."""

    case_id: str
    verdict: str
    message: str


class RunSummary(NamedTuple):
    """The header of a run, without its results."""

    folder: Path
    id: str
    evalset: str
    started: str
    is_finished: bool
    totals: dict[str, int]
    branch: str | None
    seal: SealedPart | None = None
    has_agent: bool = True
    """Whether an agent was run; false if recorded traces were scored."""
    quarantined: frozenset[str] = frozenset()
    """The cases in quarantine: they have verdicts, but are in no total."""
    needed: int | None = None
    """How many repeats of a case have to pass; all by default."""
    needed_of: dict[str, int] = {}
    """Overrides of `needed` for single cases."""

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each case over its repeats, from the first megabytes of the journal."""
        latest = {(trial.case_id, trial.repeat): trial.verdict for _, trial in self._lines()}
        found: dict[str, list[Verdict]] = {}
        for (case_id, _), verdict in latest.items():
            found.setdefault(case_id, []).append(verdict)
        return {case_id: self._together(case_id, verdicts) for case_id, verdicts in found.items()}

    def problems(self) -> list[CaseProblem]:
        """Return the first few cases that did not pass, without those in quarantine."""
        failing = {case_id for case_id, verdict in self.verdicts().items() if verdict != "passed"} - self.quarantined
        found: dict[str, CaseProblem] = {}
        for line, (case_id, _, verdict, _) in self._lines():
            if case_id in failing and verdict != "passed" and (case_id in found or len(found) < _MOST_PROBLEMS):
                found[case_id] = CaseProblem(case_id, verdict, _first_message(line))
        return list(found.values())

    def is_changed(self) -> bool:
        """Return whether another program changed the journal after the run. Very large journals are not read."""
        if self.seal is None or self.seal.length > _MOST_CHECKED_BYTES:
            return False
        from rightcall.errors import StoreError

        from ._run_files import SealedLines

        try:
            for _ in SealedLines(self.folder / JOURNAL_FILE).read(self.seal, is_final=self.is_finished):
                continue
        except StoreError:
            return True
        return False

    def _together(self, case_id: str, verdicts: list[Verdict]) -> Verdict:
        """Return the verdict over all repeats. This repeats `Tally`, which is too slow to import here."""
        needed = self.needed_of.get(case_id, self.needed)
        if len(verdicts) - verdicts.count("failed") < (len(verdicts) if needed is None else needed):
            return "failed"
        return next((verdict for verdict in _WORST_FIRST if verdict in verdicts), "passed")

    def _lines(self) -> Iterator[tuple[bytes, Trial]]:
        """Yield each complete line that counts, with its case, repeat and verdict."""
        most = _MOST_BYTES if self.seal is None else min(self.seal.length, _MOST_BYTES)
        try:
            with (self.folder / JOURNAL_FILE).open("rb") as file:
                data = file.read(most)
        except OSError:
            return
        for line in data.split(b"\n")[:-1]:  # what follows the last newline is incomplete, or beyond the limit
            head = line_head(line)
            if head is not None:
                yield line, head


def summaries(runs: Path) -> Iterator[RunSummary]:
    """Yield the newest runs of a folder, the newest first; at most 50."""
    try:
        names = sorted([entry.name for entry in runs.iterdir() if FOLDER_NAME.fullmatch(entry.name)], reverse=True)
    except OSError:
        return
    for name in names[:_MOST_RUNS]:
        summary = _summary(runs / name)
        if summary is not None:
            yield summary


def line_head(line: bytes) -> Trial | None:
    """Return the case, repeat and verdict of a journal line; `None` if it does not begin as Rightcall writes it."""
    head = _LINE_HEAD.match(line)
    if head is None:
        return None
    try:
        return Trial(json.loads(head[2]), int(head[3]), _VERDICTS[head[4].decode()], head[1].decode())
    except (ValueError, KeyError):
        return None


def _summary(folder: Path) -> RunSummary | None:
    try:
        fields = json.loads((folder / HEADER_FILE).read_bytes()[:_MOST_BYTES])
        totals = {str(name): int(count) for name, count in (fields.get("totals") or {}).items()}
        branch, seal = fields.get("branch"), fields.get("journal")
        return RunSummary(
            folder=folder,
            id=str(fields["id"]),
            evalset=str(fields["evalset"]),
            started=str(fields["started"]),
            is_finished=fields.get("finished") is not None,
            totals=totals,
            branch=branch if isinstance(branch, str) else None,
            seal=None if seal is None else SealedPart(int(seal["length"]), str(seal["sha256"])),
            has_agent=fields.get("agent") != "",
            **_counting(fields.get("options") or {}),
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def _counting(options: dict[str, Any]) -> dict[str, Any]:
    """Return the options that determine how cases are counted."""
    needed, needed_of = options.get("min_repeat_pass"), options.get("needed") or {}
    return {
        "quarantined": frozenset(options.get("quarantined") or ()),
        "needed": needed if isinstance(needed, int) else None,
        "needed_of": {case_id: count for case_id, count in needed_of.items() if isinstance(count, int)},
    }


def _first_message(line: bytes) -> str:
    """Return the first message of a result, without secrets; an empty one if the line is damaged."""
    # Imported here, for 30 ms of CPU time: neither completion nor a run that passed needs it.
    from rightcall.errors import RightcallError
    from rightcall.values.redaction import redacted_document

    try:
        # The whole result, not the message alone: a secret that is cut in the message is known from the calls.
        fields: Any = json.loads(redacted_document(line.decode()))
        return str(fields["findings"][0]["finding"]["message"])
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError, RightcallError):
        return ""
