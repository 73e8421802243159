"""Open the bytes of a source, decompress them, and hold them to a size."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from rightcall.errors import InputError, MissingExtraError

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_CHUNK = 1 << 20
# One MiB: about a thousand system calls per GB.
_SERVERS = ("http://", "https://")


def check_size(name: str, size: int, max_size: int | None) -> None:
    """Refuse a source of more bytes than the limit. Raises `InputError`."""
    if max_size is not None and size > max_size:
        raise InputError(f"{name}: more than the limit of {max_size:,} bytes (max_size)")


def check_not_server(source: str) -> None:
    """Refuse the address of a server, and say what to do instead. Raises `InputError`."""
    if source.startswith(_SERVERS) and not os.path.exists(source):
        from rightcall.values.redaction import redacted_address

        raise InputError(
            f"{redacted_address(source)}: this is the address of a server, and Rightcall reads files and standard "
            "input; save its answer first, or pipe it in: curl … | rightcall show -"
        )


def bounded(stream: Any, name: str, max_size: int | None) -> IO[bytes]:
    """Return a stream that raises `InputError` as soon as it has more bytes than the limit."""
    limited: IO[bytes] = stream if max_size is None else io.BufferedReader(_Raw(stream, name, max_size), _CHUNK)
    return limited


@contextmanager
def opened(source: Any, max_size: int | None) -> Iterator[tuple[str, IO[bytes]]]:
    """Open a source: its name and its bytes, decompressed if they are gzip or zstd.

    Raises:
        InputError: the file does not exist, is a folder, or cannot be read.
        MissingExtraError: it is zstd, and `zstandard` is not installed.
    """
    if isinstance(source, (bytes, bytearray, memoryview)):
        yield "<bytes>", _unpacked(io.BytesIO(bytes(source)), "<bytes>", max_size)
        return
    if isinstance(source, str) and source.lstrip()[:1] in ("{", "["):
        raise InputError(f"{source[:40]!r}… is not a path; to read JSON text, give it as bytes or decoded")
    if isinstance(source, (str, os.PathLike)):
        check_not_server(os.fspath(source))
        with _file(Path(source)) as stream:
            yield str(source), _unpacked(stream, str(source), max_size)
        return
    name = str(getattr(source, "name", "<file>"))
    yield name, _unpacked(_binary(source), name, max_size)


@contextmanager
def _file(path: Path) -> Iterator[IO[bytes]]:
    try:
        stream = path.open("rb", buffering=_CHUNK)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    except ValueError as problem:
        raise InputError(f"{str(path)!r:.200}: {problem}") from None
    with stream:
        yield stream


def _binary(source: Any) -> IO[bytes]:
    if isinstance(source, io.TextIOBase):
        inner = getattr(source, "buffer", None)
        if hasattr(inner, "peek"):
            return inner  # type: ignore[return-value]
        return io.BytesIO(source.read().encode("utf-8", "surrogatepass"))
    return io.BufferedReader(_Raw(source))


def _unpacked(stream: Any, name: str, max_size: int | None) -> IO[bytes]:
    start = stream.peek(4)[:4] if hasattr(stream, "peek") else stream.getvalue()[:4]
    if start.startswith(_GZIP):
        return io.BufferedReader(_Inflating(stream, name, max_size), _CHUNK)
    if start == _ZSTD:
        return io.BufferedReader(_Raw(_zstd(stream, name), name, max_size), _CHUNK)
    return bounded(stream, name, max_size)


def _zstd(stream: IO[bytes], name: str) -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError(f"{name} is packed with zstd; to read it: pip install 'rightcall[zstd]'") from None
    # 128 MiB is the window of `zstd --long`, the most that its own command line accepts without being asked (RFC 8878,
    # section 3.1.1.1.2, lets a decoder refuse more): a small file cannot claim gigabytes of memory.
    return zstandard.ZstdDecompressor(max_window_size=1 << 27).stream_reader(stream, read_across_frames=True)


class _Raw(io.RawIOBase):
    """Anything with a `read` method as a raw stream, held to a size."""

    def __init__(self, inner: Any, name: str = "", max_size: int | None = None) -> None:
        self._inner, self._name, self._max_size, self._seen = inner, name, max_size, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._more(len(buffer))
        if isinstance(data, str):
            raise InputError(f"{self._name or 'the file'} was opened as text; open it with mode 'rb'")
        self._seen += len(data)
        check_size(self._name, self._seen, self._max_size)
        buffer[: len(data)] = data
        return len(data)

    def _more(self, size: int) -> Any:
        try:
            return self._inner.read(size) or b""
        except InputError:
            raise
        except (OSError, EOFError, ValueError, zlib.error) as problem:
            raise InputError(f"{self._name}: cannot be read: {problem}") from None
        except Exception as problem:
            # zstandard's own error derives from Exception alone, and is not imported where it is not used.
            if type(problem).__name__ == "ZstdError":
                raise InputError(f"{self._name}: damaged zstd data: {problem}") from None
            raise


class _Inflating(_Raw):
    """A gzip stream, decompressed piece by piece. A damaged or truncated one yields what it can, then raises."""

    def __init__(self, inner: Any, name: str, max_size: int | None) -> None:
        super().__init__(inner, name, max_size)
        # 31 = 16 + 15 bits: gzip's header and checksum, with the largest window (zlib's manual, inflateInit2).
        self._inflater = zlib.decompressobj(wbits=31)
        self._waiting = b""

    def _more(self, size: int) -> bytes:
        while True:
            packed = self._waiting or self._inner.read(_CHUNK)
            if not packed:
                return self._end()
            # A gzip file is a series of members (RFC 1952, section 2.2); GNU gzip allows zeros after the last one.
            if self._inflater.eof:
                self._inflater = zlib.decompressobj(wbits=31)
            try:
                data = self._inflater.decompress(packed, size)
            except zlib.error as problem:
                raise InputError(f"{self._name}: damaged gzip data after {self._seen:,} bytes: {problem}") from None
            self._waiting = self._inflater.unconsumed_tail or self._inflater.unused_data.lstrip(b"\0")
            if data:
                return data

    def _end(self) -> bytes:
        if not self._inflater.eof:
            raise InputError(f"{self._name}: the gzip data ends early, after {self._seen:,} bytes")
        return b""
