"""A project's files, the configuration, the eval sets, the recordings and those of an agent, and the options it keeps.

Only the standard library is imported, because every command and the completion of a shell start here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from rightcall._lazy import lazy_pattern, lazy_patterns_of
from rightcall.errors import AgentError, DocumentError, InputError, nearest

OWN_FILE = "rightcall.toml"
PROJECT_FILE = "pyproject.toml"
_BOUNDARIES = (OWN_FILE, PROJECT_FILE, ".git")
"""What makes a folder inside a project another project; `.git` is a file in submodules and worktrees."""

_MOST_ENTRIES = 5_000
_EVAL_SETS = {
    "evals": ("*.yaml", "*.yml", "*.json"),
    "evaluations/eval-sets": ("*.json",),
    ".": ("*.evalset.json", "*.test.json"),
    "*": ("*.evalset.json", "*.test.json"),
}
"""Patterns of eval sets, by the folder of the project that they are in; `*` is any folder at its top."""
_SKIPPED = {"node_modules", "site-packages", "venv", "env", "build", "dist", "__pycache__"}
_BASELINE = b'{"schema":1,"evalset":'
"""The beginning of a baseline file, without its blanks."""
_BEGINNING = 100
_COMMAND = "cmd:"
_EXTERNAL = (_COMMAND, "http://", "https://")
_MOST_BYTES = 1 << 20
_SIZE = lazy_pattern(r"(\d{1,18})\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def project_of(path: Path) -> Path | None:
    """Return the project that a path is in: the nearest folder, from there up, with one of the two files."""
    return _nearest(path, (OWN_FILE, PROJECT_FILE))


def _nearest(path: Path, marks: tuple[str, ...]) -> Path | None:
    path = path.resolve()
    folders = (path, *path.parents) if path.is_dir() else path.parents
    return next((one for one in folders if any((one / mark).exists() for mark in marks)), None)


class TrustedProject(NamedTuple):
    """The project from which code that an eval set names may be imported, and its name in messages."""

    folder: str | None
    name: str

    def holds(self, file: Path) -> bool:
        """Whether a file is inside, with links followed, and in no other project further inside."""
        return self._has(file) and self._inner(file) is None

    def refusal(self, file: Path | None) -> str:
        """Return why a file is not held, to follow "which" or a name; `None` is a file that is not there."""
        inner = self._inner(file) if file is not None and self._has(file) else None
        return f"is not inside {self}" if inner is None else f"is inside another project ({inner}) in {self}"

    def _has(self, file: Path) -> bool:
        return self.folder is not None and file.resolve().is_relative_to(Path(self.folder).resolve())

    def _inner(self, file: Path) -> Path | None:
        """Return the project in this project that a file is in: a repository unpacked or cloned here, for example."""
        nearest = _nearest(file, _BOUNDARIES)
        top = Path(self.folder or "").resolve()
        return nearest if nearest is not None and nearest != top and nearest.is_relative_to(top) else None

    def __str__(self) -> str:
        return f"{self.name} ({self.folder or f'no folder above it has {OWN_FILE} or {PROJECT_FILE}'})"


def project_of_eval_set(evalset: Path) -> TrustedProject:
    """Return the project of an eval set: what a program trusts that asks for this file itself."""
    return _trusted(evalset, "the project of the eval set")


def current_project() -> TrustedProject:
    """Return the project of the current folder: what a command trusts, wherever the eval set comes from.

    A downloaded eval set can bring a project file along, so its own project is not trusted, wherever it lies.
    """
    return _trusted(Path.cwd(), "the project of the current folder")


def _trusted(path: Path, name: str) -> TrustedProject:
    # A repository without a project file, in a folder that has one, is trusted alone when one works inside it.
    return TrustedProject(None if project_of(path) is None else str(_nearest(path, _BOUNDARIES)), name)


def eval_sets_in(folder: Path) -> list[str]:
    """Return the eval sets of a project, found by name and folder, as relative paths.

    At most 5,000 directory entries are looked at: a project folder may be a home folder or a file share.
    """
    budget = [_MOST_ENTRIES]
    top = list(_entries(folder, budget))
    found = []
    for place, patterns in _EVAL_SETS.items():
        if place == ".":
            found += [name for name, is_folder in top if not is_folder and _fits(name, patterns)]
            continue
        folders = [name for name, is_folder in top if is_folder and name not in _SKIPPED and not name.startswith(".")]
        for inside in folders if place == "*" else [place]:
            names = [name for name, is_folder in _entries(folder / inside, budget) if not is_folder]
            found += [f"{inside}/{name}" for name in names if _fits(name, patterns)]
    return sorted([name for name in set(found) if not _is_baseline(folder / name)])


def _is_baseline(path: Path) -> bool:
    """Whether a file is a baseline, which `rightcall baseline` and the pages write beside the eval set."""
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return b"".join(file.read(_BEGINNING).split()).startswith(_BASELINE)
    except OSError:
        return False  # an error is reported when it is opened


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return not name.endswith(".schema.json") and any(fnmatch(name, pattern) for pattern in patterns)


def _entries(folder: Path, budget: list[int]) -> Iterator[tuple[str, bool]]:
    """Yield the names in a folder, and whether each is a folder; nothing if the folder cannot be read."""
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                budget[0] -= 1
                if budget[0] < 0:
                    return
                yield entry.name, entry.is_dir()
    except OSError:
        return  # not allowed to look inside, or removed meanwhile


def recording_path(evalset: str | Path, variant: str | None = None) -> Path:
    """Return the path of an eval set's recording: beside it, as `<name>.recording.jsonl`.

    A variant has one of its own, because it asks another model, or the same one with another prompt.
    """
    return Path(evalset).with_suffix(".recording.jsonl" if variant is None else f".{variant}.recording.jsonl")


def agent_folder(
    agent: str, evalset: Path, trust: bool, remedy: str = "give --trust", home: TrustedProject | None = None
) -> Path:
    """Return the folder in which to look for the agent that an eval set names: one in the eval set's project.

    The agent has to be inside `home`, which is the eval set's project by default.

    Raises:
        AgentError: the agent is outside, and `trust` is not given; `remedy` says how to give it.
    """
    project = project_of(evalset)
    trusted = home or project_of_eval_set(evalset)
    folders = [folder for folder in (project, evalset.resolve().parent) if folder is not None]
    folder = next((folder for folder in folders if (folder / _path_part(agent)).exists()), folders[0])
    if not trust and is_external(agent):
        raise AgentError(
            f"{evalset} names the agent {agent!r:.200}: commands and addresses in an eval set are not trusted, because "
            f"a downloaded file could start anything; write it as agent in {OWN_FILE}, name it on the command line, or "
            f"{remedy}"
        )
    if not trust and (refusal := _refusal(agent, folder, trusted)):
        raise AgentError(
            f"{evalset} names the agent {agent!r:.200}, which {refusal}; name the agent on the command line, or "
            f"{remedy}"
        )
    return folder


def recorded_agent_folder(agent: str, trust: bool) -> Path:
    """Return the folder in which to look for the agent of a run that is resumed: the current one.

    A run folder is data that may come from anyone, so the agent it names has to be inside the current project.

    Raises:
        AgentError: the agent is outside, and `trust` is not given.
    """
    here = Path.cwd()
    this = TrustedProject(_trusted(here, "").folder or str(here), "this project")
    if not trust and (refusal := _refusal(agent, here, this)):
        raise AgentError(
            f"the run was made with the agent {agent!r:.200}, which {refusal}; name it on the command line again, or "
            "give --trust"
        )
    return here


def agent_files(agent: str, folder: Path) -> list[Path]:
    """Return the files whose content decides what an agent does, so that a change makes earlier results stale.

    For a file, all Python files beside it, which it may import; for a folder or a package, all below it; for a
    command, the files that it names. Empty for an installed package or an endpoint, whose files are not known.
    """
    if agent.startswith(_COMMAND):
        return _files_of_command(agent.removeprefix(_COMMAND), folder)
    path = _path_part(agent)
    found = folder / path
    if not found.exists():
        module = folder.joinpath(*path.split("."))
        found = module if module.is_dir() else module.with_suffix(".py")
    if not found.exists():
        return []
    files = _files_below(found) if found.is_dir() else found.parent.glob("*.py")
    # Editors leave broken links beside a file that is being edited, such as Emacs's `.#agent.py`.
    return sorted([file for file in files if file.name[0] != "." and file.is_file()])


def is_external(agent: str) -> bool:
    """Whether an agent is a command or an endpoint, so that its tools run in another process."""
    return agent.startswith(_EXTERNAL)


def _refusal(agent: str, folder: Path, home: TrustedProject) -> str | None:
    """Return why the agent that a file names is not run from `folder`, or `None` if `home` holds it."""
    if is_external(agent):
        return home.refusal(None)
    path = _path_part(agent)
    module = Path(*path.split(".")) if not path.endswith(".py") and "/" not in path else Path(path)
    places = [folder / path, folder / module.with_suffix(".py"), folder / module / "__init__.py"]
    found = [one for one in places if one.exists()]
    return None if any(home.holds(one) for one in found) else home.refusal(found[0] if found else None)


def _path_part(agent: str) -> str:
    """The file, folder or module in an agent's name, without the `:function` after it."""
    path, colon, name = agent.rpartition(":")
    return path if colon and name.replace(".", "_").isidentifier() else agent


