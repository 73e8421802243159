"""Join trajectories to the cases they are trials of: by what a trace says, by its file, or by what a case is about."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypeAlias, get_args

import msgspec

from rightcall._lazy import lazy_pattern
from rightcall.cases.evalsets import Case
from rightcall.errors import ConfigurationError, UnknownNameError, nearest
from rightcall.values.trajectory import Trajectory

Join: TypeAlias = str
"""How trajectories are joined to cases.

`attribute`: an attribute of the spans has the id of the case. `trace`: the trace id is the id of the case, or is in its
metadata under `trace_id`. `order`: the first trajectory belongs to the first case, and so on. `key=NAME`: a key of the
log, a line, a row or a span has the id of the case. `file=PATTERN`: the name of the file has it, as in
`file={case}/{repeat}.json`. `auto`: by attribute or trace id; by order if neither names a case for any trajectory and
there are as many trajectories as cases.
"""

JoinKind = Literal["auto", "attribute", "trace", "order", "key", "file"]
JOINS: tuple[str, ...] = ("auto", "attribute", "trace", "order", "key=NAME", "file={case}/{repeat}.json")
"""The ways to join, for people."""

CASE_ATTRIBUTE = "rightcall.case.id"
_REPEAT = "repeat"
_HOLE = lazy_pattern(r"\{([^{}]*)\}|(\*)")
_HOLES = {"case": "(?P<case>[^/]+?)", "repeat": "(?P<repeat>[0-9]{1,9})"}
_MOST_REPEATS = 10**9


class JoinRule(msgspec.Struct, frozen=True):
    """A way to join, taken apart."""

    kind: JoinKind
    name: str = ""
    """The key, or the pattern of files."""

    @property
    def reads_file(self) -> bool:
        """Whether the name of a file says the case."""
        return self.kind == "file"

    def read_path(self, path: str) -> dict[str, Any]:
        """Return what the name of a file says: the id of a case and the number of a repeat; nothing if it does not fit.

        The pattern is compared with the end of the path, folder by folder.
        """
        found = _path_pattern(self.name).search(path.replace("\\", "/")) if self.reads_file else None
        if found is None:
            return {}
        held = found.groupdict()
        repeat = held.get("repeat")
        return {CASE_ATTRIBUTE: held["case"], **({} if repeat is None else {_REPEAT: int(repeat)})}


def join_rule(join: str) -> JoinRule:
    """Take a way to join apart.

    Raises:
        ConfigurationError: a key or pattern is missing, or wrong.
        UnknownNameError: it is not one of the ways to join.
    """
    kind, equals, name = join.partition("=")
    known = get_args(JoinKind)
    if kind not in known or (equals and kind not in ("key", "file")):
        raise UnknownNameError(f"unknown way to join {join!r:.60}; {nearest(kind, known)}")
    if kind == "key" and not name:
        raise ConfigurationError("--join key=NAME needs the name of a key, such as key=ticket_id")
    if kind == "file":
        _check_pattern(name)
    return JoinRule(kind, name)  # type: ignore[arg-type] # one of them, by the check above


def _check_pattern(pattern: str) -> None:
    holes = [hole for hole, star in _HOLE.findall(pattern) if not star]
    odd = next((hole for hole in holes if hole not in _HOLES), None)
    if odd is not None:
        raise ConfigurationError(f"--join file=: unknown part {{{odd}}}; {{case}} and {{repeat}} are known")
    if holes.count("case") != 1 or holes.count("repeat") > 1:
        raise ConfigurationError(
            f"--join file=: the pattern {pattern!r:.80} has to have {{case}} once, and {{repeat}} at most once, as in "
            "file={case}/{repeat}.json"
        )


def _path_pattern(pattern: str) -> re.Pattern[str]:
    made, end = "", 0
    for found in _HOLE.finditer(pattern):
        made += re.escape(pattern[end : found.start()])
        made += "[^/]*" if found[2] else _HOLES[found[1]]
        end = found.end()
    return re.compile(f"(?:^|/){made}{re.escape(pattern[end:])}$")


def recorded_repeat(metadata: Mapping[str, Any]) -> int | None:
    """Return the number of the repeat that a trace says it is; None if it says none."""
    held = metadata.get(_REPEAT)
    if isinstance(held, str) and held.isascii() and held.isdigit() and len(held) < 10:
        held = int(held)
    if not isinstance(held, int) or isinstance(held, bool):
        return None
    return held if 0 <= held < _MOST_REPEATS else None


class Match(msgspec.Struct, frozen=True):
    """A case that a trajectory belongs to, or may belong to."""

    case: Case
    doubt: str = ""
    """Why it is unknown whether the case applies; empty if it does."""


class CaseFinder:
    """Finds the cases of a trajectory by what is recorded in it.

    Raises:
        ConfigurationError: the key or pattern to join by is wrong.
        UnknownNameError: `join` is not one of the ways to join.
    """

    def __init__(
        self,
        cases: Sequence[Case],
        join: Join = "auto",
        attribute: str = CASE_ATTRIBUTE,
        every: Case | None = None,
    ) -> None:
        self.rule = join_rule(join)
        self._attribute = {"key": self.rule.name, "file": CASE_ATTRIBUTE}.get(self.rule.kind, attribute)
        named = [case for case in cases if case.when is None]
        self._by_id = {case.id: case for case in named}
        self._by_trace = {str(case.metadata["trace_id"]): case for case in named if "trace_id" in case.metadata}
        self.by_fit = [case for case in cases if case.when is not None]
        """The cases that apply to every trajectory that fits them."""
        self._every = every

    def named_by_file(self, trajectory: Trajectory, file: str | None) -> Trajectory:
        """Return a trajectory with what the name of its file says, if that is how it is joined."""
        if self.rule.kind != "file":
            return trajectory
        # What the trace says of its case does not count then: the file is the one that was asked for.
        held = {key: value for key, value in trajectory.metadata.items() if key != CASE_ATTRIBUTE}
        return msgspec.structs.replace(trajectory, metadata={**held, **self.rule.read_path(file or "")})

    def matches(self, trajectory: Trajectory) -> list[Match]:
        """Return the cases that a trajectory belongs to: the one it names, and those it fits or may fit."""
        case = self.case_of(trajectory)
        found = [] if case is None else [Match(case)]
        for fitting in self.by_fit:
            fit = fitting.when.fit(trajectory) if fitting.when is not None else None
            if fit is not None and fit.is_possible:
                found.append(Match(fitting, fit.doubt))
        # A case that may apply does not stand for what is expected of every trajectory.
        is_sure = any([not match.doubt for match in found])
        return found if self._every is None or is_sure else [*found, Match(self._every)]

    def case_of(self, trajectory: Trajectory) -> Case | None:
        """Return the case that a trajectory names by an attribute or by its trace id, if any."""
        return self.case_named(trajectory.metadata.get(self._attribute), trajectory.trace_id)

    def case_named(self, named: object, trace_id: str | None) -> Case | None:
        """Return the case with this id or, failing that, the case of this trace, if any."""
        case = None
        if self.rule.kind in ("auto", "attribute", "key", "file") and named is not None:
            # The attribute was set for this purpose, so it wins over the trace id.
            case = self._by_id.get(str(named))
        if case is None and self.rule.kind in ("auto", "trace") and trace_id is not None:
            case = self._by_trace.get(trace_id) or self._by_id.get(trace_id)
        return case
