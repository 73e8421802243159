"""Summaries of scores and paths, counted part by part in memory that does not grow with the number of rows."""

from __future__ import annotations

import os
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from tempfile import TemporaryDirectory
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from rightcall.errors import InputError, StoreError
from rightcall.reading import Reading
from rightcall.reporting.changes import success
from rightcall.reporting.paths import PathCounts, overview
from rightcall.reporting.reports import paths_plain
from rightcall.scale.columns import FIELDS, ColumnPaths, plain_rows, trajectory_of
from rightcall.values.decoding import decode_json, dump_json, load_json
from rightcall.values.results import EvaluatorTotals, Totals, Verdict, group_words
from rightcall.values.trajectory import Trajectory

from ._batches import Rows, batches, find_fragments, sort_spans
from ._fragments import PATHS, Fragment, Output

BARS = 10
A_RULE = 10
"""How many example rows are kept for each evaluator, code and tool."""
_MOST_RULES = 1_000
_GROUPS_TOLD = 10
_MOST_GROUPS = 100_000
_EXAMPLES = 5
_SLOWEST = 5
_UNMET = 10
_DIFFERING = 50
_RULE = ["evaluator", "code", "tool"]
_NO_CASE = "it belongs to no case"
"""The error of a row that belongs to no case, as the kernel writes it."""

Rule = tuple[str, str, str]
"""An evaluator, a code and a tool."""
Complain = Callable[[InputError], None]


class RuleCount(msgspec.Struct, frozen=True):
    """How many rows have a finding with one code about one tool."""

    code: str
    tool: str
    rows: int

    @property
    def words(self) -> str:
        """Describe the finding: `search: called out of order`."""
        words = group_words(self.code, self.tool)
        return f"{self.tool}: {words}" if self.tool else words


class ExampleRow(msgspec.Struct, frozen=True):
    """A row, and its error or first finding."""

    id: str
    why: str


class Slow(msgspec.Struct, frozen=True):
    """A row, and how long its run took."""

    id: str
    seconds: float


class LabelCounts(msgspec.Struct, frozen=True):
    """How many rows have which verdict here and in the source."""

    both_passed: int = 0
    source_passed: int = 0
    """Rows that passed in the source and failed here."""
    verdict_passed: int = 0
    """Rows that passed here and failed in the source."""
    both_failed: int = 0
    not_said: int = 0
    """Rows for which the source has no verdict."""
    not_measured: int = 0
    differing: tuple[str, ...] = ()
    """Some of the rows with different verdicts."""


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """The summary of scores. Rows of no case or of a quarantined case count in `rows`, but not in `totals`."""

    rows: int
    totals: Totals
    no_case: int = 0
    """Rows that belong to no case."""
    quarantined: int = 0
    """Rows of cases in quarantine."""
    mean_score: float | None = None
    scores: tuple[int, ...] = (0,) * BARS
    """A histogram: how many scores are below 0.1, from 0.1 to 0.2, and so on; the last includes 1.0."""
    groups: tuple[RuleCount, ...] = ()
    """Failures by code and tool, the most frequent first."""
    more_groups: int = 0
    """How many other groups there are."""
    evaluators: dict[str, EvaluatorTotals] = {}
    slowest: tuple[Slow, ...] = ()
    errors: tuple[ExampleRow, ...] = ()
    not_measured: tuple[ExampleRow, ...] = ()
    unmet: tuple[str, ...] = ()
    """The first of the cases that no row belongs to."""
    unmet_cases: int = 0
    """How many cases no row belongs to."""
    failed_parts: int = 0
    """Parts and files of the input that could not be scored."""
    compared: LabelCounts | None = None
    """The comparison with the verdicts of the source, if there are any."""

    @property
    def pass_rate(self) -> float | None:
        """The share of measured rows that passed; None if nothing was measured."""
        return self.totals.rate

    @property
    def exit_code(self) -> int:
        """1 if a row failed; 2 if something could not be measured or there were no rows; 0 if all passed."""
        return self.totals.exit_code or (2 if self.unmet_cases or self.failed_parts else 0)

    def to_plain(self) -> dict[str, Any]:
        """Return the summary as a JSON object."""
        fields = msgspec.to_builtins(self)
        groups = [{**msgspec.to_builtins(group), "words": group.words} for group in self.groups]
        return {"schema": 1, **fields, "pass_rate": self.pass_rate, "groups": groups}


