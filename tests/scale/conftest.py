"""Engines that tests ask for."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from tests.engines import RAY_WAS_SLOW, ask_for
from tests.waiting import until

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def spark_session() -> Iterator[SparkSession]:
    """A session of Spark with two threads, which gives a task four attempts."""
    from pyspark.sql import SparkSession

    settings: dict[str, bool | float | int | str | None] = {
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",  # it does not live long
        "spark.driver.host": "127.0.0.1",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",  # a few rows are no reason to compile anything
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYSPARK_PYTHON", sys.executable)
        session = SparkSession.builder.master("local[2, 4]").config(map=settings).getOrCreate()
    yield session
    session.stop()


@pytest.fixture
def spark(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> SparkSession:
    """The session, if there can be one."""
    ask_for("spark", record_property)
    session: SparkSession = request.getfixturevalue("spark_session")
    return session


@pytest.fixture(scope="session")
def ray_session() -> Iterator[None]:
    """A cluster of Ray on this machine, with two processors."""
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RAY_USAGE_STATS_ENABLED", "0")
        until(_has_started)
    yield
    ray.shutdown()


def _has_started() -> bool:
    import ray

    quiet: dict[str, Any] = {"include_dashboard": False, "log_to_driver": False, "logging_level": logging.ERROR}
    try:
        ray.init(address="local", num_cpus=2, **quiet)
    except Exception as problem:
        if RAY_WAS_SLOW not in str(problem):
            raise
        return False
    return True


@pytest.fixture
def ray_cluster(request: pytest.FixtureRequest, record_property: Callable[[str, object], None]) -> None:
    """The cluster, if there can be one."""
    ask_for("ray", record_property)
    request.getfixturevalue("ray_session")
