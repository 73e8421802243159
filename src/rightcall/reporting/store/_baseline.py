"""Baseline files: the trials of finished runs, pooled, in a file that is kept beside the eval set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from rightcall.errors import InputError, StoreError
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.results import Totals

from ._header import Header
from ._run_files import os_errors_at
from ._runs import RunFolder

_SCHEMA = 1


class BaselineCase(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of one case, and the digest of the question they answer."""

    question: str
    passed: int = 0
    failed: int = 0
    error: int = 0
    not_measured: int = 0

    @property
    def trials(self) -> Totals:
        """The number of trials by verdict."""
        return Totals(self.passed, self.failed, self.not_measured, self.error)


class Baseline(msgspec.Struct, frozen=True, kw_only=True):
    """Pooled trials: by which agent's commit, of which runs, and of each case."""

    schema: int = _SCHEMA
    """The version of this format. A file with a greater one is refused."""
    evalset: str
    commit: str | None = None
    runs: tuple[str, ...] = ()
    cases: dict[str, BaselineCase]

    def text(self) -> str:
        """Return the file: sorted, one case a line, without times, so that a diff of it reads well."""
        head = {"schema": self.schema, "evalset": self.evalset, "commit": self.commit, "runs": list(self.runs)}
        lines = [f"{dump_json(key)}: {dump_json(value)}," for key, value in head.items()]
        cases = [f"{dump_json(key)}: {dump_json(_plain(self.cases[key]))}" for key in sorted(self.cases)]
        return "\n".join(["{", *[f"  {line}" for line in lines], '  "cases": {', _listed(cases), "  }", "}"]) + "\n"


def pooled(runs: Sequence[RunFolder]) -> Baseline:
    """Return the trials of runs, the oldest first. A case whose question changed counts from its last question on,
    and one in quarantine does not count.

    Raises:
        StoreError: a run is not finished, has only examples, or differs from the others in what is not the agent's.
    """
    ordered = sorted(runs, key=lambda run: run.header.started)
    for run in ordered:
        _check(run, ordered[0].header)
    counts: dict[str, tuple[str, list[str]]] = {}
    for run in ordered:
        quarantined = run.quarantined
        for trial in [trial for trial in run.trials() if trial.case_id not in quarantined]:
            question, verdicts = counts.get(trial.case_id, ("", []))
            verdicts = verdicts if question == trial.question else []
            counts[trial.case_id] = trial.question, [*verdicts, trial.verdict]
    newest = ordered[-1].header
    cases = {case_id: _counted(question, verdicts) for case_id, (question, verdicts) in counts.items()}
    return Baseline(
        evalset=newest.evalset, commit=newest.commit, runs=tuple([run.header.id for run in ordered]), cases=cases
    )


def read_baseline(path: Path) -> Baseline:
    """Read a baseline file.

    Raises:
        StoreError: it cannot be read, is not a baseline, or a newer Rightcall wrote it.
    """
    with os_errors_at(path):
        data = path.read_bytes()
    try:
        fields = load_json(data)
        if isinstance(fields, dict) and isinstance(fields.get("schema"), int) and fields["schema"] > _SCHEMA:
            raise StoreError(f"{path}: written by a newer Rightcall (format {fields['schema']}; this one knows 1)")
        return msgspec.convert(fields, Baseline, strict=True)
    except (InputError, msgspec.ValidationError) as problem:
        raise StoreError(f"{path}: not a baseline, which `rightcall baseline` writes: {problem}") from None


def _check(run: RunFolder, first: Header) -> None:
    run.check()
    header = run.header
    if header.finished is None:
        raise StoreError(f"run {run.short_id} is not complete; resume it, or leave it out")
    if header.sample is not None:
        raise StoreError(f"run {run.short_id} keeps only examples of its results, so its trials cannot be counted")
    if Path(header.evalset).resolve() != Path(first.evalset).resolve():
        raise StoreError(f"run {run.short_id} is of {header.evalset}, and others are of {first.evalset}")
    if bool(header.options.get("replay")) != bool(first.options.get("replay")):
        raise StoreError(f"run {run.short_id} and others differ in --replay: their tools did not answer alike")


def _counted(question: str, verdicts: Sequence[str]) -> BaselineCase:
    counts = {name: verdicts.count(name) for name in ("passed", "failed", "error", "not_measured")}
    return BaselineCase(question=question, **counts)


def _plain(case: BaselineCase) -> Any:
    return msgspec.to_builtins(case)


def _listed(lines: Sequence[str]) -> str:
    return ",\n".join([f"    {line}" for line in lines])
