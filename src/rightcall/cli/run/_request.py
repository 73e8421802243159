"""The options of `rightcall run`, checked, and the variants of an agent."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import click
import msgspec

from rightcall.cases.evalsets import Case, EvalSet
from rightcall.errors import InputError, StoreError, nearest
from rightcall.reporting.store import RUNS, RunFolder
from rightcall.running import runner
from rightcall.running.project import OWN_FILE, Configuration, recording_path

_MODEL, _PROMPT = "RIGHTCALL_MODEL", "RIGHTCALL_PROMPT"
_Count: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]

_Share: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=1)]

_KEPT = (
    *(
        "cases",
        "tags",
        "only",
        "skipped",
        "workers",
        "concurrency",
        "timeout",
        "max_memory",
        "repeat",
        "min_repeat_pass",
        "min_pass",
    ),
    *("fail_fast", "strict_agent", "record", "replay", "live", "variant", "spans", "redact"),
    *("repeat_least", "is_repeat_given", "needed"),
    *("gate", "rule_out", "allow_drop", "confidence", "inconclusive", "min_rate", "must"),
)
"""The options that the header of a run keeps, so that it can be resumed without giving them again. Not trust."""


class Variant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One way to run the agent, as written in `[variants]` of the configuration."""

    agent: str | None = None
    """Another agent than the one of the command line, the eval set or the configuration."""
    model: str | None = None
    prompt: str | None = None
    environment: dict[str, str] = {}

    @property
    def variables(self) -> dict[str, str]:
        """The variables that the agent sees: those of the variant, its model and its prompt."""
        named = {_MODEL: self.model, _PROMPT: self.prompt}
        return {**self.environment, **{name: value for name, value in named.items() if value is not None}}


def variant_named(configuration: Configuration, name: str) -> Variant:
    """Return a variant of the configuration.

    Raises:
        InputError: there is none of this name, or it is not one.
    """
    table = configuration.values.get("variants")
    known = list(table) if isinstance(table, dict) else []
    if name not in known or not isinstance(table, dict):
        raise InputError(f"no variant {name!r:.80} below [variants] in {OWN_FILE}; {nearest(name, known)}")
    try:
        return msgspec.convert(table[name], Variant)
    except msgspec.ValidationError as problem:
        raise InputError(f"{configuration.path}: variants.{name}: {problem}") from None


class RunRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a run, from the command line and the configuration."""

    names: list[str]
    configuration: Configuration
    given: list[str]
    """The options that were given on the command line."""
    cases: list[str] = []
    tags: list[str] = []
    only: list[str] = []
    skipped: list[str] = []
    failed: bool = False
    workers: _Count | None = None
    concurrency: _Count | None = None
    timeout: Annotated[float, msgspec.Meta(gt=0)] | None = None
    max_memory: int | None = None
    repeat: _Count = 1
    """The most times that each case is run."""
    repeat_least: _Count = 1
    """How often each case is run before a gate may stop the run."""
    min_repeat_pass: _Count | None = None
    min_pass: _Share | None = None
    is_repeat_given: bool = False
    """Whether the command line says how often each case is run, which then overrides the eval set."""
    needed: dict[str, int] = {}
    """How many repeats of single cases have to pass, if the command line does not say it."""
    gate: str | None = None
    rule_out: _Share | None = None
    allow_drop: _Share | None = None
    confidence: _Share | None = None
    inconclusive: Literal["pass", "fail"] | None = None
    min_rate: _Share | None = None
    must: list[str] = []
    fail_fast: bool = False
    strict_agent: bool = False
    record: bool = False
    replay: bool = False
    live: list[Literal["tools", "model"]] = []
    """What stays live: it is neither recorded nor replayed."""
    prune: bool = False
    """Whether cases that the eval set no longer has are removed from a recording."""
    spans: bool = True
    resume: str | None = None
    recorded: tuple[str, str] | None = None
    """The agent and the eval set of the run that is resumed."""
    variants: list[str] = []
    """The variants to run, side by side."""
    variant: str | None = None
    """The variant that is run."""
    runs: str | None = None
    trust: bool = False
    formats: list[str] = []
    max_detail: int = 10
    output_file: str | None = None
    is_detailed: bool = False
    redact: bool | None = None
    """Whether to leave secrets out: of everything or of nothing; by default of what is printed, not of what is kept."""

    @property
    def runs_folder(self) -> Path:
        """The folder of runs. A relative path in the configuration starts at the folder of that file."""
        if self.runs is None:
            return RUNS
        return Path(self.runs) if "runs" in self.given else self.configuration.folder / self.runs

    @property
    def environment(self) -> dict[str, str]:
        """The variables that the variant of this run sets for the agent."""
        return variant_named(self.configuration, self.variant).variables if self.variant is not None else {}

    def rounds(self, case: Case) -> int:
        """Return how often a case is run, by the command, the case, its defaults or the configuration, in this order.

        If a gate may stop early, a case's own number is the most.
        """
        if self.repeat_least < self.repeat and case.is_repeat_own:
            return min(self.repeat, case.repeat or self.repeat)
        return self.repeat if self.is_repeat_given else case.repeat or self.repeat

    def needed_of(self, case: Case) -> int | None:
        """Return how many repeats of a case have to pass, by the command, the case or the configuration, in this order.

        If the case is run less often than that, all have to.
        """
        own = None if "min_repeat_pass" in self.given else case.min_repeat_pass
        needed = self.min_repeat_pass if own is None else own
        return None if needed is None else min(needed, self.rounds(case))

    def check(self) -> None:
        """Refuse options that contradict each other. Raises `click.UsageError`."""
        if self.record and self.replay:
            raise click.UsageError("--record runs the real tools, --replay does not: give one of them")
        if self.prune and not self.record:
            raise click.UsageError("--prune is about a recording that is made: give --record as well")
        if self.live and not (self.record or self.replay):
            raise click.UsageError("--live says what --record or --replay leaves real: give one of them as well")
        is_more = self.min_repeat_pass is not None and self.min_repeat_pass > self.repeat
        if is_more and (self.is_repeat_given or "min_repeat_pass" in self.given):
            raise click.UsageError(f"--min-repeat-pass {self.min_repeat_pass} is more than --repeat {self.repeat}")
        self._check_gate()
        if self.resume is not None and self.failed:
            raise click.UsageError("--resume continues that run; --failed begins a new one")

    def is_live(self, what: Literal["tools", "model"]) -> bool:
        """Return whether tools, or the model, stay live while others are recorded or replayed."""
        return what in self.live

    @property
    def is_gated(self) -> bool:
        """Whether a gate decides the exit code."""
        return self.gate is not None or self.min_rate is not None or bool(self.must)

    def _check_gate(self) -> None:
        if not self.is_gated:
            if self.repeat_least < self.repeat:
                plan = f"--repeat {self.repeat_least}..{self.repeat}"
                raise click.UsageError(f"{plan} stops when a gate has decided: give --gate or --min-rate as well")
            return
        for name in ("min_pass", "min_repeat_pass"):
            if name in self.given:
                option = f"--{name.replace('_', '-')}"
                raise click.UsageError(f"{option} and a gate both decide the exit code: give one of them")
        if self.fail_fast:
            raise click.UsageError("a gate looks at whole rounds, and --fail-fast stops within one: give one of them")

    def resumed(self, run: RunFolder) -> RunRequest:
        """Return these options, completed by those that the run was started with.

        Raises:
            StoreError: the run has options that no command can have started it with.
        """
        given = {*self.given, *(["repeat_least", "is_repeat_given"] if "repeat" in self.given else [])}
        kept = {key: value for key, value in run.header.options.items() if key in _KEPT and key not in given}
        if "repeat" not in given:
            kept.setdefault("repeat_least", kept.get("repeat", self.repeat))
        fields = {name: getattr(self, name) for name in self.__struct_fields__}
        try:
            return msgspec.convert({**fields, **kept, "recorded": (run.header.agent, run.header.evalset)}, RunRequest)
        except msgspec.ValidationError as problem:
            raise StoreError(f"{run.folder / 'run.json'}: not the options of a run: {problem}") from None

    def kept(self) -> dict[str, Any]:
        """Return the options to keep in the header of a run."""
        kept = {name: getattr(self, name) for name in _KEPT}
        if self.repeat_least == self.repeat:  # it says nothing then
            del kept["repeat_least"]
        return kept

    def run_options(self, eval_set: EvalSet, stood_in: Sequence[str] = ()) -> runner.RunOptions:
        """Return the options of the runner; `stood_in` are the tools that mocks and recordings stand in for."""
        return runner.RunOptions(
            workers=self.workers or 0,
            concurrency=self.concurrency or 0,
            timeout=self.timeout or eval_set.timeout or runner.DEFAULT_TIMEOUT,
            max_memory=self.max_memory or runner.DEFAULT_MEMORY,
            record=self.record,
            replay=self.replay,
            live=self.live,
            spans=self.spans,
            answers=[eval_set.path, str(recording_path(eval_set.path)), str(self.runs_folder)],
            strict_agent=self.strict_agent,
            stood_in=stood_in,
            environment=self.environment,
        )
