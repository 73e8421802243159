"""What a run was: the file `run.json`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec

from rightcall.errors import InputError, StoreError
from rightcall.values.decoding import dump_json, load_json
from rightcall.values.results import EvaluatorTotals, OverallResult, Totals

from ._folders import replace_file, telling
from ._options import told_options
from ._seals import Seal

SCHEMA = 1
FILE = "run.json"
_COMMIT = 10


class Sample(msgspec.Struct, frozen=True):
    """What a run stands for whose journal holds only examples, because there were too many results to keep."""

    results: int
    """How many results there were."""
    groups: tuple[tuple[str, str, int], ...] = ()
    """What failures have in common, the largest group first: a code, a tool, and how many results."""
    more_groups: int = 0
    """How many groups there were besides."""

    def told(self, kept: int) -> str:
        """A sentence about it, given how many results the journal holds."""
        return (
            f"{kept:,} of {self.results:,} results are kept here, as examples of each kind of failure; totals, "
            "evaluators and groups count all of them"
        )


class Header(msgspec.Struct, frozen=True, kw_only=True):
    """What a run was: who ran what, with which options, and how it came out."""

    schema: int = SCHEMA
    """The version of this format. A folder with a greater one is refused."""
    id: str
    started: str
    """When, in UTC, as ISO 8601."""
    rightcall: str
    python: str
    platform: str
    commit: str | None = None
    branch: str | None = None
    agent: str
    agent_hash: str | None = None
    """Of the files that the agent is made of, as far as they are known."""
    evalset: str
    evalset_hash: str
    """Of the eval set's file."""
    options: dict[str, Any] = {}
    planned: int | None = None
    """How many results there will be when all cases have been run; `None` where nobody counted."""
    finished: str | None = None
    """When the run came to its end; `None` while it has not, or if it never did."""
    seconds: float | None = None
    totals: Totals | None = None
    evaluators: dict[str, EvaluatorTotals] = {}
    """What each evaluator said over all results, by its id."""
    overall: tuple[OverallResult, ...] = ()
    """What evaluators said of all cases together."""
    sample: Sample | None = None
    """Where the journal holds only examples, of how many results they are."""
    journal: Seal | None = None
    """How much of the journal the run itself has written; `None` in runs of older versions."""

    def known(self) -> tuple[tuple[str, str], ...]:
        """What it says besides agent, eval set and times, by name: where the code stood, unusual options, versions."""
        named = (
            ("branch", self.branch or ""),
            ("commit", (self.commit or "")[:_COMMIT]),
            *told_options(self.options),
            ("Rightcall", self.rightcall),
            ("Python", self.python),
            ("platform", self.platform),
        )
        return tuple([(name, value) for name, value in named if value])


def write_header(folder: Path, header: Header) -> None:
    """Put a header into a run's folder, all of it or nothing. Raises `StoreError`."""
    with telling(folder / FILE):
        put_header(folder, header)


def put_header(folder: Path, header: Header) -> None:
    """The same for those who want to hear what the system says. Raises `OSError`."""
    replace_file(folder / FILE, (dump_json(msgspec.to_builtins(header), indent=2) + "\n").encode())


def read_header(folder: Path) -> Header:
    """The header in a run's folder.

    Raises:
        StoreError: there is none, it is damaged, or a newer Rightcall wrote it.
    """
    path = folder / FILE
    with telling(path):
        data = path.read_bytes()
    try:
        fields = load_json(data)
        if isinstance(fields, dict) and isinstance(fields.get("schema"), int) and fields["schema"] > SCHEMA:
            raise StoreError(
                f"{path}: written by a newer Rightcall (format {fields['schema']}; this one knows {SCHEMA})"
            )
        return msgspec.convert(fields, Header, strict=True)
    except (InputError, msgspec.ValidationError) as problem:
        raise StoreError(f"{path}: not the header of a run: {problem}") from None
