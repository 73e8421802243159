"""One scoring command: find which fragments are scored already, and score the others in worker processes."""

from __future__ import annotations

import sys
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec
import pyarrow as pa
from msgspec.structs import replace
from pyarrow import parquet

from rightcall.cases.evalsets import Case, quarantined_cases
from rightcall.cases.verdicts import CASE_ATTRIBUTE, judge
from rightcall.errors import ConfigurationError, InputError, RightcallError, StoreError
from rightcall.reading import Reading
from rightcall.reporting.paths import PathCounts
from rightcall.scale.columns import (
    FIELDS,
    SCORES,
    ColumnPaths,
    Plan,
    joined_rows,
    plain_rows,
    score_batch,
    trajectory_of,
)
from rightcall.scale.processes import Do, Heard, Pool, start_method
from rightcall.values.decoding import dump_json
from rightcall.values.results import CaseResult
from rightcall.values.trajectory import Trajectory

from ._batches import Cut, Rows, any_remote, batches, find_fragments, rows_of, sort_spans
from ._counts import A_RULE, Counting, Summary, read_part, write_part
from ._files import reason
from ._fragments import KEY, PATHS, SUMMARY, Fragment, Output

_ASKED_AT_ONCE = 16
_PATIENCE = 0.2
"""Seconds between two calls of `stop`."""


def score_fragment(fragment: Fragment, plan: Plan, out: str, *, tell: Callable[[int], None] | None = None) -> int:
    """Score a fragment into one file of the folder `out`, and return the number of rows.

    The file has the name `fragment.file`, and the same bytes whichever process scores it. It appears only when it is
    complete, so two processes may score the same fragment, even at once. `tell` is called with the number of rows of
    each batch that is scored.

    Raises:
        InputError: the fragment cannot be read.
        StoreError: the file cannot be written.
    """
    output = Output(out)
    counting = ColumnPaths(PathCounts()) if fragment.counts_paths else None
    if counting is None:
        return output.write(fragment.file, fragment.fingerprint, _scored(fragment, plan, tell))

    def scored() -> Iterator[pa.RecordBatch]:
        yield from _scored(fragment, plan, tell, counting)
        # Before the scores appear: a fragment that has scores has its path counts, too.
        write_part(output, fragment, counting.finish())

    return output.write(fragment.file, fragment.fingerprint, scored())


def score_lines(lines: Iterable[bytes], plan: Plan, counting: ColumnPaths | None = None) -> pa.RecordBatch:
    """Score trajectories given as JSON lines; a line that cannot be read gets the verdict `error`."""
    rows = joined(rows_of(lines), plan)
    scores = _with_problems(score_batch(rows.batch, plan), rows)
    if counting is not None:
        counting.add(rows.batch, scores.column("verdict").to_pylist())
    return scores


def joined(rows: Rows, plan: Plan) -> Rows:
    """Join rows to their cases: a row that fits several cases is repeated for each."""
    batch, made_of = joined_rows(rows.batch, plan)
    if made_of is None or not rows.problems:
        return Rows(batch, rows.problems)
    return Rows(batch, {at: rows.problems[row] for at, row in enumerate(made_of) if row in rows.problems})


def _scored(
    fragment: Fragment, plan: Plan, tell: Callable[[int], None] | None, counting: ColumnPaths | None = None
) -> Iterator[pa.RecordBatch]:
    fields = plan.fields
    if counting is not None and fields is not None:
        fields = fields | frozenset(FIELDS)
    for rows in batches(fragment, fields):
        rows = joined(rows, plan)
        scores = _with_problems(score_batch(rows.batch, plan), rows)
        if counting is not None:
            counting.add(rows.batch, scores.column("verdict").to_pylist())
        yield scores
        if tell is not None:
            tell(rows.batch.num_rows)


def _with_problems(scores: pa.RecordBatch, rows: Rows) -> pa.RecordBatch:
    """Set the verdict of rows that could not be read to `error`, with the reason, whatever case they belong to."""
    if not rows.problems:
        return scores
    for name, replaced in (("verdict", dict.fromkeys(rows.problems, "error")), ("error", rows.problems)):
        place = scores.schema.get_field_index(name)
        texts = [replaced.get(number, text) for number, text in enumerate(scores.column(place).to_pylist())]
        scores = scores.set_column(place, scores.schema.field(place), pa.array(texts, pa.string()))
    return scores


_ROWS = 65_536


def summarise(
    out: str, cases: Iterable[str] = (), *, failed_parts: int = 0, quarantined: frozenset[str] = frozenset()
) -> Summary:
    """Return the summary of the scores in a folder: every Parquet file there with the columns of `SCORES`.

    Raises:
        StoreError: the folder, or a file of scores in it, cannot be read.
    """
    counting = Counting(quarantined=quarantined)
    output = Output(out)
    names = [name for name in output.names() if name.endswith(".parquet") and not name.startswith(("_", "."))]
    for name in names:
        count_file(output, name, counting)
    return counting.summary(cases, failed_parts=failed_parts)