class Place(msgspec.Struct, frozen=True):
    """Where a row of scores is: its file, and its index there."""

    file: str
    row: int


class Counting:
    """Counts batches of scores, one after the other, and summarises them."""

    def __init__(self, exemplars: int = A_RULE, quarantined: frozenset[str] = frozenset()) -> None:
        self._rows = self._no_case = self._apart = 0
        self._quarantined = quarantined
        self._verdicts: Counter[Verdict] = Counter()
        self._bars: Counter[int] = Counter()
        self._score, self._scored = 0.0, 0
        self._groups: Counter[tuple[str, str]] = Counter()
        self._other_groups = 0
        self._evaluators: dict[str, Counter[Verdict]] = {}
        self._scores: dict[str, tuple[float, int]] = {}
        self._slowest: list[Slow] = []
        self._examples: dict[str, list[ExampleRow]] = {"error": [], "not_measured": []}
        self._cases: set[str] = set()
        self._labels: Counter[tuple[bool | None, str]] = Counter()
        self._differing: list[str] = []
        self._exemplars = exemplars
        self.exemplars: dict[Rule, list[Place]] = {}
        """Example rows of each evaluator, code and tool, up to a limit."""

    def add(self, batch: pa.RecordBatch, file: str = "", first: int = 0) -> None:
        """Count a batch whose first row has the index `first` in its file."""
        self._rows += batch.num_rows
        places: Sequence[int] = range(first, first + batch.num_rows)
        if self._quarantined:
            batch, kept = self._without_quarantined(batch)
            places = [places[row] for row in kept]
        verdicts, cases = batch.column("verdict"), batch.column("case_id")
        # By the error, not by a missing case id: with one expectation for all rows, no row has a case id.
        strange = pc.fill_null(pc.equal(batch.column("error"), _NO_CASE), False)
        self._no_case += strange.true_count
        self._verdicts.update(dict(_counts(verdicts.filter(pc.invert(strange)))))
        self._cases.update(cases.unique().drop_null().to_pylist())
        self._count_scores(batch.column("score").drop_null())
        self._count_measures(batch.column("measures"))
        self._count_problems(batch, file, places)
        self._look_for_slow(batch)
        self._count_labels(batch.filter(pc.invert(strange)))
        for verdict, examples in self._examples.items():
            if len(examples) < _EXAMPLES:
                chosen = pc.and_(pc.equal(verdicts, verdict), pc.invert(strange))
                examples += _examples(batch.filter(chosen).slice(0, _EXAMPLES - len(examples)))

    def _without_quarantined(self, batch: pa.RecordBatch) -> tuple[pa.RecordBatch, list[int]]:
        """Return the rows of cases that are not quarantined, and their indices in the batch."""
        cases = batch.column("case_id")
        self._cases.update(cases.unique().drop_null().to_pylist())
        counted = pc.invert(pc.is_in(cases, value_set=pa.array(sorted(self._quarantined), cases.type)))
        self._apart += batch.num_rows - counted.true_count
        return batch.filter(counted), pc.indices_nonzero(counted).to_pylist()

    def _count_labels(self, batch: pa.RecordBatch) -> None:
        labels, verdicts = batch.column("label").to_pylist(), batch.column("verdict").to_pylist()
        self._labels.update(zip(labels, verdicts, strict=True))
        if len(self._differing) < _DIFFERING:
            pairs = zip(
                labels, verdicts, batch.column("id").to_pylist(), batch.column("case_id").to_pylist(), strict=True
            )
            found = [
                f"{name or ''} {case or ''}".strip()
                for label, verdict, name, case in pairs
                if (label, verdict) in ((True, "failed"), (False, "passed"))
            ]
            self._differing += found[: _DIFFERING - len(self._differing)]

    def _compared(self) -> LabelCounts | None:
        counts = self._labels
        if all([label is None for label, _ in counts]):
            return None
        unmeasured = [(label, verdict) for label, verdict in counts if verdict not in ("passed", "failed")]
        return LabelCounts(
            both_passed=counts[True, "passed"],
            source_passed=counts[True, "failed"],
            verdict_passed=counts[False, "passed"],
            both_failed=counts[False, "failed"],
            not_said=sum([count for (label, _), count in counts.items() if label is None]),
            not_measured=sum([counts[each] for each in unmeasured if each[0] is not None]),
            differing=tuple(self._differing),
        )

    def merge(self, other: Counting) -> None:
        """Add the counts of another, as if its rows came after those counted here."""
        self._rows += other._rows
        self._no_case += other._no_case
        self._apart += other._apart
        self._verdicts.update(other._verdicts)
        self._bars.update(other._bars)
        self._score, self._scored = self._score + other._score, self._scored + other._scored
        self._other_groups += other._other_groups
        self._cases |= other._cases
        self._labels.update(other._labels)
        self._differing += other._differing[: _DIFFERING - len(self._differing)]
        for group, rows in other._groups.items():
            self._count_group(group, rows)
        for name, verdicts in other._evaluators.items():
            self._evaluators.setdefault(name, Counter()).update(verdicts)
            (total, count), (more, others) = self._scores.get(name, (0.0, 0)), other._scores[name]
            self._scores[name] = total + more, count + others
        self._slowest = _slowest([*self._slowest, *other._slowest])
        for verdict, examples in self._examples.items():
            examples += other._examples[verdict][: _EXAMPLES - len(examples)]
        for rule, places in other.exemplars.items():
            if missing := self._missing(rule):
                self.exemplars.setdefault(rule, []).extend(places[:missing])

    def summary(self, cases: Iterable[str] = (), *, failed_parts: int = 0) -> Summary:
        """Return the summary of what was counted. `cases` are all cases that should have rows."""
        unmet = [case for case in cases if case not in self._cases]
        largest = sorted(self._groups.items(), key=lambda item: (-item[1], item[0]))
        counts = self._verdicts
        return Summary(
            rows=self._rows,
            totals=Totals(counts["passed"], counts["failed"], counts["not_measured"], counts["error"]),
            no_case=self._no_case,
            quarantined=self._apart,
            mean_score=self._score / self._scored if self._scored else None,
            scores=tuple([self._bars[bar] for bar in range(BARS)]),
            groups=tuple([RuleCount(code, tool, rows) for (code, tool), rows in largest[:_GROUPS_TOLD]]),
            more_groups=max(0, len(largest) - _GROUPS_TOLD) + self._other_groups,
            evaluators={name: self._totals(name) for name in self._evaluators},
            slowest=tuple(self._slowest),
            errors=tuple(self._examples["error"]),
            not_measured=tuple(self._examples["not_measured"]),
            unmet=tuple(unmet[:_UNMET]),
            unmet_cases=len(unmet),
            failed_parts=failed_parts,
            compared=self._compared(),
        )

    def rows_of(self, code: str, tool: str) -> int:
        """Return how many rows have a finding with this code about this tool."""
        return self._groups[code, tool]

    def _count_scores(self, scores: pa.Array) -> None:
        if len(scores):
            self._score += pc.sum(scores).as_py()
            self._scored += len(scores)
            bars = pc.min_element_wise(pc.floor(pc.multiply(scores, BARS)), BARS - 1)
            self._bars.update({int(bar): count for bar, count in _counts(bars)})

    def _count_measures(self, measures: pa.Array) -> None:
        flat = pa.RecordBatch.from_struct_array(measures.flatten())
        grouped = pa.Table.from_batches([flat]).group_by(["evaluator", "verdict"], use_threads=False)
        for row in grouped.aggregate([("score", "sum"), ("score", "count"), ("verdict", "count")]).to_pylist():
            self._evaluators.setdefault(row["evaluator"], Counter())[row["verdict"]] += row["verdict_count"]
            total, count = self._scores.get(row["evaluator"], (0.0, 0))
            self._scores[row["evaluator"]] = total + (row["score_sum"] or 0.0), count + row["score_count"]

    def _totals(self, evaluator: str) -> EvaluatorTotals:
        counts, (total, count) = self._evaluators[evaluator], self._scores[evaluator]
        mean = total / count if count else None
        return EvaluatorTotals(counts["passed"], counts["failed"], counts["not_measured"], counts["error"], mean)

    def _count_problems(self, batch: pa.RecordBatch, file: str, places: Sequence[int]) -> None:
        diagnoses = batch.column("diagnoses")
        found = diagnoses.flatten()
        if not len(found):
            return
        columns = {name: pc.fill_null(found.field(name), "") for name in _RULE}
        flat = pa.table({**columns, "row": pc.list_parent_indices(diagnoses)})
        once = flat.group_by(["row", "code", "tool"], use_threads=False).aggregate([])
        for row in once.group_by(["code", "tool"], use_threads=False).aggregate([("row", "count")]).to_pylist():
            self._count_group((row["code"], row["tool"]), row["row_count"])
        self._choose(flat, file, places)

    def _count_group(self, group: tuple[str, str], rows: int) -> None:
        if group in self._groups or len(self._groups) < _MOST_GROUPS:
            self._groups[group] += rows
        else:
            self._other_groups += 1

    def _choose(self, flat: pa.Table, file: str, places: Sequence[int]) -> None:
        """Keep the places of the first rows of each rule that has fewer examples than wanted."""
        rules = flat.group_by(_RULE, use_threads=False).aggregate([("row", "min")])
        for found in sorted(rules.to_pylist(), key=lambda rule: int(rule["row_min"])):
            rule = found["evaluator"], found["code"], found["tool"]
            missing = self._missing(rule)
            if not missing:
                continue
            mine = flat.filter(_all([pc.equal(flat.column(name), found[name]) for name in _RULE]))
            rows = mine.column("row").unique().to_pylist()
            self.exemplars.setdefault(rule, []).extend([Place(file, places[row]) for row in rows[:missing]])

    def _missing(self, rule: Rule) -> int:
        """Return how many more example rows of a rule are wanted."""
        if rule not in self.exemplars and len(self.exemplars) >= _MOST_RULES:
            return 0
        return self._exemplars - len(self.exemplars.get(rule, ()))

    def _look_for_slow(self, batch: pa.RecordBatch) -> None:
        seconds = batch.column("seconds")
        if seconds.null_count == len(seconds):
            return
        if len(self._slowest) == _SLOWEST:
            # Including rows as slow as the last one: among these the id decides, not the order of batches.
            batch = batch.filter(pc.greater_equal(seconds, self._slowest[-1].seconds))
        # Arrow would sort a missing id last, but it is shown as an empty one, which sorts first.
        ids = pc.fill_null(batch.column("id"), "")
        rows = pa.table({"id": ids, "seconds": batch.column("seconds")})
        found = rows.sort_by([("seconds", "descending"), ("id", "ascending")]).slice(0, _SLOWEST)
        slow = [Slow(row["id"], row["seconds"]) for row in found.to_pylist() if row["seconds"]]
        self._slowest = _slowest([*self._slowest, *slow])


