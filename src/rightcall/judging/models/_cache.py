"""Answers of judges, kept by what was asked, so that an unchanged case is not judged twice."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import msgspec

from ._endpoint import Asked, Sampling
from ._question import FIXED, Question
from ._settings import Settings

_FORMAT = 1
_MOST_BYTES = 1024 * 1024


class Cache:
    """Answers in a folder that nobody else may read, one file each. Whatever is read is checked like an answer."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "judge"

    def get(self, key: str) -> Asked | None:
        """The answer that was kept; none where there is none that can be read."""
        try:
            with self._path(key).open("rb") as file:
                return msgspec.json.decode(file.read(_MOST_BYTES), type=Asked)
        except (OSError, msgspec.DecodeError):
            return None

    def put(self, key: str, asked: Asked) -> str:
        """Keep an answer. Why that was not possible, if it was not."""
        path = self._path(key)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            _make_private(path.parent)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                os.fchmod(descriptor, 0o600)
                file.write(msgspec.json.encode(asked))
            os.replace(beside, path)
        except OSError as problem:
            return f"the judge's answer was not kept: {path}: {problem.strerror or problem}"
        return ""

    def _path(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key[2:]}.json"


def key_of(question: Question, settings: Settings, sampling: Sampling, sample: int) -> str:
    """What an answer depends on, as a short text: who is asked, what, and how often it was asked before."""
    asked = [_FORMAT, settings.base_url, question.messages(FIXED), sampling.parameters(question), sample]
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


def _make_private(folder: Path) -> None:
    """Make a folder, and those above it, each for its owner alone where it is made now."""
    if folder.exists():
        return
    _make_private(folder.parent)
    try:
        os.mkdir(folder, 0o700)
        os.chmod(folder, 0o700)
    except FileExistsError:
        return  # somebody else made it in the meantime
