"""Scoring the same trace files as `agentevals-cli`, command against command."""

import json
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from statistics import median

from benchmarks.adk_traces import CASE_ATTRIBUTE, Files, adk_files
from benchmarks.environments import python_of
from benchmarks.figures import Figure
from benchmarks.processes import cost
from benchmarks.rounds import DisagreementError, Pace
from benchmarks.table import Line, faster, seconds
from benchmarks.workers import Workers

_TRACES = 600
_RIGHTCALL = [sys.executable, "-m", "rightcall", "score"]
_PEER = ["-c", "from agentevals.cli import main; main()", "run"]
# Both end with 1 when a case fails, and half of the traces are meant to.
_SOME_FAILED = (1,)


def agentevals_cli(workers: Workers, pace: Pace) -> Iterator[Figure]:
    """The trajectory match of its command, whose start-up is left out as ours is."""
    del workers
    yield partial(_per_trace, pace.slow_rounds)


def _per_trace(rounds: int) -> Iterator[Line]:
    files = adk_files(_TRACES)
    ours, theirs = _our_command(files), _their_command(files)
    _check_verdicts(files, ours, theirs)
    figure = f"agentevals-cli: each of {_TRACES} traces, EXACT"
    brief = _cpu_seconds(files, [ours, [*theirs, "--output", "summary"]], rounds)
    yield faster(figure, False, brief[0], brief[1], 12)
    whole = _cpu_seconds(files, [[*ours, "--format", "json"], [*theirs, "--output", "json"]], rounds)
    yield Line(f"{figure}, as JSON", "read", seconds(whole[0]), seconds(whole[1]), whole[1] / whole[0])


def _our_command(files: Files) -> list[str]:
    return [*_RIGHTCALL, "--evalset", files.our_eval_set, "--case-attribute", CASE_ATTRIBUTE]


def _their_command(files: Files) -> list[str]:
    match = ["--trajectory-match-type", "EXACT", "--threshold", "1.0"]
    return [str(python_of("agentevals-cli")), *_PEER, "--eval-set", files.adk_eval_set, *match]


def _check_verdicts(files: Files, ours: Sequence[str], theirs: Sequence[str]) -> None:
    """Every trace has to be scored, and to pass for both or for neither."""
    found = json.loads(cost([*ours, "--format", "json", files.many], codes=_SOME_FAILED).output)["cases"]
    peers = json.loads(cost([*theirs, "--output", "json", files.many], codes=_SOME_FAILED).output)["traces"]
    our_verdicts = {case["trajectory"]["trace_id"]: case["verdict"].upper() for case in found}
    their_verdicts = {trace["trace_id"]: trace["metrics"][0]["eval_status"] for trace in peers}
    if our_verdicts != their_verdicts or len(our_verdicts) != _TRACES:
        differing = sum(our_verdicts.get(trace) != verdict for trace, verdict in their_verdicts.items())
        raise DisagreementError(f"{len(our_verdicts)} and {len(their_verdicts)} traces, {differing} verdicts differ")


def _cpu_seconds(files: Files, commands: Sequence[Sequence[str]], rounds: int) -> list[float]:
    """The median CPU time of one trace for each command: that of many traces less that of a few."""
    times = [[_spent(command, files.many) - _spent(command, files.few) for command in commands] for _ in range(rounds)]
    return [median(column) / (_TRACES - files.count_of_few) for column in zip(*times, strict=True)]


def _spent(command: Sequence[str], traces: str) -> float:
    return cost([*command, traces], codes=_SOME_FAILED).seconds