def _slowest(rows: list[Slow]) -> list[Slow]:
    return sorted(rows, key=lambda one: (-one.seconds, one.id))[:_SLOWEST]


def _counts(values: pa.Array) -> Iterator[tuple[Any, int]]:
    for each in pc.value_counts(values).to_pylist():
        yield each["values"], each["counts"]


def _all(claims: list[Any]) -> Any:
    first, *others = claims
    for claim in others:
        first = pc.and_(first, claim)
    return first


def _examples(rows: pa.RecordBatch) -> Iterator[ExampleRow]:
    for row in rows.to_pylist():
        messages = [
            f"{each['tool']}: {group_words(each['code'], each['tool'])}"
            if each["tool"]
            else group_words(each["code"], "")
            for each in (row["diagnoses"] or [])[:1]
        ]
        yield ExampleRow(row["id"] or "", row["error"] or (messages[0] if messages else ""))


def count_paths(
    sources: Sequence[str],
    counts: PathCounts,
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    by: str | None = None,
    complain: Complain | None = None,
) -> int:
    """Add the paths of all rows to `counts`, and return how many rows could not be read.

    Args:
        sources: Paths, patterns, folders, Delta tables, addresses in object stores.
        counts: The counts to add to.
        reading: How files are read.
        by: The key of metadata that says whether a run was a success, such as `reward`.
        complain: Called for each file that cannot be read; by default the first of them is raised.

    Raises:
        InputError: there are no files, or none of them can be read.
    """
    counting = ColumnPaths(counts)
    for rows in _rows(sources, reading, complain, None if counts.with_args else FIELDS):
        counting.add(rows.batch, None if by is None else _verdicts(rows.batch, by))
    counting.finish()
    return counting.unreadable


