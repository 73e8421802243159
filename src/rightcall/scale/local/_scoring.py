"""Files of traces in, results of cases out."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from contextlib import closing

import msgspec

from rightcall.cases.evalsets import Case
from rightcall.cases.verdicts import Overall, ToolNames, not_measured_result
from rightcall.errors import InputError
from rightcall.reporting.reports import json_evidence
from rightcall.scale.processes import default_workers

from ._pool import Pool
from ._request import Request
from ._scorer import Scored, Scorer, Stranger
from ._sources import Sources

_WORTH_A_POOL = 1 << 25
"""Fewer bytes than this are read before other processes have begun."""


class Scoring:
    """Recorded traces held against what is expected of them.

    The results, and their order, are the same whatever the number of workers is.
    """

    def __init__(self, request: Request, sources: Sources, *, workers: int | None = None) -> None:
        self._request, self._sources = request, sources
        self._workers = workers or default_workers()
        self._times: Counter[str] = Counter()
        self._positions: Counter[str] = Counter()
        self.strangers = 0
        """How many trajectories belonged to no case."""
        self.overall = Overall()
        """What is asked of all cases together, as far as they are scored."""
        self.names = ToolNames()
        """The tools that rules name and traces have."""

    def results(self) -> Generator[Scored, None, None]:
        """The results, as they come; last those of cases that no trajectory belongs to.

        Raises:
            InputError: no file at all can be read, or the eval set cannot be.
            RightcallError: what is asked cannot be done.
        """
        cases, checks = self._request.load()
        self.overall = Overall(checks)
        expected = self._request.expected()
        self.names = ToolNames([*cases, *([expected] if expected is not None else ())])
        with closing(self._results(cases)) as results:
            for scored in results:
                self.overall.add(scored.seen)
                self.names.add(scored.tools)
                yield scored

    def _results(self, cases: Sequence[Case]) -> Generator[Scored, None, None]:
        if self._request.expectation is not None:
            for name, scored in self._scored():
                if isinstance(scored, Scored):
                    yield self._named(name, scored)
            return
        if self._request.join != "order":
            yield from self._joined()
        in_order = self._request.join == "auto" and not self._times and self.strangers == len(cases)
        if in_order or self._request.join == "order":
            yield from self._in_order()
        for case in cases:
            if not self._times[case.id]:
                result = not_measured_result(case, "RC303", "no trace belongs to this case")
                yield Scored(result, evidence=json_evidence(result), seen=self.overall.see(case, result))

    def _named(self, name: str, scored: Scored) -> Scored:
        """A result whose case is the trajectory itself: known by its trace, or by its place in the file."""
        name = self._sources.name_of(name)
        self._positions[name] += 1
        case_id = scored.trace_id or f"{name}#{self._positions[name]}"
        self._times[case_id] += 1
        times = self._times[case_id]
        result = msgspec.structs.replace(scored.result, case_id=case_id if times == 1 else f"{case_id}#{times}")
        return msgspec.structs.replace(scored, result=result)

    def _joined(self) -> Iterator[Scored]:
        for _, scored in self._scored():
            if isinstance(scored, Scored):
                yield self._repeated(scored)
            else:
                self._pass_over(scored)

    def _pass_over(self, stranger: Stranger) -> None:
        self.strangers += 1
        self.names.add(stranger.tools)

    def _repeated(self, scored: Scored) -> Scored:
        case_id = scored.result.case_id
        repeat = self._times[case_id]
        self._times[case_id] = repeat + 1
        return msgspec.structs.replace(scored, result=msgspec.structs.replace(scored.result, repeat=repeat))

    def _in_order(self) -> Iterator[Scored]:
        """The first trajectory held against the first case, and so on."""
        waiting = iter(self._request.cases())
        pairs = ((next(waiting, None), trajectory) for _, trajectory in self._sources.trajectories())
        self.strangers = 0
        with Scorer(self._request) as scorer:
            for scored in scorer.scored_as(pairs):
                if isinstance(scored, Scored):
                    yield self._repeated(scored)
                else:
                    self._pass_over(scored)

    def _scored(self) -> Iterator[tuple[str, Scored | Stranger]]:
        if self._workers > 1 and sum(map(_size, self._sources.files)) >= _WORTH_A_POOL:
            yield from self._scored_by_others()
            return
        with Scorer(self._request) as scorer:
            yield from scorer.scored(self._sources.trajectories())

    def _scored_by_others(self) -> Iterator[tuple[str, Scored | Stranger]]:
        with Pool(self._request, self._workers) as pool:
            for name, found in pool.scored(self._sources.files):
                if isinstance(found, InputError):
                    self._sources.cannot_read(found)
                else:
                    yield name, found


def _size(path: str) -> int:
    try:
        return os.path.getsize(path)
    except OSError:
        return 0  # whoever reads the file says what is wrong with it
