"""The GitHub Action, by its own steps in a scratch repository, with a small server for GitHub's."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.connect.loopback import Answer, Asked, served
from tests.processes import rightcall

ROOT = Path(__file__).parents[2]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))


class GitHubLike:
    """The comments of a pull request."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = [{"id": 1, "body": "Looks good."}]

    def __call__(self, asked: Asked) -> Answer:
        assert asked.headers["authorization"] == "Bearer t"
        if asked.method == "GET":
            return Answer(self.comments if asked.query["page"] == ["1"] else [])
        if asked.method == "POST":
            assert asked.path == "/repos/o/shop/issues/7/comments"
            self.comments.append({"id": 2, "body": asked.body["body"]})
        else:
            assert asked.path == "/repos/o/shop/issues/comments/2"
            self.comments[1]["body"] = asked.body["body"]
        return Answer({})


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    rightcall("init", cwd=folder)
    return folder


class Steps:
    """The shell steps of the action, run as the runner runs them: by their inputs, in one temporary folder."""

    def __init__(self, project: Path, api: str = "", **inputs: str) -> None:
        self._project, self._outputs = project, project.parent / "outputs"
        self.summary = project.parent / "summary.md"
        self._inputs = {name: each.get("default", "") for name, each in ACTION["inputs"].items()} | inputs
        (project.parent / "temp").mkdir(exist_ok=True)
        self._outputs.write_text("")
        self._environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")},
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_OUTPUT": str(self._outputs),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_REPOSITORY": "o/shop",
            "GITHUB_API_URL": api,
            "RUNNER_TEMP": str(project.parent / "temp"),
        }

    @property
    def outputs(self) -> dict[str, str]:
        return dict(line.split("=", 1) for line in self._outputs.read_text().splitlines())

    def run(self, name: str) -> subprocess.CompletedProcess[str]:
        step = next(each for each in ACTION["runs"]["steps"] if each.get("name") == name)
        given = {key: self._filled(value) for key, value in step["env"].items()}
        command = ["bash", "-e", "-o", "pipefail", "-c", step["run"]]
        return subprocess.run(
            command, cwd=self._project, env={**self._environment, **given}, capture_output=True, text=True, check=False
        )

    def _filled(self, value: str) -> str:
        known = {f"inputs.{name}": given for name, given in self._inputs.items()}
        known |= {f"steps.judge.outputs.{name}": given for name, given in self.outputs.items()}
        known |= {"github.event.pull_request.number": "7"}
        return str(known[value.removeprefix("${{").removesuffix("}}").strip()])


def test_the_first_run_adds_a_comment_and_the_next_one_changes_it(project: Path) -> None:
    github = GitHubLike()
    with served(github) as server:
        steps = Steps(project, f"http://{server.host}", token="t")
        judged = steps.run("Judge")
        commented = steps.run("Comment")
        assert "1 failed" in github.comments[1]["body"], judged.stderr + commented.stderr
        assert "reserve_item" in steps.summary.read_text(encoding="utf-8")
        kept = sorted(path.name for path in Path(steps.outputs["folder"]).iterdir())
        assert kept == ["comment.md", "junit.xml", "report.html"]
        assert (steps.outputs["exit-code"], steps.run("Decide").returncode) == ("1", 1)

        (project / "evals/shop.yaml").write_text("cases: [{id: a, input: hello, expect: {calls: []}}]")
        steps.run("Judge")
        steps.run("Comment")

    assert len(github.comments) == 2
    assert github.comments[1]["body"].startswith("<!-- rightcall -->")
    assert "1 passed" in github.comments[1]["body"]


def test_recorded_traces_are_scored_and_kept(project: Path) -> None:
    steps = Steps(project, command="score traces --evalset evals/shop.yaml")

    steps.run("Judge")

    assert "failures=" in (Path(steps.outputs["folder"]) / "junit.xml").read_text(encoding="utf-8")


def test_a_command_without_results_does_not_look_like_a_success(project: Path) -> None:
    steps = Steps(project, command="run no_such_agent.py:answer")

    steps.run("Judge")

    assert steps.outputs["exit-code"] == "2"
    assert "before it had results" in steps.summary.read_text(encoding="utf-8")
    assert steps.run("Decide").returncode == 2


def test_a_comment_that_may_not_be_written_is_a_warning(project: Path) -> None:
    with served(lambda _: Answer({}, 403)) as server:
        steps = Steps(project, f"http://{server.host}", token="t")
        steps.run("Judge")
        done = steps.run("Comment")

    assert (done.returncode, done.stdout[:11]) == (0, "::warning::")
