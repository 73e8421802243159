"""The steps of CONTRIBUTING.md, done to the letter in a copy of the project."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from tests.waiting import PATIENCE

ROOT = Path(__file__).parents[2]
_STEP = re.compile(r"^   ```(python|diff)\n(.*?)^   ```$", re.MULTILINE | re.DOTALL)
_PATH = re.compile(r"`((?:src|tests)/[\w/.]+)`")


class Copy:
    """A copy of the project in which the steps of a section were done."""

    def __init__(self, folder: Path, section: str) -> None:
        self.folder = folder
        self.changed: list[str] = []
        without = shutil.ignore_patterns("*.xz", "*.gz", "frameworks", "*.so")  # recordings, which take long to copy
        shutil.copytree(ROOT / "src", folder / "src")
        shutil.copytree(ROOT / "tests", folder / "tests", ignore=without)
        shutil.copy(ROOT / "pyproject.toml", folder)
        text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
        self._do(text.partition(f"\n## {section}\n")[2].partition("\n## ")[0])

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run Python on the copy."""
        environment = {**os.environ, "PYTHONPATH": f"{self.folder / 'src'}:{self.folder}", "NO_COLOR": "1"}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )

    def passes(self, *arguments: str) -> None:
        """See tests of the copy pass."""
        done = self.run("-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments)
        assert done.returncode == 0, done.stdout

    def _do(self, section: str) -> None:
        for step in _STEP.finditer(section):
            path = _PATH.findall(section[: step.start()])[-1]
            block = textwrap.dedent(step[2])
            self.changed.append(path)
            if step[1] == "python":
                (self.folder / path).write_text(block, encoding="utf-8")
            else:
                self._edit(path, block)

    def _edit(self, path: str, diff: str) -> None:
        file = self.folder / path
        text = file.read_text(encoding="utf-8")
        lines = diff.splitlines(keepends=True)
        old, new = ("".join([line[1:] for line in lines if line[0] in (" ", sign)]) for sign in "-+")
        assert text.count(old) == 1, f"{path} does not have, once:\n{old}"
        file.write_text(text.replace(old, new), encoding="utf-8")

    @property
    def sources(self) -> list[str]:
        """The source files that the steps touch."""
        return [path for path in self.changed if path.startswith("src/")]


@pytest.fixture(scope="module")
def with_evaluator(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("evaluator"), "Add an evaluator")


def score(copy: Copy, expect: str) -> subprocess.CompletedProcess[str]:
    """Score a run of three different tools in the copy."""
    (copy.folder / "cases.yaml").write_text(f"cases:\n  - id: trip\n    expect: {{{expect}}}\n", encoding="utf-8")
    made = [{"role": "assistant", "tool_calls": [_call(name) for name in ("search", "compare", "book")]}]
    (copy.folder / "run.json").write_text(json.dumps(made), encoding="utf-8")
    return copy.run("-m", "rightcall", "score", "run.json", "--evalset", "cases.yaml")


def _call(name: str) -> dict[str, object]:
    return {"id": name, "type": "function", "function": {"name": name, "arguments": "{}"}}


def test_an_evaluator_is_three_source_files_and_passes_its_tests(with_evaluator: Copy) -> None:
    assert len(with_evaluator.sources) <= 3
    with_evaluator.passes("tests/judging/test_variety.py", "tests/judging/test_registry.py")


def test_a_new_evaluator_judges_in_an_eval_set(with_evaluator: Copy) -> None:
    failed, passed = score(with_evaluator, "variety: 2"), score(with_evaluator, "tool-variety: {at_most: 3}")

    assert "3 different tools were called, at most 2 allowed" in failed.stdout, failed.stderr
    assert (failed.returncode, passed.returncode) == (1, 0), passed.stdout + passed.stderr


def test_a_new_evaluator_is_in_the_schema(with_evaluator: Copy) -> None:
    schema = json.loads(with_evaluator.run("-m", "rightcall", "schema").stdout)

    key = schema["$defs"]["expect_closed"]["properties"]["variety"]
    assert key["description"].startswith("Whether no more tools were called")
    assert key["anyOf"][0] == {"type": "integer", "minimum": 0}


def test_a_new_evaluator_is_imported_from_its_room(with_evaluator: Copy) -> None:
    done = with_evaluator.run("-c", "from rightcall.judging import ToolVariety; print(ToolVariety().id)")

    assert done.stdout == "tool-variety\n"


@pytest.mark.parametrize(
    ("section", "test"),
    [
        ("Add a span convention", "tests/reading/test_acme.py"),
        ("Add a message format", "tests/reading/test_acme_messages.py"),
    ],
)
def test_a_convention_or_format_is_one_source_file_and_passes_its_tests(
    section: str, test: str, tmp_path: Path
) -> None:
    copy = Copy(tmp_path / "copy", section)

    assert len(copy.sources) <= 3
    copy.passes(test)
