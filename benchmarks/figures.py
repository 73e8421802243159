"""How a section hands over its figures, and how they are measured one by one."""

import subprocess
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from .environments import EnvironmentFailedError
from .rounds import DisagreementError, Pace
from .table import Line
from .workers import WorkerError, Workers

Figure = Callable[[], Iterable[Line]]
"""Measures when it is called; gives one line or a few that come from one measurement."""

Section = Callable[[Workers, Pace], Iterator[Figure]]

_TROUBLE = (DisagreementError, EnvironmentFailedError, WorkerError, OSError, subprocess.SubprocessError)


@dataclass
class Measured:
    """The lines so far, and what kept others from being measured."""

    by_section: dict[str, list[Line]] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)

    @property
    def lines(self) -> list[Line]:
        """The lines of all sections."""
        return [line for lines in self.by_section.values() for line in lines]

    @property
    def missed(self) -> int:
        """How many lines miss their targets."""
        return sum(line.missed for line in self.lines)

    def take(self, name: str, figures: Iterable[Figure]) -> None:
        """Measures every figure; one that cannot be measured does not keep the others from it."""
        lines = self.by_section.setdefault(name, [])
        for figure in figures:
            try:
                lines.extend(figure())
            except _TROUBLE as problem:
                self.problems.append(f"{name}: {problem}")
