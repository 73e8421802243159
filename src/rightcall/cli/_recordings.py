"""What tools answered: kept beside an eval set with `--record`, given back with `--replay`."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.running.runner import CaseFinished

from ._run_options import RunOptions


class Recordings:
    """The recording of an eval set, if it is to be made or used.

    Raises:
        InputError: it is to be used, and cannot be read.
    """

    def __init__(self, evalset: str, options: RunOptions) -> None:
        self._is_made, self._is_used = options.record, options.replay
        self._answers: dict[str, list[Any]] = {}
        self._made: dict[str, list[Any]] = {}
        if not (self._is_made or self._is_used):
            return  # and what it needs is not even loaded
        from rightcall.running.mocking import Recording
        from rightcall.running.project import recording_path

        self._path = recording_path(evalset)
        is_there = self._is_used or self._path.exists()
        self._recording = Recording.load(self._path) if is_there else Recording()
        if self._is_used:
            for entry in self._recording.entries:
                self._answers.setdefault(entry.case, []).append(msgspec.to_builtins(entry))

    def of(self, case_id: str) -> list[Any] | None:
        """What the tools of a case are to answer; `None` where they are to be run."""
        return self._answers.get(case_id, []) if self._is_used else None

    def take(self, event: CaseFinished) -> None:
        """Keep what the tools answered, the first time that a case is run, if it came to its end."""
        if self._is_made and event.repeat == 0 and event.outcome.error is None:
            from rightcall.running.mocking import RecordedCall

            self._made[event.case_id] = [msgspec.convert(entry, RecordedCall) for entry in event.recorded]

    def save(self) -> None:
        """Write what was recorded. Cases that were not run keep what was recorded of them before."""
        if self._made:
            entries = [entry for made in self._made.values() for entry in made]
            self._recording.updated(self._made, entries).save(self._path)
