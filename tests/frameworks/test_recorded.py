"""Every cell of the matrix of frameworks, judged from what `make frameworks` recorded."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.frameworks import abilities, results
from tests.frameworks.cells import EVALS, FILES, RECORDED, ROOT, RUN
from tests.frameworks.judging import MADE, RIGHT, WRONG, Judged, judged
from tests.frameworks.keeping import KEPT, VERSIONS
from tests.frameworks.matrix import FRAMEWORKS
from tests.frameworks.table import HEADING, Row, render
from tests.processes import rightcall
from tests.targets import shown_table

from rightcall.running.mocking import RecordedCall, RecordedModelCall, Recording
from rightcall.running.tracing import ToolAnswer

KEYS = [framework.key for framework in FRAMEWORKS]
REPLAY = ROOT / "tests" / "frameworks" / "replay.py"


def replayed_cases() -> Iterator[dict[str, Any]]:
    """The cases of the conversation for each framework and cell, with a session that says what to give back."""
    conversation = yaml.safe_load((EVALS / "conversation.yaml").read_text("utf-8"))
    for key in KEYS:
        for cell, is_instrumented in RUN.items():
            session = {"recording": str(KEPT / key), "instrumented": is_instrumented}
            for case in conversation["cases"]:
                yield {**case, "id": f"{key}/{cell}/{case['id']}", "session": session}


def by_cell(cases: list[Mapping[str, Any]]) -> dict[tuple[str, str], Judged]:
    found = defaultdict(list)
    for case in cases:
        key, cell, _ = case["case_id"].split("/")
        found[key, cell].append(case)
    return {place: judged(held) for place, held in found.items()}


@pytest.fixture(scope="module")
def replayed(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Judged]:
    """What `rightcall run` says of an agent that gives back what each framework recorded."""
    folder = tmp_path_factory.mktemp("replayed")
    (folder / "evals.json").write_text(json.dumps({"cases": list(replayed_cases())}), "utf-8")
    (folder / "replay.py").write_bytes(REPLAY.read_bytes())

    done = rightcall("run", f"cmd:{sys.executable} replay.py", "evals.json", "--format", "json=report.json", cwd=folder)

    assert done.returncode in (0, 1, 2), done.stderr
    return by_cell(json.loads((folder / "report.json").read_text("utf-8"))["cases"])


@pytest.mark.parametrize("cell", RUN)
@pytest.mark.parametrize("key", KEYS)
def test_a_run_has_each_call_once_and_in_its_turn(
    key: str, cell: str, replayed: Mapping[tuple[str, str], Judged]
) -> None:
    assert replayed[key, cell] == Judged(MADE, RIGHT, WRONG)


@pytest.mark.parametrize("cell", RECORDED)
@pytest.mark.parametrize("key", KEYS)
def test_a_recording_has_each_call_once_and_in_its_turn(key: str, cell: str, tmp_path: Path) -> None:
    found = RECORDED[cell]({name: KEPT / key / f"{name}.json" for name in FILES}, tmp_path)

    assert found == Judged(MADE, RIGHT, WRONG)


def test_the_page_shows_every_cell_of_these_versions() -> None:
    cells = [
        Row(framework.name, framework.version, cell, Judged(MADE, RIGHT, WRONG))
        for framework in FRAMEWORKS
        for cell in (*RUN, *RECORDED)
    ]

    assert shown_table(HEADING) == render(cells)
    assert json.loads(VERSIONS.read_text("utf-8")) == {framework.key: framework.version for framework in FRAMEWORKS}


def test_the_page_shows_the_abilities_of_these_versions() -> None:
    tried = [framework for framework in FRAMEWORKS if framework.key in abilities.MAIN]

    assert shown_table(abilities.HEADING) == abilities.all_there([f"{one.name} {one.version}" for one in tried])


def test_the_page_shows_what_is_known_of_the_results_of_more_frameworks() -> None:
    assert shown_table(results.HEADING) == results.render(results.KNOWN)


@pytest.mark.parametrize("key", abilities.MAIN)
def test_a_recording_of_a_framework_answers_every_request_in_it(key: str, tmp_path: Path) -> None:
    recording = Recording.load(KEPT / key / abilities.RECORDING)
    tools, models = recording.replay("offline"), recording.model_replay("offline")

    for entry in recording.entries:
        if isinstance(entry, RecordedCall):
            assert tools.answer(entry.tool, entry.args) == ToolAnswer(entry.output)
        else:
            assert models.answer(entry.request) == entry.answer

    assert [
        len([one for one in recording.entries if isinstance(one, kind)]) for kind in (RecordedCall, RecordedModelCall)
    ] == [2, 5]
    recording.save(tmp_path / "again.jsonl")
    assert (tmp_path / "again.jsonl").read_bytes() == (KEPT / key / abilities.RECORDING).read_bytes()
