"""`rightcall pull`, and what other commands read from trace servers: pulled into a file first, then read as one."""

from __future__ import annotations

import gzip
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any

import click
from msgspec.structs import replace

from rightcall.errors import InputError, missing_package

from ._output import print_error

if TYPE_CHECKING:
    from rightcall.connect import Address


@click.command(name="pull")
@click.argument("address", metavar="URL")
@click.option(
    "-o", "--out", "target", required=True, metavar="FILE", help="The file to write; .gz and .zst compress it."
)
@click.option("--force", is_flag=True, help="Overwrite the file if there is one.")
def command(address: str, target: str, force: bool) -> int:
    """Save the traces of a server as a file, one trace a line: for a test, or to work offline.

    URL is phoenix://HOST/PROJECT, mlflow://HOST/EXPERIMENT, langfuse://HOST, langsmith://HOST/PROJECT, tempo://HOST,
    jaeger://HOST/SERVICE, or an alias of the configuration, with ?since=1d&until=&limit=&trace=&session=&tag=&filter=.
    """
    from rightcall.values.results import count_text

    count, parsed = save_traces(address, target, force=force)
    print(f"{count_text(count, 'trace')} from {parsed}{_looked_back(parsed)} in {target}")
    return 0


def save_traces(address: str, target: str, *, force: bool = False, most: int | None = None) -> tuple[int, Address]:
    """Save the traces of a server as a file; return how many there are, and the address as it was understood.

    Args:
        address: The address, or an alias of the configuration.
        target: The file. It is there when all traces are in it, and not before.
        force: Whether to overwrite one that is there.
        most: The number of traces to take if the address does not say which.

    Raises:
        InputError: the address cannot be understood, no traces fit it, or the file cannot be written.
        TraceServerError: the server cannot be asked.
    """
    from rightcall import connect

    aliases = source_aliases()
    if not connect.is_address(address, aliases):
        known = ", ".join(connect.SCHEMES[:-1])
        raise InputError(f"{address[:200]} is not the address of a trace server; servers: {known}")
    if os.path.exists(target) and not force:
        raise InputError(f"{target} exists; to overwrite it: --force")
    parsed = connect.parse_address(address, aliases)
    if most is not None and parsed.query == connect.Query():
        parsed = replace(parsed, query=connect.Query(limit=most))
    half = f"{target}.part"
    try:
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        with _opened(half, target) as file:
            count = _pull(parsed, file)
        if not count:
            raise InputError(_nothing_there(parsed))
        os.replace(half, target)
    except OSError as problem:
        raise InputError(f"{target}: {problem.strerror or problem}") from None
    finally:
        if os.path.exists(half):
            os.remove(half)
    return count, parsed


def source_aliases() -> Mapping[str, Any]:
    """Return the table `[sources]` of the project's configuration: names for addresses. Raises `InputError`."""
    from pathlib import Path

    from rightcall.running.project import load_configuration

    configuration = load_configuration(Path.cwd())
    written = configuration.values.get("sources", {})
    if not isinstance(written, dict):
        raise InputError(f"{configuration.path}: sources is a table of names and addresses")
    return written


def addresses_in(traces: Sequence[str]) -> dict[str, Address]:
    """Return the parsed addresses among traces. Raises `InputError`."""
    if not any(":" in trace and not os.path.exists(trace) for trace in traces):
        return {}
    from rightcall import connect

    aliases = source_aliases()
    return {trace: connect.parse_address(trace, aliases) for trace in traces if connect.is_address(trace, aliases)}


def pulled_files(traces: Sequence[str], context: click.Context) -> tuple[list[str], dict[str, str]]:
    """Return traces with a file in place of each address, and the names of these files for users.

    The files are removed when the command ends. All commands read files: a trace is judged the same wherever it was,
    can be read by several processes, and may be larger than memory.

    Raises:
        InputError: an address cannot be understood.
        TraceServerError: a server cannot be asked, or has no such traces.
    """
    addresses = addresses_in(traces)
    if not addresses:
        return list(traces), {}
    from tempfile import TemporaryDirectory

    folder = context.with_resource(TemporaryDirectory(prefix="rightcall-"))
    files: dict[str, str] = {}
    for number, (trace, address) in enumerate(addresses.items()):
        files[trace] = os.path.join(folder, f"{address.scheme}-{number}.jsonl")
        with open(files[trace], "wb") as file:
            if not _pull(address, file):
                raise InputError(_nothing_there(address))
    names = {files[trace]: str(address) for trace, address in addresses.items()}
    return [files.get(trace, trace) for trace in traces], names


def _nothing_there(address: Address) -> str:
    return f"{address}: no traces match this address{_looked_back(address)}"


def _looked_back(address: Address) -> str:
    """Say how far back a server was searched, if it was not asked for everything; else nothing."""
    from rightcall.connect import LOOKS_BACK, SEARCHED

    query = address.query
    if address.scheme not in SEARCHED or query.traces or query.since_ns is not None:
        return ""
    return f" of the last {LOOKS_BACK // (86_400 * 10**9)} days (for more, give since=)"


def _pull(address: Address, file: IO[bytes]) -> int:
    """Pull traces into a file, showing how many there are so far on a terminal."""
    from rightcall.connect import pull

    shows = sys.stderr is not None and sys.stderr.isatty()

    def seen(count: int, total: int) -> None:
        if shows and (count == total or count % 10 == 0):
            click.echo(f"\rpulling {count:,} of {total:,} traces from {address}", nl=False, err=True)

    def warn(message: str) -> None:
        click.echo("\r\x1b[K" if shows else "", nl=False, err=True)
        print_error(message)

    try:
        return pull(address, file, seen, warn)
    finally:
        if shows:
            click.echo("\r\x1b[K", nl=False, err=True)


@contextmanager
def _opened(path: str, target: str) -> Iterator[IO[bytes]]:
    """Open a file for writing, compressed as the name of the target says."""
    try:
        with open(path, "wb") as file:
            if target.endswith(".gz"):
                with gzip.open(file, "wb") as packed:
                    yield packed  # type: ignore[misc]
            elif target.endswith(".zst"):
                with _zstandard(file) as packed:
                    yield packed
            else:
                yield file
    except OSError as problem:
        raise InputError(f"{target}: {problem.strerror or problem}") from None


def _zstandard(file: IO[bytes]) -> Any:
    try:
        import zstandard
    except ImportError:
        raise missing_package("writing a .zst file needs zstandard", "zstd") from None
    return zstandard.ZstdCompressor().stream_writer(file, closefd=False)
