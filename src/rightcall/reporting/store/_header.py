"""The header of a run, in the file `run.json`, with digests, commit, and the decision of a gate."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from rightcall.errors import InputError, StoreError
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.results import EvaluatorTotals, OverallResult, Totals, value_text

from ._run_files import os_errors_at, replace_file
from ._summaries import HEADER_FILE

if TYPE_CHECKING:
    from rightcall.cases.evalsets import Case

SCHEMA = 1
_COMMIT = 10
_VALUE_WIDTH = 80
_FLAGS = {
    ("fail_fast", True): ("stops", "at the first case that does not pass"),
    ("strict_agent", True): ("agents that read answers", "are in error"),
    ("record", True): ("tools", "real, and what they answer is recorded"),
    ("replay", True): ("tools", "answer what was recorded"),
    ("spans", False): ("spans", "not kept"),
    ("redact", True): ("secrets", "left out of what is kept"),
    ("redact", False): ("secrets", "shown as they are"),
    ("pytest", True): ("run by", "pytest"),
}
_USUAL: dict[str, Any] = {"repeat": 1, "min_pass": 1, "spans": True, "is_repeat_given": False}
"""The defaults of options that have one; all others are empty by default."""
# 128 of the 256 bits: this detects changes, and is not a defence against forged files.
_LENGTH = 32


class Seal(msgspec.Struct, frozen=True):
    """The length and the hash of all journal lines that a run had written at its last sync."""

    length: int = 0
    sha256: str = sha256(b"").hexdigest()


class Sample(msgspec.Struct, frozen=True):
    """The number of results of a run whose journal has only examples, because there were too many to keep."""

    results: int
    """The number of results."""
    groups: tuple[tuple[str, str, int], ...] = ()
    """The groups of failures, the largest first: a code, a tool, and the number of results."""
    more_groups: int = 0
    """The number of groups that are not listed."""

    def note(self, kept: int) -> str:
        """Return a sentence about it, given the number of results in the journal."""
        return (
            f"{kept:,} of {self.results:,} results are kept here, as examples of each kind of failure; totals, "
            "evaluators and groups count all of them"
        )


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """A run: the agent and the eval set, the options, and the totals."""

    schema: int = SCHEMA
    """The version of this format. A folder with a greater one is refused."""
    id: str
    started: str
    """The start time in UTC, as ISO 8601."""
    rightcall: str
    python: str
    platform: str
    commit: str | None = None
    branch: str | None = None
    agent: str
    agent_hash: str | None = None
    """The digest of the agent's files, as far as they are known."""
    evalset: str
    evalset_hash: str
    """The digest of the eval set's file."""
    options: dict[str, Any] = {}
    planned: int | None = None
    """The expected number of results; `None` if it was not counted."""
    finished: str | None = None
    """When the run finished; `None` if it is running or was interrupted."""
    seconds: float | None = None
    totals: Totals | None = None
    rate: float | None = None
    """The pass rate: the mean of the cases' rates; `None` if nothing was measured, and in runs of older versions."""
    evaluators: dict[str, EvaluatorTotals] = {}
    """The totals of each evaluator over all results, by its id."""
    overall: tuple[OverallResult, ...] = ()
    """The results of all cases together."""
    gate: GateRecord | None = None
    """The decision of a gate. It is never decided again, because a second look would raise the error rate."""
    sample: Sample | None = None
    """If the journal has only examples, the number of all results."""
    journal: Seal | None = None
    """The part of the journal that the run itself wrote; `None` in runs of older versions."""

    @property
    def variant_of(self) -> str:
        """The agent, with its variant if it has several; empty if traces were scored."""
        variant = self.options.get("variant")
        return f"{self.agent}, variant {variant}" if self.agent and isinstance(variant, str) and variant else self.agent

    def known(self) -> tuple[tuple[str, str], ...]:
        """Return everything but agent, eval set and times, by name: branch, commit, unusual options, versions."""
        named = (
            ("branch", self.branch or ""),
            ("commit", (self.commit or "")[:_COMMIT]),
            *unusual_options(self.options),
            ("Rightcall", self.rightcall),
            ("Python", self.python),
            ("platform", self.platform),
        )
        return tuple([(name, value) for name, value in named if value])


def write_header(folder: Path, header: Header) -> None:
    """Write a header to a run's folder atomically. Raises `StoreError`."""
    with os_errors_at(folder / HEADER_FILE):
        put_header(folder, header)


def put_header(folder: Path, header: Header) -> None:
    """Write a header as `write_header` does. Raises `OSError`."""
    replace_file(folder / HEADER_FILE, (dump_json(msgspec.to_builtins(header), indent=2) + "\n").encode())