def _files_of_command(command: str, folder: Path) -> list[Path]:
    import shlex

    try:
        words = shlex.split(command)
    except ValueError:
        return []  # loading the agent reports it
    return [folder / word for word in words if (folder / word).is_file()]


def _files_below(folder: Path) -> Iterator[Path]:
    for above, folders, files in os.walk(folder):
        inside = Path(above)
        # Hidden folders and virtual environments are not the agent's own code.
        folders[:] = [one for one in folders if one[0] != "." and not (inside / one / "pyvenv.cfg").exists()]
        yield from [inside / file for file in files if file.endswith(".py")]


class Configuration(NamedTuple):
    """The options of a project, and the file they come from."""

    folder: Path
    values: dict[str, Any]
    path: Path | None = None


def is_configured(folder: Path) -> bool:
    """Whether a folder itself has one of the two files, with options in it. An unreadable file counts as none."""
    if (folder / OWN_FILE).is_file():
        return True
    try:
        return "rightcall" in _decoded(folder / PROJECT_FILE)[1].get("tool", {})
    except InputError:
        return False


def load_configuration(place: Path, known: Callable[[], Iterable[str]] | None = None) -> Configuration:
    """Return the options of the project that a path is in; they may be written with `-` or `_`.

    `known` returns the options that there are, and is asked only where a file has some. Without it, every option is
    accepted.

    Raises:
        InputError: the file cannot be read, or has an unknown option.
    """
    folder = project_of(place)
    if folder is None:
        return Configuration(place, {})
    own = folder / OWN_FILE
    path = own if own.is_file() else folder / PROJECT_FILE
    text, document = _decoded(path)
    values = document if path == own else document.get("tool", {}).get("rightcall", {})
    if not isinstance(values, dict):
        raise InputError(f"{path}: tool.rightcall is a table of options, not {type(values).__name__}")
    options = {name.replace("_", "-") for name in (known() if values and known is not None else values)}
    for key in values:
        if key.replace("_", "-") not in options:
            line = _line_of(key, text)
            raise DocumentError(f"{path}:{line}:1: unknown option {key!r}; {nearest(key, sorted(options))}", line, 1)
    return Configuration(folder, {key.replace("-", "_"): value for key, value in values.items()}, path)


def bytes_of(text: str) -> int:
    """Return the number of bytes in a size such as `1000000`, `500MB` or `2G`; the units are powers of 1024.

    Raises:
        InputError: the text is not a size.
    """
    found = _SIZE.fullmatch(text.strip())
    if found is None:
        raise InputError(f"{text!r:.40} is not a size; write 1000000, 500MB or 2GB")
    return int(found[1]) * _UNITS[found[2].lower()]


def _decoded(path: Path) -> tuple[str, dict[str, Any]]:
    with lazy_patterns_of("tomllib", "string"):
        import tomllib  # few folders are projects

    try:
        if path.stat().st_size > _MOST_BYTES:
            raise InputError(f"{path}: larger than {_MOST_BYTES:,} bytes")
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise InputError(f"{path}: {problem}") from None


def _line_of(key: str, text: str) -> int:
    found = re.search(rf"^\s*[\"']?{re.escape(key)}[\"']?\s*=", text, re.MULTILINE)
    return text.count("\n", 0, found.end()) + 1 if found else 1
