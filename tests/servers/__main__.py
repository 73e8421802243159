"""Sends every recording to real trace servers and compares what comes back: `python -m tests.servers`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.environments import EnvironmentFailedError
from tests.targets import show_table, within

from .comparing import differences
from .keeping import keep
from .processes import ServerFailedError
from .recordings import Recording, recordings
from .servers import SERVERS
from .table import HEADING, Row, render

_EQUAL, _DIFFERENT, _NOT_TRIED = 0, 1, 2
_SECONDS = 5400


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0 when all differences are explained, 1 when one is not, 2 when a server could not be tried."""
    options = _parser().parse_args(arguments)
    rows: list[Row] = []
    problems: list[str] = []
    with within(_SECONDS):
        for name in options.only or SERVERS:
            print(f"trying {name}", file=sys.stderr)
            try:
                rows += _tried(name, is_kept=options.keep)
            except (EnvironmentFailedError, ServerFailedError) as failure:
                problems.append(f"{name}: {failure}")
    if options.keep and not options.only and not problems:
        show_table(HEADING, render(rows))
    return _told(rows, problems)


def _told(rows: Sequence[Row], problems: Sequence[str]) -> int:
    print(render(rows))
    for row in rows:
        for name in row.unexplained:
            print(f"\n{row.server.name}, {row.form}, {name}")
            print("\n".join([f"  {line}" for line in row.differences[name][:20]]))
    for problem in problems:
        print(f"NOT TRIED {problem}")
    for row in rows:
        for name in row.equal_again:
            print(f"{row.server.name}, {row.form}, {name} is equal, so tests/servers/reasons.py need not explain it")
    unexplained = sum([len(row.unexplained) for row in rows])
    print(f"\n{len(rows)} exports, {unexplained} differences without a reason, {len(problems)} servers not tried.")
    return _NOT_TRIED if problems else _DIFFERENT if unexplained else _EQUAL


def _tried(name: str, *, is_kept: bool) -> list[Row]:
    server, sent = SERVERS[name], recordings()
    with tempfile.TemporaryDirectory(prefix=f"rightcall-{name}-") as held:
        exports_folder = Path(held) / "exports"
        exports_folder.mkdir()
        with server.start(Path(held)) as answering:
            for recording in sent:
                answering.send(recording)
            exports = answering.exports(sent, exports_folder)
            for line in answering.connected(sent, is_kept=is_kept):
                print(line, flush=True)
    if is_kept:
        keep(name, exports)
    return [
        Row(name, server, form, len(sent), _compared(sent, found, server.precision_ns))
        for form, found in exports.items()
    ]


def _compared(sent: Sequence[Recording], found: dict[str, bytes], precision_ns: int) -> dict[str, list[str]]:
    compared = {
        recording.name: differences(recording.wire, found[recording.name], precision_ns=precision_ns)
        if recording.name in found
        else ["not exported"]
        for recording in sent
    }
    return {name: held for name, held in compared.items() if held}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.servers", description=__doc__)
    parser.add_argument("--only", action="append", choices=SERVERS, metavar="NAME", help="phoenix or mlflow")
    parser.add_argument(
        "--keep", action="store_true", help="keep exports in tests/data; of all servers, the table in docs/"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
