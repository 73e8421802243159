"""The folders of runs: create, find and resume them; baselines, and reports of faults."""

from __future__ import annotations

import platform
import secrets
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, get_args

import msgspec

from rightcall.errors import InputError, StoreError
from rightcall.files import replace_file
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.results import (
    CaseRepeats,
    CaseResult,
    EvaluatorTotals,
    MutationReport,
    OverallResult,
    Quarantine,
    Tally,
    Totals,
    Verdict,
)
from rightcall.version import __version__

from ._header import GateRecord, Header, Sample, Seal, read_header, write_header
from ._journal import (
    Journal,
    JournalEntry,
    JournalLine,
    JournalReader,
    RunSpans,
    SpanFile,
    SpanIndex,
    damage_reported_last,
    has_spans,
    is_being_written,
    last_results,
    mark_at,
    read_journal,
    read_lines,
    sealed_lines,
)
from ._run_files import make_private, os_errors_at
from ._summaries import FOLDER_NAME, HEADER_FILE, JOURNAL_FILE, Trial, line_head

RUNS = Path(".rightcall") / "runs"
"""The default folder of runs, relative to the current folder."""

_SHOWN = 4
_VERDICTS: dict[str, Verdict] = {verdict: verdict for verdict in get_args(Verdict)}
_SCHEMA = 1
_FILE = "mutants.json"
_PRIVATE = 0o600
_MOST_BYTES = 50_000_000


class RunFolder(msgspec.Struct, frozen=True):
    """A run on the disk: its folder, and its header as it was when the run was opened."""

    folder: Path
    header: Header

    @property
    def short_id(self) -> str:
        """The beginning of its id, for display."""
        return self.header.id[:_SHOWN]

    @property
    def needed(self) -> int | None:
        """The number of repeats of a case that have to pass; `None` means all."""
        needed = self.header.options.get("min_repeat_pass")
        return needed if isinstance(needed, int) else None

    @property
    def needed_of(self) -> dict[str, int]:
        """Overrides of `needed` for single cases, by id."""
        found = self.header.options.get("needed")
        if not isinstance(found, dict):
            return {}
        return {case_id: count for case_id, count in found.items() if isinstance(count, int)}

    @property
    def quarantined(self) -> dict[str, Quarantine]:
        """The cases that were in quarantine when the run began, by id."""
        found = self.header.options.get("quarantined")
        try:
            return msgspec.convert(found or {}, dict[str, Quarantine])
        except msgspec.ValidationError:
            return {}

    def totals(self) -> Totals:
        """Return the number of cases by verdict, without those in quarantine. Raises `StoreError`."""
        return self.tally().totals()

    def verdicts(self) -> dict[str, Verdict]:
        """Return the verdict of each case over all its repeats, without decoding its results.

        Raises:
            StoreError: the journal cannot be read.
        """
        return self.tally().verdicts()

    def repeats(self, *, always: bool = False) -> dict[str, CaseRepeats]:
        """Return all repeats of each case; empty if no case has more than one, unless `always`.

        Raises:
            StoreError: the journal cannot be read.
        """
        return self.tally().repeats(always=always)

    def tally(self) -> Tally:
        """Count its trials, without decoding their results. Raises `StoreError`."""
        tally = Tally(self.needed, self.needed_of, self.quarantined)
        for trial in self.trials():
            tally.count(trial.case_id, trial.verdict, trial.repeat)
        return tally

    def trials(self) -> Iterable[Trial]:
        """Return each case and repeat with its verdict, without decoding its results. Raises `StoreError`."""
        return read_trials(self.folder).values()

    def entries(self) -> Iterator[JournalEntry]:
        """Yield every line of its journal that counts. Raises `StoreError`."""
        return read_journal(self.folder)

    def reading(self) -> JournalReader:
        """Return a reader of its journal, which can continue as it grows."""
        return JournalReader(self.folder)

    def lines(self, begin: int = 0, number: int = 0) -> Iterator[JournalLine]:
        """Yield the lines of its journal from an offset on, after `number` lines. Raises `StoreError`."""
        return read_lines(self.folder, begin, number)

    def mark_at(self, begin: int) -> int | None:
        """Return the mark of the line at an offset of its journal, if there is one. Raises `StoreError`."""
        return mark_at(self.folder, begin)

    @property
    def is_being_written(self) -> bool:
        """Whether a process is writing to it now, as far as that can be found out."""
        return is_being_written(self.folder)

    def results(self) -> Iterator[CaseResult]:
        """Yield the result of every case and repeat, the last one if there are several, in the order of the journal.

        Raises:
            StoreError: the journal cannot be read, or another program has changed it or the totals in the header. Then
                no result is returned.
        """
        self.check()
        return last_results(self.entries)

    def journal(self) -> Journal:
        """Open its journal for writing. Raises `StoreError`."""
        return Journal(self.folder)

    def spans(self, case_id: str, repeat: int = 0) -> RunSpans:
        """Return the recorded spans of one run of a case; empty if the run did not keep them.

        For the spans of many cases use one `SpanIndex`, which reads the file once.

        Raises:
            StoreError: they cannot be read.
        """
        return SpanIndex(self.folder).spans(case_id, repeat)

    @property
    def has_spans(self) -> bool:
        """Whether it kept spans."""
        return has_spans(self.folder)

    def span_file(self) -> SpanFile:
        """Open the file with its spans for writing; only the holder of its journal may. Raises `StoreError`."""
        return SpanFile(self.folder)

    def finish(
        self,
        totals: Totals,
        evaluators: dict[str, EvaluatorTotals],
        seconds: float,
        *,
        is_complete: bool,
        rate: float | None = None,
        overall: tuple[OverallResult, ...] = (),
        gate: GateRecord | None = None,
        sample: Sample | None = None,
        journal: Journal | None = None,
    ) -> RunFolder:
        """Write the totals to the header; with a `journal`, the seal is taken from it. Raises `StoreError`."""
        finished = _now().isoformat() if is_complete else None
        header = msgspec.structs.replace(
            self.header,
            totals=totals,
            rate=rate,
            evaluators=evaluators,
            seconds=seconds,
            finished=finished,
            overall=overall,
            gate=gate,
            sample=sample,
        )
        if journal is not None:
            journal.replace_header(header)
            return RunFolder(self.folder, journal.header)
        header = msgspec.structs.replace(header, journal=read_header(self.folder).journal)
        write_header(self.folder, header)
        return RunFolder(self.folder, header)

    def check(self) -> None:
        """Check that the journal and the header are as the run wrote them. Raises `StoreError` if not."""
        counted = Totals.of(self.verdicts().values())
        header = read_header(self.folder)
        if header.totals is None or header.finished is None or header.sample is not None:
            return
        # The journal may have more: cases that were removed from the eval set before the run was resumed.
        pairs = zip(msgspec.structs.astuple(header.totals), msgspec.structs.astuple(counted), strict=True)
        if any([claimed > found for claimed, found in pairs]):
            raise StoreError(
                f"{self.folder}: changed by another program: {HEADER_FILE} counts {header.totals}, and the journal "
                f"has {counted}; run the eval set again"
            )


