"""A throw-away virtual environment for each peer, never the project's own."""

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
REQUIREMENTS = {
    "uipath": "uipath==2.14.44",
    "google-adk": "google-adk==2.13.0",
    "agentevals": "agentevals",
    "agentevals-cli": "agentevals-cli==0.11.0",
    "deepeval": "deepeval",
    "orjson": "orjson",
}


_MARK = ".installed"
# No peer may call home, and none needs the network.
_QUIET = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "LANGSMITH_TRACING": "false",
    "LANGCHAIN_TRACING_V2": "false",
    "UIPATH_TELEMETRY_ENABLED": "false",
    "PYTHONHASHSEED": "0",
}


class EnvironmentFailedError(Exception):
    """A peer could not be installed."""


def folder() -> Path:
    """Where the peers live: `.bench`, unless RIGHTCALL_BENCH_PEERS names a folder with ready environments."""
    return Path(os.environ.get("RIGHTCALL_BENCH_PEERS") or ROOT / ".bench")


def log_of(name: str) -> Path:
    """The file that takes what a worker or an installation prints."""
    logs = ROOT / ".bench" / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    return logs / f"{name}.log"


def quiet_environment() -> dict[str, str]:
    """The variables of every process that is measured.

    All of them may keep what they compile, as pip does for the peers when it installs them.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return {**inherited, **_QUIET}


def python_of(name: str) -> Path:
    """The interpreter of the named peer, installed first if it is missing; ours for any other name.

    Raises:
        EnvironmentFailedError: pip could not install the peer.
    """
    if name not in REQUIREMENTS:
        return Path(sys.executable)
    return provide(name, [REQUIREMENTS[name]])


def provide(name: str, requirements: Sequence[str]) -> Path:
    """The interpreter of the environment of this name, with these requirements installed if they are missing.

    Raises:
        EnvironmentFailedError: pip could not install them.
    """
    home = folder() / name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if not _ready(requirements, home, python):
        _install(requirements, home, python)
    return python


def source_of(name: str) -> Path:
    """The source distribution of the named peer, fetched first if it is missing.

    Raises:
        EnvironmentFailedError: pip could not fetch it.
    """
    python, target = python_of(name), ROOT / ".bench" / "sources"
    pattern = f"{REQUIREMENTS[name].replace('==', '-')}*.tar.gz"
    if not list(target.glob(pattern)):
        log = log_of(f"{name}-source")
        with log.open("w") as output:
            pip = [str(python), "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
            command = [*pip, "--dest", str(target), REQUIREMENTS[name]]
            done = subprocess.run(command, stdout=output, stderr=output, check=False)
        if done.returncode:
            raise EnvironmentFailedError(f"could not fetch the source of {REQUIREMENTS[name]}; see {log}")
    return next(target.glob(pattern))


def _ready(requirements: Sequence[str], home: Path, python: Path) -> bool:
    if "RIGHTCALL_BENCH_PEERS" in os.environ:
        return python.exists()
    mark = home / _MARK
    return mark.exists() and mark.read_text() == _marked(requirements)


def _install(requirements: Sequence[str], home: Path, python: Path) -> None:
    wanted = " ".join(requirements)
    print(f"installing {wanted} into {home}", file=sys.stderr)
    venv.create(home, clear=True, with_pip=True)
    log = log_of(f"{home.name}-install")
    with log.open("w") as output:
        pip = [str(python), "-m", "pip", "install", "--quiet", *requirements]
        done = subprocess.run(pip, stdout=output, stderr=output, check=False)
    if done.returncode:
        raise EnvironmentFailedError(f"could not install {wanted}; see {log}")
    # Written last, so that an installation that was interrupted is not taken for a whole one.
    (home / _MARK).write_text(_marked(requirements))


def _marked(requirements: Sequence[str]) -> str:
    return "\n".join(requirements)