def lake_trajectories(
    sources: Sequence[str],
    reading: Reading = Reading(),  # noqa: B008 - it is frozen
    *,
    complain: Complain | None = None,
) -> Iterator[Trajectory]:
    """Yield the trajectories in tables and files. A row that cannot be read becomes one without recorded calls.

    Raises:
        InputError: there are no files, or none of them can be read.
    """
    for rows in _rows(sources, reading, complain, None):
        for row in plain_rows(rows.batch):
            try:
                yield trajectory_of(row, leniently=True)
            except InputError as problem:
                yield Trajectory(calls_recorded=False, warnings=(str(problem),))


def write_part(output: Output, fragment: Fragment, counts: PathCounts) -> None:
    """Write the path counts of a fragment beside its scores. Raises `StoreError`."""
    document = {"fingerprint": fragment.fingerprint, "counts": counts.to_plain()}
    output.put(fragment.paths_file, zlib.compress(dump_json(document).encode("utf-8", "surrogatepass"), 6))


def read_part(output: Output, fragment: Fragment) -> PathCounts:
    """Read the path counts of a fragment. Raises `StoreError` if they are damaged or of another command."""
    where = output.place.below(fragment.paths_file).address
    try:
        document = load_json(zlib.decompress(output.content(fragment.paths_file)).decode("utf-8", "surrogatepass"))
        if document["fingerprint"] == fragment.fingerprint:
            return PathCounts.from_plain(document["counts"])
    except (zlib.error, ValueError, KeyError, TypeError):
        raise StoreError(f"{where}: these counts are damaged; remove the file, and score again") from None
    raise StoreError(f"{where}: another command has written this file; remove it, and score again")