def read_header(folder: Path) -> Header:
    """Read the header in a run's folder.

    Raises:
        StoreError: there is none, it is damaged, or a newer Rightcall wrote it.
    """
    path = folder / HEADER_FILE
    with os_errors_at(path):
        data = path.read_bytes()
    try:
        fields = load_json(data)
        # Before the conversion: the fields of a newer format may not convert, and that error would not help.
        if isinstance(fields, dict) and isinstance(fields.get("schema"), int) and fields["schema"] > SCHEMA:
            raise StoreError(
                f"{path}: written by a newer Rightcall (format {fields['schema']}; this one knows {SCHEMA})"
            )
        return msgspec.convert(fields, Header, strict=True)
    except (InputError, msgspec.ValidationError) as problem:
        raise StoreError(f"{path}: not the header of a run: {problem}") from None


def unusual_options(options: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield names and values, in words, of options that differ from their defaults.

    An unknown option keeps its name, and an invalid value is shown as it is.
    """
    for name, value in options.items():
        if isinstance(value, bool):
            if flag := _FLAGS.get((name, value)):
                yield flag
            elif value and name not in _USUAL:
                yield _plain_option(name, value)
        elif value not in (None, "", [], {}) and value != _USUAL.get(name):
            yield _OPTION_WORDS.get(name, lambda value, name=name: _plain_option(name, value))(value)


def _plain_option(name: str, value: Any) -> tuple[str, str]:
    return name.replace("_", " "), value_text(value, _VALUE_WIDTH)


def _listed(label: str) -> Callable[[Any], tuple[str, str]]:
    def tell(value: Any) -> tuple[str, str]:
        are_names = isinstance(value, list) and all([isinstance(each, str) for each in value])
        text = ", ".join(value) if are_names else value_text(value, _VALUE_WIDTH)
        return label, text if len(text) <= _VALUE_WIDTH else f"{text[: _VALUE_WIDTH - 1]}…"

    return tell


def _share(value: Any) -> tuple[str, str]:
    is_share = isinstance(value, (int, float)) and 0 <= value <= 1
    return "must pass", f"{value * 100:.4g} % of the cases" if is_share else value_text(value, _VALUE_WIDTH)


def _memory(value: Any) -> tuple[str, str]:
    is_size = isinstance(value, int) and 0 < value < 2**60
    return "memory of a worker", f"at most {value / 2**20:,.4g} MB" if is_size else value_text(value, _VALUE_WIDTH)


def _seconds_option(value: Any) -> tuple[str, str]:
    return "a case may take", f"{value_text(value, _VALUE_WIDTH).removesuffix('.0')} s"


_OPTION_WORDS: dict[str, Callable[[Any], tuple[str, str]]] = {
    "cases": _listed("only cases"),
    "tags": _listed("only tags"),
    "timeout": _seconds_option,
    "max_memory": _memory,
    "repeat": lambda value: ("repeats", value_text(value, _VALUE_WIDTH)),
    "repeat_least": lambda value: ("repeats, at least", value_text(value, _VALUE_WIDTH)),
    "gate": lambda value: ("compared with", value_text(value, _VALUE_WIDTH)),
    "min_rate": lambda value: ("rate, at least", value_text(value, _VALUE_WIDTH)),
    "must": _listed("must pass every time, tags"),
    "min_repeat_pass": lambda value: ("repeats that must pass", value_text(value, _VALUE_WIDTH)),
    "min_pass": _share,
    "quarantined": lambda value: ("in quarantine", ", ".join(map(str, value))[:_VALUE_WIDTH]),
    "needed": lambda value: ("repeats that must pass, by case", value_text(value, _VALUE_WIDTH)),
}


def case_digest(case: Case, *others: object) -> str:
    """Return the digest of a case in two parts, separated by a hyphen.

    The first covers its question: inputs, session, mocks and expectations, so that two agents can be compared on the
    same question. The second covers all that and the other objects given, such as the agent. The position of the case
    in its file and its formatting do not count.
    """
    checks = [
        [check.key, check.evaluator.type_id, _written(check.evaluator.config), _written(check.criteria), check.weight]
        for check in case.checks
    ]
    question = [case.id, case.input, list(case.turns), case.session, dict(case.mocks), checks]
    if case.when is not None:
        question.append({"when": case.when.written})
    if any(check.evaluator.waits for check in case.checks):  # these evaluators see more of a case
        code = [check.evaluator.fingerprint for check in case.checks]
        question += [case.expected_behavior, dict(case.metadata), code]
    # Two parts: a gate compares two agents on one question, and a resumed run checks whether either changed.
    asked = _hashed(dump_json(question).encode())
    return f"{asked}-{_hashed(dump_json([asked, *map(str, others)]).encode())}"


def file_digest(path: str | Path) -> str:
    """Return the digest of a file's content. Raises `StoreError`."""
    with os_errors_at(Path(path)):
        return _hashed(Path(path).read_bytes())


def files_digest(paths: Iterable[Path]) -> str:
    """Return the digest of the content of several files, in their order. Raises `StoreError`."""
    return _hashed("".join([file_digest(path) for path in paths]).encode())


def commit_of(folder: Path) -> tuple[str | None, str | None]:
    """Return the commit and the branch checked out in a folder; `None` for what cannot be read."""
    try:
        found = _git_folder(folder.resolve())
        return _head(found) if found is not None else (None, None)
    except (OSError, UnicodeDecodeError):
        return None, None


def _written(model: Any) -> str:
    """Return criteria or a configuration as text, by `model_dump_json` if there is one, else `repr`."""
    dump = getattr(model, "model_dump_json", None)
    if dump is None:
        return repr(model)
    try:
        return str(dump())
    except ValueError:  # a value that JSON does not have
        return repr(model)


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_LENGTH]


