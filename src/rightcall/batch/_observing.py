"""Files of traces in, the trajectories of each case out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rightcall.errors import InputError
from rightcall.evalsets import Case
from rightcall.trajectory import Trajectory
from rightcall.verdicts import Joining

from ._request import Request


class Observing:
    """Recorded traces, sorted by the cases they belong to, as `Scoring` would judge them.

    A file that cannot be read costs that file.
    """

    def __init__(
        self, request: Request, files: Sequence[str], *, together: bool = False, complain: Callable[[object], None]
    ) -> None:
        self._request = request
        self._sources: Sequence[str | list[str]] = [list(files)] if together else files
        self._complain = complain
        self.unreadable = 0
        """How many files could not be read."""
        self.strangers = 0
        """How many trajectories belong to no case."""

    def trajectories(self) -> Iterator[Trajectory]:
        """All trajectories, in the order of the files.

        Raises:
            InputError: no file at all can be read.
        """
        for source in self._sources:
            try:
                yield from self._request.read(source)
            except InputError as problem:
                self.unreadable += 1
                if self.unreadable == len(self._sources):
                    raise
                self._complain(problem)

    def by_case(self, cases: Sequence[Case]) -> dict[str, list[Trajectory]]:
        """The trajectories of each of these cases, by its id.

        Raises:
            InputError: no file at all can be read.
        """
        joining = Joining(cases, self._request.join, self._request.case_attribute)
        found: dict[str, list[Trajectory]] = {case.id: [] for case in cases}
        strangers: list[Trajectory] = []
        for trajectory in self.trajectories():
            case = None if self._request.join == "order" else joining.case_of(trajectory)
            if case is not None:
                found[case.id].append(trajectory)
                continue
            self.strangers += 1
            if len(strangers) < len(cases):
                strangers.append(trajectory)
        by_order = self._request.join == "auto" and not any(found.values()) and self.strangers == len(cases)
        if by_order or self._request.join == "order":
            self.strangers -= len(strangers)
            return {case.id: [trajectory] for case, trajectory in zip(cases, strangers, strict=False)}
        return found