def create_run(runs: Path, **known: Any) -> RunFolder:
    """Create a new run, in a new folder that only its owner can read.

    Args:
        runs: The folder of all runs; it is created if needed.
        known: Fields of the header: `agent`, `evalset`, `evalset_hash` and so on.

    Raises:
        StoreError: the folder cannot be made.
    """
    with os_errors_at(runs):
        _make_parents(runs)
    while True:
        now, identity = _now(), secrets.token_hex(3)
        folder = runs / f"{now:%Y%m%dT%H%M%S}.{now.microsecond // 1000:03}Z-{identity}"
        with os_errors_at(folder):
            try:
                make_private(folder)
                break
            except FileExistsError:
                continue  # another run began in the same millisecond, with the same id
    header = Header(
        id=identity,
        started=now.isoformat(),
        rightcall=__version__,
        python=platform.python_version(),
        platform=_platform(),
        journal=Seal(),
        **known,
    )
    write_header(folder, header)
    return RunFolder(folder, header)


def open_run(name: str, runs: Path = RUNS) -> RunFolder:
    """Open a run by its folder, by the beginning of its id or folder name, by a branch, or `last`.

    A branch means its newest run.

    Raises:
        StoreError: there is no such run, or there are several, or it cannot be read.
    """
    if (Path(name) / HEADER_FILE).is_file():
        return _opened(Path(name))
    folders = list_runs(runs)
    if not folders:
        raise StoreError(f"{runs}: there are no runs here yet")
    if name == "last":
        return _opened(folders[-1])
    found = [folder for folder in folders if folder.name.startswith(name) or _id(folder).startswith(name)]
    if name and len(found) == 1:
        return _opened(found[0])
    if name and found:
        raise StoreError(f"several runs begin with {name!r:.80}: {', '.join([folder.name for folder in found[:5]])}")
    for folder in reversed(folders):
        run = _opened(folder)
        if run.header.branch == name:
            return run
    newest = ", ".join([_id(folder) for folder in folders[:-4:-1]])
    raise StoreError(f"no run {name!r:.80} in {runs}; the newest: {newest}")


def list_runs(runs: Path) -> list[Path]:
    """Return the folders of runs, oldest first; other files and folders are left out. Raises `StoreError`."""
    if not runs.is_dir():
        return []
    with os_errors_at(runs):
        named = [folder for folder in runs.iterdir() if FOLDER_NAME.fullmatch(folder.name)]
        return sorted([folder for folder in named if (folder / HEADER_FILE).is_file()])


def run_folder(runs: Path, name: str) -> Path | None:
    """Return the folder of a run by its name, if `list_runs` lists it."""
    if not FOLDER_NAME.fullmatch(name):
        return None  # any other name could be a path out of this folder
    return folder if ((folder := runs / name) / HEADER_FILE).is_file() else None


