"""The files that traces are read from; one that cannot be read costs that file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from rightcall.errors import InputError
from rightcall.values.trajectory import Trajectory

from ._request import Request


class Sources:
    """Files, read one after the other or, with `together`, as one.

    Users hear of a file by its entry in `names`, if it has one, instead of its path.
    """

    def __init__(
        self,
        request: Request,
        files: Sequence[str],
        *,
        together: bool = False,
        complain: Callable[[object], None],
        names: Mapping[str, str] | None = None,
    ) -> None:
        self._request, self._complain = request, complain
        self._names = names or {}
        self._all: Sequence[str | list[str]] = [list(files)] if together else files
        self._complaints: set[str] = set()
        self.files = () if together else files
        """The files that can be read apart."""
        self.unreadable = 0
        """How many could not be read."""

    def trajectories(self) -> Iterator[tuple[str, Trajectory]]:
        """All trajectories in the order of the files, each with a name for where it comes from.

        Raises:
            InputError: no file at all can be read.
        """
        self.unreadable = 0
        for source in self._all:
            name = self.name_of(source) if isinstance(source, str) else "trajectory"
            try:
                for trajectory in self._request.read(source):
                    yield name, trajectory
            except InputError as problem:
                self.cannot_read(problem)

    def cannot_read(self, problem: InputError) -> None:
        """Tell of a file that cannot be read, once; raise the problem if it is the last of all."""
        problem = self._renamed(problem)
        self.unreadable += 1
        if self.unreadable == len(self._all):
            raise problem
        if str(problem) not in self._complaints:
            self._complaints.add(str(problem))
            self._complain(problem)

    def name_of(self, path: str) -> str:
        """What users call a file."""
        return self._names.get(path, path)

    def _renamed(self, problem: InputError) -> InputError:
        text = str(problem)
        for path, name in self._names.items():
            text = text.replace(path, name)
        return problem if text == str(problem) else InputError(text)
