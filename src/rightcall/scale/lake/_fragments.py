"""Parts of the input, each scored by one task into one file."""

from __future__ import annotations

import re
from hashlib import sha256
from typing import Literal

import msgspec

from rightcall.reading import Reading
from rightcall.scale.columns import Plan
from rightcall.values.decoding import dump_json
from rightcall.version import __version__

from ._span_buckets import SpanBucket

FORMAT = 1
"""The version of the files of scores. One of another version is scored again."""

Kind = Literal["rows", "lines", "traces", "spans"]
"""Row groups of a table of trajectories, a range of bytes of a file of trajectories as JSON lines, a whole file of
traces in any format, or a bucket of tables of spans."""

_LONGEST_STEM = 60
_DIGEST = 12


class Fragment(msgspec.Struct, frozen=True, kw_only=True):
    """A part of the input. With the plan, it is all that a worker has to know."""

    kind: Kind
    path: str
    """The address of the file; of a bucket, of the first table of spans."""
    stamp: str
    """What changes when the file changes: its size, and when that was."""
    begin: int = 0
    """The first row group, byte or bucket."""
    end: int = 0
    """The one after the last; of buckets, how many there are."""
    skipped: int = 0
    """Rows at the beginning of the row group that belong to another fragment."""
    rows: int | None = None
    """How many rows there are; none where that is not known before they are read."""
    first_row: int = 0
    """The number of its first row in the file, for rows that have no id."""
    size: int = 0
    """About how many bytes are read, to tell how much is left."""
    constants: tuple[tuple[str, str | None], ...] = ()
    """Columns that lie in no file, but in the names of folders, and have one value in all rows."""
    reading: Reading = Reading()
    tables: tuple[str, ...] = ()
    """Of a bucket, the addresses of all tables of spans."""
    bucket: SpanBucket | None = None
    """The bucket itself, where its spans have been sorted into it."""
    plan: str = ""
    """The digest of the plan that it is to be scored by."""

    @property
    def part(self) -> str:
        """Which part of its file it is, in words; empty where it is all of it."""
        if self.kind == "rows":
            rows = "" if self.rows is None else f", rows {self.first_row + 1:,} to {self.first_row + self.rows:,}"
            groups = f"{self.begin + 1}" if self.end == self.begin + 1 else f"{self.begin + 1} to {self.end}"
            return f"row group {groups}{rows}"
        if self.kind == "lines" and self.end:
            return f"bytes {self.begin:,} to {self.end:,}"
        return f"bucket {self.begin + 1} of {self.end} of all tables of spans" if self.kind == "spans" else ""

    def __str__(self) -> str:
        return f"{self.path} ({self.part})" if self.part else self.path

    @property
    def file(self) -> str:
        """The name of its file of scores: the same in every run, and another one for every other part and path."""
        stem = re.sub(r"[^A-Za-z0-9.-]+", "_", re.split(r"[/\\]", self.path)[-1].partition(".")[0]).strip("._-")
        place = dump_json([self.kind, self.path, self.begin, self.end, self.skipped])
        first = self.first_row if self.kind == "rows" else self.begin
        return f"{stem[:_LONGEST_STEM] or 'scores'}-{first:09}-{_digest(place)}.parquet"

    @property
    def fingerprint(self) -> str:
        """What changes when its scores may: the plan, the file, which part of it, and how it is read."""
        what = [self.kind, self.path, self.stamp, self.begin, self.end, self.skipped, self.rows, self.first_row]
        how = [dict(self.constants), msgspec.to_builtins(self.reading)]
        return sha256(dump_json([FORMAT, __version__, self.plan, what, how]).encode()).hexdigest()


NAME = re.compile(rf".+-\d{{9,}}-[0-9a-f]{{{_DIGEST}}}\.parquet", re.ASCII)
"""What the names of files of scores look like."""


def plan_digest(plan: Plan) -> str:
    """What changes when a plan does, or code that it names; not the place of its file."""
    chosen = [plan.case_globs, plan.tags, None if plan.case_ids is None else sorted(plan.case_ids), plan.join]
    digest = sha256(plan.text + dump_json([plan.is_eval_set, *chosen]).encode())
    for file in plan.code_files:
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    return digest.hexdigest()


def _digest(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:_DIGEST]
