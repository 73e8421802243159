"""What a result depends on, as a short text that changes when it does."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from rightcall.decoding import dump_json
from rightcall.evalsets import Case

from ._folders import telling

_LENGTH = 32


def case_digest(case: Case, *others: object) -> str:
    """The digest of a case: what the agent is given, what is expected of it, and whatever else counts.

    Where a case stands in its file, and how it is written, does not count.
    """
    checks = [
        [check.key, check.evaluator.type_id, _plain(check.evaluator.config), _plain(check.criteria), check.weight]
        for check in case.checks
    ]
    content = [case.id, case.input, list(case.turns), case.session, _plain(case.mocks), checks, list(map(str, others))]
    return _hashed(dump_json(content).encode())


def file_digest(path: str | Path) -> str:
    """The digest of a file's content. Raises `StoreError`."""
    with telling(Path(path)):
        return _hashed(Path(path).read_bytes())


def _plain(value: Any) -> Any:
    """A model that a user wrote, as plain data; what is no JSON in it by its text."""
    dump = getattr(value, "model_dump", None)
    value = dump(mode="python") if dump is not None else value
    if isinstance(value, dict):
        return {str(key): _plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value if value is None or isinstance(value, (str, int, float)) else repr(value)


def _hashed(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_LENGTH]
