"""`rightcall view`: runs as web pages on this machine, and the edits of files that these pages ask for."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rightcall.errors import RightcallError, ViewerError, missing_package
from rightcall.reporting.reports import diff_lines
from rightcall.reporting.store import RUNS, RunFolder, pooled
from rightcall.values.decoding import Edit
from rightcall.values.results import CaseResult

from ._files import check_replaceable, replace_file
from ._options import Whole, no_redact_option
from ._output import print_error

if TYPE_CHECKING:
    from rightcall.cases.accepting import Acceptance
    from rightcall.cases.evalsets import EvalSet
    from rightcall.reporting.viewer import Proposal, Token


_NEEDED = ("jinja2", "starlette", "uvicorn")
_VARIABLE = "RIGHTCALL_VIEW_TOKEN"
_LONGEST_TOKEN = 4_096
_MARK = "\ufeff"
_MOST_NOTES = 5


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
    from rightcall.reporting.viewer import PORT, EditSession, Library, Listener, is_loopback, make_app

    folder = _folder(runs)
    token = _token(makes_token, token_file)
    listener = Listener(host, port, has_token=token is not None)
    if port is None and listener.hosts.port != PORT:
        print_error(f"port {PORT} is taken, so another one is used")

    def started() -> None:
        click.echo(f"{listener.url}  shows {folder}; Ctrl-C stops it")
        sys.stdout.flush()
        if opens or (opens is None and _has_screen()):
            _open(listener.url)

    library = Library(folder, redacts=not no_redact)
    # Readers on other machines may look, but not write to files here.
    session = EditSession(ProjectEditor(Path.cwd())) if is_loopback(host) else None
    listener.serve(make_app(library, listener.hosts, token, session), started)
    return 0


def _check_extra() -> None:
    from importlib.util import find_spec

    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise missing_package(f"web pages need {' and '.join(missing)}")


def _folder(runs: str | None) -> Path:
    """Return the folder as given, or the folder of runs in a project that is given. Raises `ViewerError`."""
    if runs is None:
        return RUNS
    folder = Path(runs)
    if not folder.is_dir():
        raise ViewerError(f"{runs}: {'not a folder' if folder.exists() else 'no such folder'}; runs are in {RUNS}")
    return folder / RUNS if (folder / RUNS).is_dir() else folder


def _token(makes_token: bool, file: str | None) -> Token | None:
    """Return the token, if one is asked for. No way to give it shows it to other users of the machine, or in a log.

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
    """Return whether there is a terminal, and a screen that a browser could open on."""
    if sys.stdout is None or not sys.stdout.isatty():
        return False
    return sys.platform in ("darwin", "win32") or bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _open(url: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        print_error(f"no browser could be opened; go to {url}")


class ProjectEditor:
    """Edits the eval sets and baselines inside a folder, and nothing outside of it.

    What a run says about its eval set may have been written by anyone, so a path that leads elsewhere is refused.
    """

    def __init__(self, home: Path) -> None:
        self._home = home.resolve()

    def accept(self, run: RunFolder, results: Sequence[CaseResult]) -> Proposal:
        """Return the edit after which the eval set expects what cases did. Raises `RightcallError`."""
        from rightcall.cases.accepting import Observed, accept

        content, text, eval_set = self._loaded(run, results)
        observed: dict[str, Observed] = {}
        for result in results:
            seen = observed.setdefault(result.case_id, Observed())
            if result.outcome is not None and result.outcome.error is not None:
                seen.trouble = ("", result.outcome.error)
            elif result.trajectory is not None:
                seen.trajectories.append(result.trajectory)
        missing = observed.keys() - {case.id for case in eval_set.cases}
        if missing:
            raise RightcallError(f"{eval_set.path}: has no case `{sorted(missing)[0]:.80}` any more")
        return self._proposal(content, text, eval_set, accept(text, eval_set, observed))

    def ignore(self, run: RunFolder, result: CaseResult, expectation: str, position: int, argument: str) -> Proposal:
        """Return the edit after which an argument of a call is not compared. Raises `RightcallError`."""
        from rightcall.cases.accepting import IgnoredArgument, ignore

        content, text, eval_set = self._loaded(run, [result])
        if result.trajectory is None:
            raise RightcallError("nothing was recorded of this case")
        wanted = IgnoredArgument(result.case_id, expectation, position, argument)
        return self._proposal(content, text, eval_set, ignore(text, eval_set, wanted, result.trajectory))

    def pin(self, run: RunFolder) -> Proposal:
        """Return the edit after which a run is the baseline beside its eval set. Raises `RightcallError`."""
        from rightcall.reporting.viewer import Proposal

        self._path(run)
        path = str(Path(run.header.evalset).with_suffix(".baseline.json"))
        self._check(path)
        before = Path(path).read_bytes() if os.path.lexists(path) else None
        after = pooled([run]).text()
        old = (before or b"").decode(errors="replace")
        lines = list(diff_lines(old, [Edit(0, len(old), after)], path, path)) if old != after else []
        return Proposal(path=path, before=before, after=after.encode(), lines=lines)

    def write(self, path: str, before: bytes | None, after: bytes | None) -> None:
        """Replace the content of a file, if it is still `before`; `None` for no file. Raises `RightcallError`."""
        self._check(path)
        if after is not None:
            replace_file(path, before, after)
        elif before is not None and Path(path).read_bytes() == before:
            os.unlink(path)
        else:
            raise RightcallError(f"{path}: has been changed in the meantime, so nothing was undone")

    def _loaded(self, run: RunFolder, results: Sequence[CaseResult]) -> tuple[bytes, str, EvalSet]:
        """Return the eval set of a run: its content, its text and its cases. Raises `RightcallError`."""
        from rightcall.cases.evalsets import load_eval_set

        path = self._path(run)
        try:
            content = Path(path).read_bytes()
        except OSError as problem:
            raise RightcallError(f"{path}: {problem.strerror or problem}") from None
        eval_set = load_eval_set(path)
        if eval_set.format != "native":
            raise RightcallError(f"{path}: convert it first: `rightcall convert {path}`")
        named = {result.case_id for result in results}
        waiting = [case.id for case in eval_set.cases if case.id in named and _waits(case.checks)]
        if waiting:
            raise RightcallError(f"`{waiting[0]:.80}` asks a judge; use `rightcall accept {run.short_id}`")
        return content, content.decode().removeprefix(_MARK), eval_set

    def _path(self, run: RunFolder) -> str:
        header = run.header
        if not header.evalset:
            raise RightcallError(f"run {run.short_id} was checked against one expectation, not an eval set")
        if header.options.get("redact") is True:
            raise RightcallError(f"run {run.short_id} was kept with `--redact`: what its secrets were is not known")
        self._check(header.evalset)
        if not os.path.isfile(header.evalset):
            raise RightcallError(
                f"{header.evalset}: does not exist here; start `rightcall view` in the project's folder"
            )
        return header.evalset

    def _check(self, path: str) -> None:
        if not Path(path).resolve().is_relative_to(self._home):
            raise RightcallError(f"{path}: is outside of the folder that `rightcall view` was started in")
        check_replaceable(path)

    def _proposal(self, content: bytes, text: str, eval_set: EvalSet, made: Acceptance) -> Proposal:
        from rightcall.reporting.viewer import Proposal

        path = str(eval_set.path)
        left = [f"`{each.case_id[:80]}`: {each.reason[:300]}" for each in made.outcomes if each.kind == "left"]
        more = [f"and {len(left) - _MOST_NOTES:,} more cases are left as they are"] if len(left) > _MOST_NOTES else []
        mark = _MARK if content.startswith(_MARK.encode()) else ""
        return Proposal(
            path=path,
            before=content,
            after=(mark + made.after).encode(),
            lines=list(diff_lines(made.before, made.edits, path, path)),
            notes=[*left[:_MOST_NOTES], *more],
        )


def _waits(checks: Sequence[object]) -> bool:
    return any([getattr(getattr(check, "evaluator", None), "waits", False) for check in checks])
