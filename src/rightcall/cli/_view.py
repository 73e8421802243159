"""`rightcall view`: runs as web pages, on this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rightcall.errors import ViewerError, missing_package
from rightcall.reporting.store import RUNS

from ._numbers import Whole
from ._options import no_redact_option
from ._terminal import print_error

if TYPE_CHECKING:
    from rightcall.reporting.viewer import Token

_NEEDED = ("jinja2", "starlette", "uvicorn")
_VARIABLE = "RIGHTCALL_VIEW_TOKEN"
_LONGEST_TOKEN = 4_096


@click.command(name="view")
@click.argument("runs", required=False, metavar="[RUNS]")
@click.option("--port", type=Whole(0, 65535), help="The port; 8732 by default, or a free one if it is taken.")
@click.option(
    "--host",
    metavar="ADDRESS",
    default="127.0.0.1",
    show_default=True,
    help="The address to listen on; any but 127.0.0.1 needs a token.",
)
@click.option("--token", "makes_token", is_flag=True, help="Require a token, and print it once.")
@click.option("--token-file", metavar="FILE", help=f"Read the token from a file; the variable {_VARIABLE} works, too.")
@click.option("--open/--no-open", "opens", default=None, help="Open a browser; by default, if there is a screen.")
@no_redact_option
def command(
    runs: str | None,
    port: int | None,
    host: str,
    makes_token: bool,
    token_file: str | None,
    opens: bool | None,
    no_redact: bool,
) -> int:
    """Show runs as web pages, to this machine only.

    RUNS is a folder of runs, or the folder of one run; .rightcall/runs by default. Stop it with Ctrl-C.
    """
    _check_extra()
    from rightcall.reporting.viewer import PORT, Desk, Library, Listener, is_loopback, make_app

    from ._edits import ProjectEditor

    folder = _folder(runs)
    token = _token(makes_token, token_file)
    listener = Listener(host, port, has_token=token is not None)
    if port is None and listener.hosts.port != PORT:
        print_error(f"port {PORT} is taken, so another one is used")

    def started() -> None:
        click.echo(f"{listener.url}  shows {folder}; Ctrl-C ends it")
        sys.stdout.flush()
        if opens or (opens is None and _has_screen()):
            _open(listener.url)

    library = Library(folder, redacts=not no_redact)
    # Readers from elsewhere may look, and not write to files here.
    desk = Desk(ProjectEditor(Path.cwd())) if is_loopback(host) else None
    listener.serve(make_app(library, listener.hosts, token, desk), started)
    return 0


def _check_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise missing_package(f"web pages need {' and '.join(missing)}")


def _folder(runs: str | None) -> Path:
    """The folder that is meant: as given, or the folder of runs in a project that is given. Raises `ViewerError`."""
    if runs is None:
        return RUNS
    folder = Path(runs)
    if not folder.is_dir():
        raise ViewerError(f"{runs}: {'not a folder' if folder.exists() else 'no such folder'}; runs are in {RUNS}")
    return folder / RUNS if (folder / RUNS).is_dir() else folder


def _token(makes_token: bool, file: str | None) -> Token | None:
    """The token that is asked for. None of these ways shows it to other users of the machine, or in a log.

    Raises:
        ViewerError: it cannot be read, is too short, or would have to be shown without a terminal.
    """
    from rightcall.reporting.viewer import Token, new_token

    if file is not None:
        return Token(_read_token(file))
    if _VARIABLE in os.environ:
        return Token(os.environ[_VARIABLE])
    if not makes_token:
        return None
    if sys.stderr is None or not sys.stderr.isatty():
        raise ViewerError(f"there is no terminal to show the new token on; use --token-file, or set {_VARIABLE}")
    made = new_token()
    click.echo(f"token: {made}", err=True)
    return Token(made)


def _read_token(file: str) -> str:
    try:
        with open(file, "rb") as opened:
            return opened.read(_LONGEST_TOKEN).decode("ascii", "replace").strip()
    except OSError as problem:
        raise ViewerError(f"--token-file {file}: {problem.strerror or problem}") from None


def _has_screen() -> bool:
    """Whether there is a terminal, and a screen that a browser could open on."""
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print_error(f"no browser could be opened; go to {url}")