def count_fragment(fragment: Fragment, output: Output, plan: Plan) -> Counting:
    """Return the counts of the scores of a fragment. Raises `StoreError`."""
    counting = Counting(quarantined=frozenset(quarantined_cases(plan.cases)))
    count_file(output, fragment.file, counting, fragment.fingerprint)
    return counting


def count_file(output: Output, name: str, counting: Counting, fingerprint: str | None = None) -> None:
    """Count the scores in a file. Raises `StoreError`, also if a fingerprint is given and the file has another."""
    where = output.place.below(name)
    try:
        with where.system.open_input_file(where.path) as file:
            table = parquet.ParquetFile(file, pre_buffer=not where.is_local)
            written = (table.schema_arrow.metadata or {}).get(KEY, b"").decode(errors="replace")
            if fingerprint is not None and written != fingerprint:
                raise StoreError(f"{where.address}: another command has written this file in the meantime")
            if fingerprint is None and not set(SCORES.names) <= set(table.schema_arrow.names):
                return
            first = 0
            for batch in table.iter_batches(_ROWS, columns=SCORES.names, use_threads=False):
                counting.add(batch, name, first)
                first += batch.num_rows
    except (pa.ArrowException, OSError) as problem:
        raise StoreError(f"{where.address}: these scores cannot be read: {reason(problem)}") from None


def write_summary(out: str, summary: Summary) -> None:
    """Write the summary beside the scores, after all of them. Raises `StoreError`."""
    Output(out).put(SUMMARY, (dump_json(summary.to_plain(), indent=2) + "\n").encode())


class Job:
    """The fragments of an input and their files of scores in one folder; a context manager that locks the folder.

    What the same plan has already scored from the same input is not scored again.

    Raises:
        InputError: the input cannot be found or read.
        StoreError: the folder cannot be created, is locked by another command, or has scores of other input.
    """

    def __init__(
        self,
        sources: Sequence[str],
        plan: Plan,
        out: str,
        reading: Reading = Reading(),  # noqa: B008 - it is frozen
        *,
        cut: Cut = Cut(),  # noqa: B008 - it is frozen
        paths: bool = False,
        complain: Callable[[InputError], None] | None = None,
    ) -> None:
        self.plan, self.out = plan, out
        self._output = Output(out)
        self._stack = ExitStack()
        found = find_fragments(sources, plan, reading, cut=cut, out=out, complain=complain)
        self.fragments: list[Fragment] = [_by_file(replace(each, counts_paths=paths), plan) for each in found]
        self.done: dict[str, int] = {}
        """Files of scores that exist already, and how many rows each has."""
        self.counted: dict[str, Counting] = {}
        """The counts of files of scores that the workers of this command wrote."""
        self._sorted: dict[str, Fragment] = {}
        self.waiting: list[Fragment] = []
        """The fragments that are still to be scored."""

    def __enter__(self) -> Job:
        self._output.make()
        self._stack.enter_context(self._output.locked())
        try:
            self._sort_fragments()
            self._output.remove(SUMMARY)
            self._output.remove(PATHS)
            self._output.clean()
            self.waiting = self.ready(self.waiting)
        except BaseException:  # then `__exit__` is not called, and the folder would stay locked
            self._stack.close()
            raise
        return self

    def __exit__(self, *problem: object) -> None:
        self._stack.close()

    def ready(self, fragments: Sequence[Fragment]) -> list[Fragment]:
        """Return the fragments with their buckets: on the first call, sort all spans into buckets.

        Raises:
            InputError: the spans cannot be read or sorted.
        """
        if all([fragment.bucket is not None or fragment.kind != "spans" for fragment in fragments]):
            return list(fragments)
        if not self._sorted:
            folder = self._stack.enter_context(self._output.room())
            self._sorted = {each.file: each for each in sort_spans(self.fragments, folder)}
        return [self._sorted[fragment.file] for fragment in fragments]

    def _sort_fragments(self) -> None:
        """Tell the fragments whose scores are in the folder from those that are waiting. Raises `StoreError`."""
        wanted = {fragment.file: fragment for fragment in self.fragments}
        there = self._output.names()
        mine = self._output.mine(there)
        found = dict(zip(mine, self._fingerprints(mine), strict=True))
        for name, fingerprint in found.items():
            if name not in wanted and fingerprint is not None:
                raise StoreError(
                    f"{self.out}: {name} has scores of other input; choose an empty folder, or remove those scores"
                )
        for fragment in self.fragments:
            fingerprint = found.get(fragment.file)
            is_counted = not fragment.counts_paths or fragment.paths_file in there
            if fingerprint is not None and fingerprint[0] == fragment.fingerprint and is_counted:
                self.done[fragment.file] = fingerprint[1]
            else:
                self.waiting.append(fragment)

    def _fingerprints(self, names: Iterable[str]) -> list[tuple[str, int] | None]:
        if self._output.place.is_local:
            return [self._output.fingerprint(name) for name in names]
        with ThreadPoolExecutor(_ASKED_AT_ONCE) as asking:
            return list(asking.map(self._output.fingerprint, names))

    def count(self) -> Counting:
        """Count all scores, of this command and of earlier ones, in the order of the fragments.

        Files in `counted` are not read again.

        Raises:
            StoreError: a file of scores cannot be read, or another command wrote it.
        """
        there = set(self._output.names())
        scored = [fragment for fragment in self.fragments if fragment.file in there]
        if not self._output.place.is_local:
            self._check_unchanged(scored)
        total = Counting()
        for fragment in scored:
            total.merge(self.counted.get(fragment.file) or count_fragment(fragment, self._output, self.plan))
        return total

    def paths(self) -> PathCounts:
        """Return the path counts of all rows that were scored. Raises `StoreError`."""
        there = set(self._output.names())
        scored = [fragment for fragment in self.fragments if fragment.file in there and fragment.counts_paths]
        total = PathCounts()
        for fragment in scored:
            total.merge(read_part(self._output, fragment))
        return total

    def _check_unchanged(self, fragments: Sequence[Fragment]) -> None:
        """Check that no other command has replaced files: an object store has no locks."""
        found = self._fingerprints([fragment.file for fragment in fragments])
        for fragment, known in zip(fragments, found, strict=True):
            if known is None or known[0] != fragment.fingerprint:
                raise StoreError(f"{self.out}: another command has written {fragment.file} in the meantime")


