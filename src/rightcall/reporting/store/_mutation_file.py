"""The outcome of faults that were put into the trajectories of a run, kept beside its results."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rightcall.errors import StoreError
from rightcall.files import replace_file
from rightcall.values.results import MutationReport

from ._run_files import os_errors_at

_FILE = "mutants.json"
_PRIVATE = 0o600
_MOST_BYTES = 50_000_000


def keep_mutation(folder: Path, report: MutationReport) -> None:
    """Keep a report in the folder of a run, in place of an older one. Raises `StoreError`."""
    path = folder / _FILE
    with os_errors_at(path):
        replace_file(path, msgspec.json.encode(report), _PRIVATE)


def kept_mutation(folder: Path) -> MutationReport | None:
    """Return the report that was kept, if there is one. Raises `StoreError`."""
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
