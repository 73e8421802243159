"""The command with each engine, in real processes: the same scores, and what is missing is said."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet
from tests.engines import RAY_WAS_SLOW, ask_for, java
from tests.projects import make_project
from tests.scale.tables import CASES, canonical, read_scores, table
from tests.waiting import PATIENCE, until

from rightcall.errors import install_command

ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "SPARK_LOCAL_IP": "127.0.0.1"}
DEFAULTS = """\
spark.master local[2]
spark.ui.enabled false
spark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC
spark.sql.codegen.factoryMode NO_CODEGEN
spark.sql.codegen.wholeStage false
spark.sql.shuffle.partitions 2
"""
"""Nothing is compiled for a few rows, and they are not spread over 200 partitions, which is Spark's default."""


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A folder with an eval set and tables of trajectories, some of which have no id or cannot be read."""
    make_project(tmp_path, {"cases.yaml": CASES, "spark-defaults.conf": DEFAULTS})
    (tmp_path / "traces" / "case_id=book").mkdir(parents=True)
    trajectories = table(300)
    parquet.write_table(trajectories.slice(0, 100), tmp_path / "traces" / "some.parquet", row_group_size=40)
    parquet.write_table(trajectories.slice(100, 100).drop(["id"]), tmp_path / "traces" / "ü more.parquet")
    return tmp_path


def score(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("SPARK_REMOTE", "RAY_ADDRESS")}
    return subprocess.run(
        [sys.executable, "-m", "rightcall", "score", "--evalset", "cases.yaml", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**kept, **ENVIRONMENT, "SPARK_CONF_DIR": str(folder), **environment},
    )


def score_by_ray(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The same by Ray, which is asked again where its node was slow to start."""
    return until(
        lambda: None if RAY_WAS_SLOW in (done := score(folder, *arguments, "--engine", "ray")).stderr else done
    )


def totals(done: subprocess.CompletedProcess[str]) -> str:
    """The last line, without the time."""
    return done.stdout.splitlines()[-1].rpartition(" in ")[0]


def test_every_engine_gives_the_same_scores(lake: Path, record_property: Callable[[str, object], None]) -> None:
    ask_for("ray", record_property)
    done = [score(lake, "traces", "--out", f"here-{n}", "--workers", str(n)) for n in (1, 2, 3)]
    done.append(score_by_ray(lake, "traces", "--out", "ray", "--workers", "2"))

    assert [each.returncode for each in done] == [1, 1, 1, 1], done[-1].stderr
    assert len({totals(each) for each in done}) == 1
    written = [
        {path.name: path.read_bytes() for path in (lake / out).glob("*.parquet")}
        for out in ("here-1", "here-2", "here-3", "ray")
    ]
    assert len(written[0]) == 2
    assert all([each == written[0] for each in written])


def test_spark_gives_the_same_scores(lake: Path, record_property: Callable[[str, object], None]) -> None:
    ask_for("spark", record_property)
    here = score(lake, "traces", "--out", "here", "--workers", "1")

    done = score(lake, "traces", "--out", "spark", "--engine", "spark")

    assert (done.returncode, totals(done)) == (1, totals(here)), done.stderr
    assert "Traceback" not in done.stderr
    assert canonical(read_scores(lake / "spark")) == canonical(read_scores(lake / "here"))
    assert (lake / "spark" / "_summary.json").read_bytes()


@pytest.mark.parametrize(
    ("engine", "module", "told"),
    [
        ("spark", "pyspark", f"scoring on Spark needs pyspark: {install_command('spark')}"),
        ("ray", "ray", f"scoring on Ray needs ray: {install_command('ray')}"),
    ],
)
def test_without_an_engine_one_line_says_what_to_install(lake: Path, engine: str, module: str, told: str) -> None:
    (lake / "without").mkdir()
    (lake / "without" / f"{module}.py").write_text("raise ModuleNotFoundError('gone')\n")
    path = os.pathsep.join(filter(None, [str(lake / "without"), os.environ.get("PYTHONPATH")]))

    done = score(lake, "traces", "--out", "scores", "--engine", engine, PYTHONPATH=path)

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"rightcall: {told}\n"


@pytest.mark.parametrize("where", [{"PATH": ""}, {"JAVA_HOME": "/nowhere"}], ids=["none", "wrong"])
def test_without_java_one_line_says_what_to_install(lake: Path, where: dict[str, str]) -> None:
    pytest.importorskip("pyspark")

    done = score(lake, "traces", "--out", "scores", "--engine", "spark", **{"JAVA_HOME": "", **where})

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("rightcall: Spark needs Java, and none was found: install a JDK 17")
    assert len(done.stderr.splitlines()) == 1


def test_a_spark_that_does_not_start_is_told_in_one_line(
    lake: Path, record_property: Callable[[str, object], None]
) -> None:
    ask_for("spark", record_property)
    (lake / "spark-defaults.conf").write_text("spark.master nonsense\n", encoding="utf-8")

    done = score(lake, "traces", "--out", "scores", "--engine", "spark")

    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("rightcall: Spark does not start: ")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--engine", "ray"], "--engine writes scores to a folder: give --out"),
        (["--engine", "spark", "--out", "x", "--workers", "2"], "Spark has settings of its own"),
        (["--engine", "spark", "--out", "x", "--keep"], "use --engine local or ray"),
    ],
    ids=["no folder", "workers", "keep"],
)
def test_what_makes_no_sense_is_refused(lake: Path, arguments: list[str], told: str) -> None:
    done = score(lake, "traces", *arguments)

    assert done.returncode == 2
    assert told in " ".join(done.stderr.split())


def test_java_is_found_by_its_home_or_on_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert java() == ""

    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho 'openjdk version \"21.0.2\"' >&2\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    monkeypatch.setenv("PATH", "/bin:/usr/bin")
    assert java() == "21"