def _by_file(fragment: Fragment, plan: Plan) -> Fragment:
    """Add the case and repeat in the name of a fragment's file, if rows are joined by them (`--join file=`)."""
    if not plan.rule.reads_file or not plan.is_eval_set:
        return fragment
    if fragment.kind == "spans":
        raise ConfigurationError("--join file= cannot be done with tables of spans: a run may be in several of them")
    found = plan.rule.read_path(fragment.path)
    named = (("case_id", found.get(CASE_ATTRIBUTE)), ("repeat", found.get("repeat")))
    return replace(fragment, named=named if "repeat" in found else named[:1])


MOST = 1_000
"""How many results `exemplars` yields at most."""


def exemplars(job: Job, counting: Counting, most: int = MOST) -> Iterator[CaseResult]:
    """Judge example rows of each evaluator, code and tool again: at least one of each, up to `most` in all.

    Results are named as `score` names them: by their case, or by their row if there is one expectation for all.

    Raises:
        InputError: the input has changed.
    """
    chosen = _chosen(counting, most)
    times: Counter[str] = Counter()
    for fragment in job.ready([fragment for fragment in job.fragments if fragment.file in chosen]):
        for name, trajectory in _rows(fragment, sorted(chosen[fragment.file]), job.plan):
            case = _case(job, trajectory)
            if case is not None:
                yield _named(judge(case, trajectory), name, times)


def _chosen(counting: Counting, most: int) -> dict[str, set[int]]:
    """Choose rows by file: one of each rule, beginning with the rules that most rows broke, then a second of each, …"""
    rules = sorted(counting.exemplars, key=lambda rule: (-counting.rows_of(*rule[1:]), rule))
    chosen: dict[str, set[int]] = {}
    count = 0
    for turn in range(A_RULE):
        for rule in rules:
            place = next(iter(counting.exemplars[rule][turn : turn + 1]), None)
            if place is not None and count < most and place.row not in chosen.setdefault(place.file, set()):
                chosen[place.file].add(place.row)
                count += 1
    return chosen


def _rows(fragment: Fragment, wanted: list[int], plan: Plan) -> Iterator[tuple[str, Trajectory]]:
    """Yield the wanted rows of a fragment with their names, and stop reading after the last."""
    first = 0
    for batch in batches(fragment) if wanted else ():
        rows = joined(batch, plan)
        while wanted and wanted[0] < first + rows.batch.num_rows:
            [row] = plain_rows(rows.batch.slice(wanted.pop(0) - first, 1))
            # Leniently: a field that cannot be read had no part in the verdict, or the row would be an error.
            yield str(row.get("id") or row.get("trace_id") or ""), trajectory_of(row, leniently=True)
        if not wanted:
            return
        first += rows.batch.num_rows


