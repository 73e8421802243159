"""A project: its configuration, eval sets, recordings and agent files, and which of its code may be imported.

It imports little beyond the standard library, because every command and every shell completion starts here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, NamedTuple

from rightcall._lazy import lazy_pattern, light_imports
from rightcall.errors import AgentError, DocumentError, InputError, nearest

OWN_FILE = "rightcall.toml"
PROJECT_FILE = "pyproject.toml"
_BOUNDARIES = (OWN_FILE, PROJECT_FILE, ".git")
"""Files and folders that make their folder a project of its own; `.git` is a file in submodules and worktrees."""

_MOST_ENTRIES = 5_000
_EVAL_SETS = {
    "evals": ("*.yaml", "*.yml", "*.json"),
    "evaluations/eval-sets": ("*.json",),
    ".": ("*.evalset.json", "*.test.json"),
    "*": ("*.evalset.json", "*.test.json"),
}
"""Patterns of eval sets by folder of the project; `*` is any folder at its top level."""
_SKIPPED = {"node_modules", "site-packages", "venv", "env", "build", "dist", "__pycache__"}
_BASELINE = b'{"schema":1,"evalset":'
"""The beginning of a baseline file, without white space."""
_BEGINNING = 100
_COMMAND = "cmd:"
_EXTERNAL = (_COMMAND, "http://", "https://")
_MOST_BYTES = 1 << 20
_SIZE = lazy_pattern(r"(\d{1,18})\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def project_of(path: Path, marks: tuple[str, ...] = (OWN_FILE, PROJECT_FILE)) -> Path | None:
    """Return the project that contains a path: the nearest folder upwards with one of the files that mark a project."""
    path = path.resolve()
    folders = (path, *path.parents) if path.is_dir() else path.parents
    return next((one for one in folders if any((one / mark).exists() for mark in marks)), None)


class TrustedProject(NamedTuple):
    """A project whose code may be imported if an eval set names it."""

    folder: str | None
    """`None` if there is no project, and so no trusted code."""
    whose: str
    """Where the search for the project began, in words for messages."""

    def holds(self, file: Path) -> bool:
        """Whether a file is in this project, after following links, and not in another project inside it."""
        return self._has(file) and self._inner(file) is None

    def refusal(self, file: Path | None) -> str:
        """Return why `holds` is false, as the end of a sentence ("is not inside …"); `None` for a missing file."""
        if self.folder is None:
            files = f"{OWN_FILE} (an empty one will do) or {PROJECT_FILE}"
            return f"is in no project: there is no {files} at or above {self.whose}"
        inner = self._inner(file) if file is not None and self._has(file) else None
        home = f"the project of {self.whose} ({self.folder})"
        return f"is not inside {home}" if inner is None else f"is inside another project ({inner}) in {home}"

    def _has(self, file: Path) -> bool:
        return self.folder is not None and file.resolve().is_relative_to(Path(self.folder).resolve())

    def _inner(self, file: Path) -> Path | None:
        """Return the project inside this one that contains a file, such as a repository that was cloned here."""
        nearest = project_of(file, _BOUNDARIES)
        top = Path(self.folder or "").resolve()
        return nearest if nearest is not None and nearest != top and nearest.is_relative_to(top) else None


def trusted_project(evalset: Path | None = None) -> TrustedProject:
    """Return the project whose code is imported if an eval set names it: that of the current folder.

    Commands trust no other, because a downloaded eval set may come with a project file. A Python program that loads an
    eval set itself trusts the project of that eval set.
    """
    whose = "the current folder" if evalset is None else "the eval set"
    path = Path.cwd() if evalset is None else evalset
    # In a repository without a project file, inside a project, only the repository is trusted.
    folder = None if project_of(path) is None else str(project_of(path, _BOUNDARIES))
    return TrustedProject(folder, whose)


def eval_sets_in(folder: Path) -> list[str]:
    """Return the eval sets of a project, found by name and folder, as relative paths.

    At most 5,000 directory entries are read: a project folder may be a home folder or a file share.
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
    """Whether a file is a baseline, which is written to the folder of the eval set."""
    if path.suffix != ".json" or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return b"".join(file.read(_BEGINNING).split()).startswith(_BASELINE)
    except OSError:
        return False  # the error is reported when the file is loaded


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return not name.endswith(".schema.json") and any(fnmatch(name, pattern) for pattern in patterns)


def _entries(folder: Path, budget: list[int]) -> Iterator[tuple[str, bool]]:
    """Yield the name of each entry of a folder, and whether it is a folder; nothing if it cannot be read."""
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
    """Return the path of an eval set's recording: `<name>.recording.jsonl` in the same folder.

    A variant has its own recording, because it uses another model or prompt.
    """
    return Path(evalset).with_suffix(".recording.jsonl" if variant is None else f".{variant}.recording.jsonl")


def agent_folder(
    agent: str, evalset: Path, trust: bool, remedy: str = "give --trust", home: TrustedProject | None = None
) -> Path:
    """Return the folder that the agent in an eval set is relative to: the eval set's project, or its folder.

    The agent has to be inside `home`, by default the eval set's project.

    Raises:
        AgentError: the agent is outside, and not trusted; `remedy` tells the user how to trust it.
    """
    project = project_of(evalset)
    trusted = home or trusted_project(evalset)
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
    """Return the folder that the agent of a resumed run is relative to: the current one.

    A run folder is data that may come from anyone, so the agent it names has to be inside the current project.

    Raises:
        AgentError: the agent is outside, and not trusted.
    """
    here = Path.cwd()
    trusted = trusted_project()
    # Without a project file, the current folder is the project.
    trusted = trusted._replace(folder=trusted.folder or str(here))
    if not trust and (refusal := _refusal(agent, here, trusted)):
        raise AgentError(
            f"the run was made with the agent {agent!r:.200}, which {refusal}; name it on the command line again, or "
            "give --trust"
        )
    return here


def agent_files(agent: str, folder: Path) -> list[Path]:
    """Return the files that an agent consists of: if one changes, earlier results are stale.

    For a file, all Python files in its folder, which it may import; for a folder or a package, all Python files below
    it; for a command, the files among its arguments. Empty for an installed package or an endpoint.
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
    """Return why an agent, relative to `folder`, is outside `home`; `None` if it is inside."""
    if is_external(agent):
        return home.refusal(None)
    path = _path_part(agent)
    module = Path(*path.split(".")) if not path.endswith(".py") and "/" not in path else Path(path)
    places = [folder / path, folder / module.with_suffix(".py"), folder / module / "__init__.py"]
    found = [one for one in places if one.exists()]
    return None if any(home.holds(one) for one in found) else home.refusal(found[0] if found else None)


def _path_part(agent: str) -> str:
    """Return the file, folder or module in an agent's name, without `:function`."""
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
    """Whether a folder has `rightcall.toml`, or `pyproject.toml` with a table for Rightcall. Unreadable means no."""
    if (folder / OWN_FILE).is_file():
        return True
    try:
        return "rightcall" in _decoded(folder / PROJECT_FILE)[1].get("tool", {})
    except InputError:
        return False


def load_configuration(place: Path, known: Callable[[], Iterable[str]] | None = None) -> Configuration:
    """Return the options of the project that contains a path; they may be written with `-` or `_`.

    `known` returns the names of all options, and is called only if the file sets any. Without it, every option is
    accepted.

    Raises:
        DocumentError: the file has an unknown option.
        InputError: the file cannot be read.
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
    with light_imports("tomllib", "string"):
        import tomllib  # not needed outside of projects

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
