"""The project that `rightcall init` writes and `rightcall demo` runs: its files lie in `template/`, as they are."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import resources
from pathlib import Path

import msgspec

from rightcall.errors import RightcallError
from rightcall.values.decoding import dump_json

AGENT_FILE = "shop_agent.py"
EVALSET_FILE = "evals/shop.yaml"
TRACES_FILE = "traces/shop.jsonl"
IGNORE_FILE = ".gitignore"
WORKFLOW_FILE = ".github/workflows/rightcall.yml"
SCHEMA_FILE = "evals/evalset.schema.json"
SCHEMA_LINE = "# yaml-language-server: $schema=evalset.schema.json"
"""What tells an editor to check and complete an eval set by the schema beside it."""

_FILES = {
    AGENT_FILE: AGENT_FILE,
    EVALSET_FILE: EVALSET_FILE,
    TRACES_FILE: TRACES_FILE,
    WORKFLOW_FILE: "github/workflows/rightcall.yml",
    "rightcall.toml": "rightcall.toml",
    IGNORE_FILE: "gitignore",
}
"""Each file of a project, and its name in the template, where those that tools would heed have no dot."""


class Written(msgspec.Struct, frozen=True):
    """Which files were written, and which were there before and are as they were."""

    made: tuple[str, ...]
    kept: tuple[str, ...]


def project_files() -> dict[str, str]:
    """The text of each file of the example project."""
    template = resources.files(__package__) / "template"
    kept = {name: template.joinpath(*file.split("/")).read_text(encoding="utf-8") for name, file in _FILES.items()}
    return {**kept, SCHEMA_FILE: schema_text()}


def schema_text() -> str:
    """The JSON Schema of eval sets, as a file: what `rightcall schema` prints."""
    from rightcall.cases.evalsets import eval_set_schema

    return dump_json(eval_set_schema(), indent=2) + "\n"


def write_files(folder: Path, files: Mapping[str, str]) -> Written:
    """Write the files that are not there yet, and the folders they need; nothing is overwritten.

    Raises:
        RightcallError: one of them cannot be written; the message says which ones were.
    """
    made: list[str] = []
    kept: list[str] = []
    for name, text in files.items():
        path = folder / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8", newline="\n") as file:
                made.append(name)
                file.write(text)
        except FileExistsError as problem:
            if problem.filename != str(path):
                raise _told(path, problem, made) from None
            kept.append(name)
        except OSError as problem:
            raise _told(path, problem, made) from None
    return Written(tuple(made), tuple(kept))


def _told(path: Path, problem: OSError, made: list[str]) -> RightcallError:
    before = f"; begun or written: {', '.join(made)}" if made else "; nothing was written"
    return RightcallError(f"{path}: {problem.strerror or problem}{before}")
