"""What a result depends on, as a short text that changes when it does."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rightcall.values.decoding import dump_json

from ._folders import telling

if TYPE_CHECKING:  # a quarter of a second, which whoever only reads runs should not pay
    from rightcall.cases.evalsets import Case

_LENGTH = 32


def case_digest(case: Case, *others: object) -> str:
    """The digest of a case: what the agent is given, what is expected of it, and whatever else counts.

    Where a case stands in its file, and how it is written, does not count.
    """
    checks = [
        [check.key, check.evaluator.type_id, _written(check.evaluator.config), _written(check.criteria), check.weight]
        for check in case.checks
    ]
    content = [case.id, case.input, list(case.turns), case.session, dict(case.mocks), checks, list(map(str, others))]
    if any(check.evaluator.waits for check in case.checks):  # these are told more
        code = [check.evaluator.fingerprint for check in case.checks]
        content += [case.expected_behavior, dict(case.metadata), code]
    return _hashed(dump_json(content).encode())


def file_digest(path: str | Path) -> str:
    """The digest of a file's content. Raises `StoreError`."""
    with telling(Path(path)):
        return _hashed(Path(path).read_bytes())


def files_digest(paths: Iterable[Path]) -> str:
    """The digest of the content of several files, in their order. Raises `StoreError`."""
    return _hashed("".join([file_digest(path) for path in paths]).encode())


def _written(model: Any) -> str:
    """What a user wrote, as text: models are written by pydantic, in no time."""
    dump = getattr(model, "model_dump_json", None)
    if dump is None:
        return repr(model)
    try:
        return str(dump())
    except ValueError:  # a value that JSON does not have
        return repr(model)


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_LENGTH]
