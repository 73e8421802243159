"""Files and folders by the address that people write: on this machine, or in an object store."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import msgspec
import pyarrow as pa
from pyarrow import fs

from rightcall.errors import InputError, MissingExtraError

_SCHEME = re.compile(r"([a-zA-Z][a-zA-Z0-9+.-]+)://")
_QUERY = re.compile(r"\?(?=[a-z_]+=)")


class File(msgspec.Struct, frozen=True):
    """A file that was found: its address, its size, and a stamp that is another one when its content changes."""

    address: str
    size: int
    stamp: str


class Place(msgspec.Struct, frozen=True):
    """An address, and where that is."""

    address: str
    system: Any
    """A file system of Arrow."""
    path: str
    """The path as that file system has it."""

    @property
    def is_local(self) -> bool:
        """Whether it is on this machine."""
        return is_local(self.address)

    def below(self, name: str) -> Place:
        """What has this name, or path, below a folder."""
        return place(joined(self.address, name))


def is_local(address: str) -> bool:
    """Whether an address is a path on this machine."""
    found = _SCHEME.match(address)
    return found is None or found[1].lower() == "file"


def joined(address: str, name: str) -> str:
    """The address of what has this name below a folder. What follows a `?` stays at the end."""
    folder, query = _parted(address)
    return f"{folder.rstrip('/') or '/' * folder.startswith('/')}/{name}{query}".removeprefix("./")


def place(address: str) -> Place:
    """Where an address is.

    Raises:
        InputError: the store it names cannot be reached.
        MissingExtraError: a package is missing that knows the store.
    """
    found = _SCHEME.match(address)
    if found is None:
        return Place(address, fs.LocalFileSystem(), address)
    path, query = _parted(address)
    if is_local(address):
        return Place(address, fs.LocalFileSystem(), path[found.end() :])
    store, _, rest = path[found.end() :].partition("/")
    system, base = _system(path[: found.end()].lower(), store, query)
    return Place(address, system, f"{base}/{rest}" if rest else base)


def found_file(info: fs.FileInfo, where: Place) -> File:
    """A file, given what its file system says of it."""
    return File(where.address, info.size or 0, f"{info.size}-{info.mtime_ns}")


@contextmanager
def telling(address: str) -> Iterator[None]:
    """Turn what a store or the system says of an address into one line that names it. Raises `InputError`."""
    try:
        yield
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"{address}: {reason(problem)}") from None


def reason(problem: BaseException) -> str:
    """What a store or the system said, on one line."""
    # Arrow's text has its own detail behind the system's ("[errno 2] …. Detail: …"), on several lines.
    number = getattr(problem, "errno", None)
    text = os.strerror(number) if isinstance(number, int) else str(problem)
    return " ".join(text.split())[:500] or type(problem).__name__


@lru_cache(maxsize=64)
def _system(scheme: str, store: str, query: str) -> tuple[Any, str]:
    """A file system, and what paths in it begin with.

    Arrow parses the address as a URI, in which a space or an umlaut is a mistake, so it is shown the store alone.
    """
    # The variables of the AWS SDKs (https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html), which
    # Arrow's own client does not read in all of its versions.
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL")
    if scheme == "s3://" and endpoint and "endpoint_override" not in query:
        protocol, _, host = endpoint.rpartition("://")
        query += f"{'&' if query else '?'}endpoint_override={host.rstrip('/')}&scheme={protocol or 'https'}"
    try:
        system, base = fs.FileSystem.from_uri(f"{scheme}{store}{query}")
        return system, base.rstrip("/")
    except pa.ArrowInvalid as problem:
        return _foreign(scheme, store, problem), store
    except (OSError, pa.ArrowException) as problem:
        raise InputError(f"{scheme}{store}: {reason(problem)}") from None


def _foreign(scheme: str, store: str, problem: Exception) -> Any:
    """A file system that Arrow does not know, through fsspec."""
    try:
        import fsspec
    except ImportError:
        raise MissingExtraError(
            f"{scheme}{store}: Arrow says: {reason(problem)}; to go through fsspec instead, install it and its package "
            f"for {scheme}"
        ) from None
    try:
        return fs.PyFileSystem(fs.FSSpecHandler(fsspec.filesystem(scheme.removesuffix("://"))))
    except ImportError as missing:
        raise MissingExtraError(f"{scheme}{store}: {missing}") from None
    except ValueError as unknown:
        raise InputError(f"{scheme}{store}: {reason(unknown)}; Arrow says: {reason(problem)}") from None


def _parted(address: str) -> tuple[str, str]:
    """An address without what follows its `?`, and that. A `?` in a pattern or a path on this machine is none."""
    found = None if is_local(address) else _QUERY.search(address)
    return (address[: found.start()], address[found.start() :]) if found else (address, "")