def _case(job: Job, trajectory: Trajectory) -> Case | None:
    plan = job.plan
    joining = plan.joining()
    if joining is None:
        return plan.cases[0]
    if joining.by_fit or plan.every is not None:  # each row has the id of its case
        named = trajectory.metadata.get(CASE_ATTRIBUTE)
        return next((case for case in plan.cases if case.id == named), None)
    return joining.case_of(trajectory)


def _named(result: CaseResult, row: str, times: Counter[str]) -> CaseResult:
    name = result.case_id or row
    times[name] += 1
    if result.case_id:
        return replace(result, repeat=times[name] - 1)
    return replace(result, case_id=name if times[name] == 1 else f"{name}#{times[name]}")


class FragmentOutcome(msgspec.Struct, frozen=True):
    """What a worker returns for a fragment."""

    problem: str = ""
    """Why it could not be scored."""
    counting: Counting | None = None
    """The totals of its scores."""
    is_fatal: bool = False
    """Whether the scores cannot be written, so that no other fragment could be scored either."""


class Scorers:
    """Scores the waiting fragments of a job in worker processes.

    Args:
        job: The job, entered.
        workers: How many processes.
        tell: Called with a fragment, how many more of its rows were scored, and whether it is done. A negative number
            takes back what a worker reported that has died.
        complain: Called with a message for each fragment that could not be scored.
        stop: Returns whether to stop; called several times a second.
    """

    def __init__(
        self,
        job: Job,
        workers: int,
        *,
        tell: Callable[[Fragment, int, bool], None],
        complain: Callable[[object], None],
        stop: Callable[[], bool] = lambda: False,
    ) -> None:
        self._job, self._workers = job, workers
        self._report, self._complain, self._stop = tell, complain, stop
        self._rows: Counter[str] = Counter()
        self.failed = 0
        """How many fragments could not be scored."""

    def run(self) -> None:
        """Score everything.

        Raises:
            KeyboardInterrupt: `stop` returned true.
            StoreError: the scores cannot be written.
        """
        job = self._job
        # Clients of object stores and the reader of Delta tables start threads, which a forked process lacks.
        has_threads = any_remote(job.fragments, job.out) or "deltalake" in sys.modules
        method = "spawn" if has_threads else start_method()
        with Pool(self._workers, _begin, (job.plan, job.out), method) as pool:
            fragments = {pool.submit(fragment): fragment for fragment in job.waiting}
            while pool.is_busy:
                for heard in pool.hear(_PATIENCE):
                    self._hear(fragments[heard.number], heard)
                if self._stop():
                    raise KeyboardInterrupt

    def _hear(self, fragment: Fragment, heard: Heard) -> None:
        if heard.is_lost:
            self._report(fragment, -self._rows.pop(fragment.file, 0), False)
        if heard.is_lost and heard.is_done:
            self._fail(
                f"{fragment}: {heard.attempts} worker processes died while they scored it, the last {heard.death}; it "
                "may need more memory than there is"
            )
        elif heard.is_done:
            self._finish(fragment, heard.value)
        elif not heard.is_lost:
            self._rows[fragment.file] += heard.value
            self._report(fragment, heard.value, False)

    def _finish(self, fragment: Fragment, outcome: FragmentOutcome) -> None:
        if outcome.is_fatal:
            raise StoreError(outcome.problem)
        self._report(fragment, 0, True)
        if outcome.problem:
            self._fail(outcome.problem)
        if outcome.counting is not None:
            self._job.counted[fragment.file] = outcome.counting

    def _fail(self, problem: str) -> None:
        self.failed += 1
        self._complain(problem)


def _begin(plan: Plan, out: str) -> Do:
    """Return the function that does the tasks of a worker."""
    return lambda fragment, tell: _score_one(fragment, plan, out, tell)


def _score_one(fragment: Fragment, plan: Plan, out: str, tell: Callable[[int], None]) -> FragmentOutcome:
    """Score and count a fragment in a worker; what goes wrong is part of the outcome."""
    try:
        score_fragment(fragment, plan, out, tell=tell)
        return FragmentOutcome(counting=count_fragment(fragment, Output(out), plan))
    except StoreError as problem:
        return FragmentOutcome(problem=str(problem), is_fatal=True)
    except RightcallError as problem:
        return FragmentOutcome(problem=str(problem))
    except (BrokenPipeError, ConnectionResetError, MemoryError):
        raise
    except Exception as problem:  # noqa: BLE001 - any other error is a defect of ours, and fails only this fragment
        last = traceback.extract_tb(problem.__traceback__)[-1]
        message = (
            f"{fragment}: a defect in Rightcall: {type(problem).__name__}: {problem} ({last.filename}:{last.lineno})"
        )
        return FragmentOutcome(problem=message)