def _opened(folder: Path) -> RunFolder:
    return RunFolder(folder, read_header(folder))


def _id(folder: Path) -> str:
    return folder.name.rpartition("-")[2]


def _now() -> datetime:
    return datetime.now(UTC)


def _platform() -> str:
    """Return the system, its release and the machine.

    `platform.platform()` returns little more, but starts `uname -p` and searches the interpreter's file for its C
    library version, which takes 1 ms in every run.
    """
    known = platform.uname()
    return f"{known.system}-{known.release}-{known.machine}"


def _make_parents(runs: Path) -> None:
    """Create missing folders, each accessible only to its owner."""
    missing = []
    while not runs.exists():
        missing.append(runs)
        runs = runs.parent
    for folder in reversed(missing):
        try:
            make_private(folder)
        except FileExistsError:
            continue  # another run made it in the meantime
    if missing:
        runs = missing[0]
    # If the folder cannot be listed, fail now, not after the first case.
    next(runs.iterdir(), None)


def read_trials(folder: Path) -> dict[tuple[str, int], Trial]:
    """Return each case and repeat with its verdict, from sealed lines. The last line of each counts.

    Raises:
        StoreError: the journal cannot be read, a line in it is not a result, or another program has changed it.
    """
    found: dict[tuple[str, int], Trial] = {}
    lines = sealed_lines(folder)
    for number, line in enumerate(lines, start=1):
        with damage_reported_last(lines):
            trial = line_head(line) or _decoded(line, f"{folder / JOURNAL_FILE}:{number}")
        found[trial.case_id, trial.repeat] = trial
    return found


def _decoded(line: bytes, where: str) -> Trial:
    try:
        fields: Any = load_json(line)
        case_id, repeat, verdict = fields["case_id"], fields["repeat"], _VERDICTS[fields["verdict"]]
        if not isinstance(case_id, str) or not isinstance(repeat, int):
            raise InputError("not a line of a run's journal")
    except (InputError, LookupError, TypeError) as problem:
        raise StoreError(f"{where}: this line is damaged ({problem}); remove it, and its case is run again") from None
    return Trial(case_id, repeat, verdict, str(fields.get("digest", "")))


class BaselineCase(msgspec.Struct, frozen=True, kw_only=True):
    """The trials of one case, and the digest of its question."""

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
    """Pooled trials of several runs, by case."""

    schema: int = _SCHEMA
    """The version of this format. A file with a greater one is refused."""
    evalset: str
    commit: str | None = None
    runs: tuple[str, ...] = ()
    cases: dict[str, BaselineCase]

    def text(self) -> str:
        """Return the text of the file: sorted, one case per line, without times, so that diffs are readable."""
        head = {"schema": self.schema, "evalset": self.evalset, "commit": self.commit, "runs": list(self.runs)}
        lines = [f"{dump_json(key)}: {dump_json(value)}," for key, value in head.items()]
        cases = [f"{dump_json(key)}: {dump_json(_plain(self.cases[key]))}" for key in sorted(self.cases)]
        return "\n".join(["{", *[f"  {line}" for line in lines], '  "cases": {', _listed(cases), "  }", "}"]) + "\n"


def pooled(runs: Sequence[RunFolder]) -> Baseline:
    """Pool the trials of runs, the oldest first.

    A case whose question changed counts from its last question on. Cases in quarantine do not count.

    Raises:
        StoreError: a run is not finished, has only examples, or differs in its eval set or in `--replay`.
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
        raise StoreError(
            f"run {run.short_id} and others differ in --replay, so their tools may have answered differently"
        )


def _counted(question: str, verdicts: Sequence[str]) -> BaselineCase:
    counts = {name: verdicts.count(name) for name in ("passed", "failed", "error", "not_measured")}
    return BaselineCase(question=question, **counts)


def _plain(case: BaselineCase) -> Any:
    return msgspec.to_builtins(case)


def _listed(lines: Sequence[str]) -> str:
    return ",\n".join([f"    {line}" for line in lines])


def keep_mutation(folder: Path, report: MutationReport) -> None:
    """Save a report in the folder of a run, replacing an older one. Raises `StoreError`."""
    path = folder / _FILE
    with os_errors_at(path):
        replace_file(path, msgspec.json.encode(report), _PRIVATE)


def kept_mutation(folder: Path) -> MutationReport | None:
    """Return the saved report; `None` if there is none. Raises `StoreError`."""
    path = folder / _FILE
    if not path.is_file():
        return None
    with os_errors_at(path):
        if path.stat().st_size > _MOST_BYTES:
            raise StoreError(f"{path}: has more than {_MOST_BYTES:,} bytes; run `rightcall mutate` again")
        data = path.read_bytes()
    try:
        return msgspec.json.decode(data, type=MutationReport)
    except msgspec.DecodeError as problem:
        raise StoreError(f"{path}: is damaged ({problem}); run `rightcall mutate` again") from None