def _git_folder(folder: Path) -> Path | None:
    for above in (folder, *folder.parents):
        git = above / ".git"
        if git.is_dir():
            return git
        if git.is_file():  # a worktree, or a submodule
            return above / git.read_text().removeprefix("gitdir:").strip()
    return None


def _head(git: Path) -> tuple[str | None, str | None]:
    head = (git / "HEAD").read_text().strip()
    if not head.startswith("ref:"):
        return head, None
    reference = head.removeprefix("ref:").strip()
    # A worktree has its own HEAD and shares the branches of the main repository (gitrepository-layout(5), commondir).
    common = git / "commondir"
    shared = git / common.read_text().strip() if common.is_file() else git
    return _commit_at(shared, reference), reference.removeprefix("refs/heads/")


def _commit_at(shared: Path, reference: str) -> str | None:
    if (shared / reference).is_file():
        return (shared / reference).read_text().strip()
    # `git pack-refs`, which `git gc` runs, moves branches from files of their own into this one.
    packed = shared / "packed-refs"
    lines = packed.read_text().splitlines() if packed.is_file() else []
    return next((line.split()[0] for line in lines if line.endswith(f" {reference}")), None)


class GatedCaseRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One compared case."""

    case_id: str
    before: tuple[int, int]
    """Passed and measured trials of the base."""
    after: tuple[int, int]
    p: float
    """The probability of so few passes if nothing had changed."""
    q: float
    """The same, adjusted for testing every case."""
    told: str


class LeftOutRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The ids of cases that were not compared, by reason."""

    changed: tuple[str, ...] = ()
    only_before: tuple[str, ...] = ()
    only_after: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class FloorRecord(msgspec.Struct, frozen=True, kw_only=True):
    """Whether a run reached the required rate."""

    at_least: float
    verdict: str
    """`passes`, `fails` or `inconclusive`."""
    rate: float | None
    low: float
    high: float
    rounds: int
    open_decides: bool = False


class GateRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The decision of a gate: the verdict, what it is based on, and the exit code."""

    verdict: str | None
    """`worse`, `better`, `no worse` or `inconclusive`; `None` if the run was not compared."""
    exit_code: int
    reason: str
    """The decision in one sentence."""
    told: tuple[str, ...]
    """The printed lines: the decision, what else failed, hints and warnings."""
    base: str
    alpha: float
    share: float
    rounds: int
    planned_rounds: int
    rule_out: float
    allow_drop: float
    before: float | None = None
    after: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p_worse: float | None = None
    p_better: float | None = None
    open_decides: bool = False
    cases: tuple[GatedCaseRecord, ...] = ()
    left_out: LeftOutRecord = LeftOutRecord()
    floor: FloorRecord | None = None
    failed: tuple[str, ...] = ()
    """Cases judged on their own that failed: they have to pass every time, or there is nothing to compare them with."""
    unmeasured: tuple[str, ...] = ()
    """Cases judged on their own that could not be measured."""
    own: tuple[str, ...] = ()
    """All cases that were judged on their own."""

    @property
    def worse_cases(self) -> tuple[GatedCaseRecord, ...]:
        """The cases that are worse on their own, the most certain first."""
        return tuple(sorted([case for case in self.cases if case.told == "worse"], key=lambda case: case.q))