def packed_paths(counts: PathCounts) -> bytes:
    """Return path counts as compressed JSON, for a column of bytes."""
    return zlib.compress(dump_json(counts.to_plain()).encode("utf-8", "surrogatepass"), 6)


def unpacked_paths(packed: bytes) -> PathCounts:
    """Return the counts that `packed_paths` packed."""
    return PathCounts.from_plain(load_json(zlib.decompress(packed).decode("utf-8", "surrogatepass")))


def write_paths(out: str, counts: PathCounts, *, redacts: bool = True) -> None:
    """Write the paths of all rows beside the scores, in the format of `rightcall paths --format json`, with the counts.

    Raises:
        StoreError: the file cannot be written.
    """
    plain = {"schema": 1, **paths_plain(overview(counts, redacts=redacts)), "counts": counts.to_plain()}
    Output(out).put(PATHS, (dump_json(plain, indent=2) + "\n").encode("utf-8", "backslashreplace"))


def read_paths(out: str) -> PathCounts:
    """Read the path counts that `write_paths` wrote to a folder of scores. Raises `StoreError`."""
    where = os.path.join(out, PATHS)
    try:
        return PathCounts.from_plain(load_json(Output(out).content(PATHS).decode())["counts"])
    except (ValueError, KeyError, TypeError):
        raise StoreError(f"{where}: this is not a file that `rightcall score --out --paths` wrote") from None


def _rows(
    sources: Sequence[str], reading: Reading, complain: Complain | None, fields: Sequence[str] | None
) -> Iterator[Rows]:
    fragments = find_fragments(sources, None, reading, complain=complain)
    with ExitStack() as stack:
        if any([fragment.kind == "spans" for fragment in fragments]):
            fragments = sort_spans(fragments, stack.enter_context(TemporaryDirectory(prefix="rightcall-")))
        for fragment in fragments:
            try:
                yield from batches(fragment, fields)
            except InputError as problem:
                if complain is None:
                    raise
                complain(problem)


def _verdicts(batch: pa.RecordBatch, key: str) -> list[Verdict | None]:
    """Return the verdict in the metadata of each row, under this key; None for a row without one."""
    if "metadata" not in batch.schema.names:
        return [None] * batch.num_rows
    found: list[Verdict | None] = []
    for text in batch.column("metadata").to_pylist():
        try:
            metadata = decode_json(text) if text is not None else None
        except InputError:
            metadata = None
        found.append(success(metadata.get(key)) if isinstance(metadata, dict) else None)
    return found
