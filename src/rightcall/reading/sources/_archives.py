"""Logs of Inspect as it writes them by default: `.eval`, a zip archive with a file for each sample."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from typing import IO, Any

import msgspec

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading.runs import Warnings
from rightcall.values.decoding import decode_json

_SAMPLES = "samples/"
_MARKS = frozenset({"header.json", "_journal/start.json"})
_NOTHING = msgspec.Raw(b"null")
_ATTACHED = b"attachment://"


class _Sample(msgspec.Struct):
    """The members of a sample that are read. Its events, which repeat the messages many times, stay undecoded."""

    id: Any
    epoch: Any
    messages: msgspec.Raw
    target: msgspec.Raw = _NOTHING
    scores: msgspec.Raw = _NOTHING
    uuid: Any = None
    events: msgspec.Raw = _NOTHING
    attachments: msgspec.Raw = _NOTHING


_decode = msgspec.json.Decoder(_Sample).decode


def samples_in(stream: IO[bytes], name: str, limits: Limits, warnings: Warnings) -> Iterator[Any]:
    """Yield the samples of an archive, one at a time. One that cannot be read is left out, with a warning.

    Raises:
        InputError: the archive is damaged, is not a log of Inspect, or is larger than the limits allow.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            members = archive.infolist()
            found = [member for member in members if member.filename.startswith(_SAMPLES) and not member.is_dir()]
            if not found and not any([member.filename in _MARKS for member in members]):
                raise InputError(f"{name}: a zip archive that is not a log of Inspect: there is no {_SAMPLES} in it")
            if sum([member.file_size for member in found]) > limits.archive_bytes:
                raise InputError(f"{name}: more than the limit of {limits.archive_bytes:,} bytes, unpacked")
            for member in found:
                yield from _sample(archive, member, name, limits, warnings)
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, NotImplementedError, RuntimeError) as problem:
        raise InputError(f"{name}: damaged zip data: {problem}") from None


def _sample(
    archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str, limits: Limits, warnings: Warnings
) -> Iterator[Any]:
    with archive.open(member) as held:
        data = held.read(limits.text_bytes + 1)
    try:
        if len(data) > limits.text_bytes:
            raise InputError(f"it exceeds the limit of {limits.text_bytes:,} bytes")
        yield _decoded(data, limits)
    except InputError as problem:
        warnings.add("dropped samples", f"{name}: {member.filename[:80]!r} was left out: {problem}")


def _decoded(data: bytes, limits: Limits) -> Any:
    try:
        sample = _decode(data)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        return decode_json(data, limits)
    messages = decode_json(bytes(sample.messages), limits)
    found = {"id": sample.id, "epoch": sample.epoch, "target": None, "messages": messages, "uuid": sample.uuid}
    found["scores"] = decode_json(bytes(sample.scores), limits)
    if not messages:
        found["events"] = decode_json(bytes(sample.events), limits)
    if _ATTACHED in bytes(sample.messages) or not messages:
        found["attachments"] = decode_json(bytes(sample.attachments), limits)
    return found
