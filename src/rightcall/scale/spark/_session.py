"""A session of Spark: the one that is there, or one by Spark's own settings."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING

from rightcall.errors import MissingExtraError, RightcallError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_OLDEST = 4
_TRACE = "Traceback (most recent call last)"
_RAISED = re.compile(r"(?:\w+\.)*\w*(?:Error|Exception): ")


@contextmanager
def spark_session() -> Iterator[SparkSession]:
    """The session that is active, which stays; or a new one by the settings of Spark, which is stopped.

    `SPARK_REMOTE` names a server of Spark Connect, and `SPARK_CONF_DIR` a folder with `spark-defaults.conf`. Without
    either of them Spark is run on this machine, by all of its processors.

    Raises:
        MissingExtraError: pyspark or Java is missing.
        RightcallError: Spark does not start.
    """
    _check_packages()
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    if active is not None:
        yield active
        return
    session = _started()
    try:
        yield session
    finally:
        session.stop()


def _check_packages() -> None:
    try:
        import pyspark
    except ImportError:
        raise MissingExtraError("Spark is not installed; to score by it: pip install 'rightcall[spark]'") from None
    if int(pyspark.__version__.partition(".")[0]) < _OLDEST:
        raise MissingExtraError(
            f"pyspark {pyspark.__version__} is too old; to score by it, have 4 or newer: pip install 'rightcall[spark]'"
        )
    if not _is_remote() and not _has_java():
        raise MissingExtraError(
            "Spark needs Java, and none is found: install a JDK 17 (Debian: openjdk-17-jre-headless), or set JAVA_HOME"
        )


def _is_remote() -> bool:
    return "SPARK_REMOTE" in os.environ or "SPARK_CONNECT_MODE_ENABLED" in os.environ


def _has_java() -> bool:
    home = os.environ.get("JAVA_HOME")
    return os.access(os.path.join(home, "bin", "java"), os.X_OK) if home else shutil.which("java") is not None


def _started() -> SparkSession:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.appName("rightcall score")
    if not _is_remote():
        builder = builder.config("spark.ui.showConsoleProgress", str(sys.stderr.isatty()).lower())
    try:
        session = builder.getOrCreate()
    except _problems() as problem:
        raise RightcallError(f"Spark does not start: {reason(problem)}") from None
    if not type(session).__module__.startswith("pyspark.sql.connect"):
        context = session.sparkContext
        context.setLogLevel("ERROR")
        if str(context.master).startswith("local") and "PYSPARK_PYTHON" not in os.environ:
            context.pythonExec = sys.executable  # where Rightcall is; by default it is any python3
    return session


def reason(problem: BaseException) -> str:
    """What Spark has to say, or the Python that it ran, on one line and without the stacks around it."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()]
    above = list(takewhile(lambda line: not line.startswith("at "), lines))
    raised = [line for line in above if _RAISED.match(line)] if any([_TRACE in line for line in above]) else []
    told = raised[-1:] or [line for line in above if not line.startswith("An error occurred while calling")]
    return (told[0].lstrip(": ") if told else type(problem).__name__)[:500]


@contextmanager
def telling() -> Iterator[None]:
    """Turn what Spark says while it works into one line. Raises `RightcallError`."""
    try:
        yield
    except _problems() as problem:
        raise RightcallError(f"Spark says: {reason(problem)}") from None


def _problems() -> tuple[type[Exception], ...]:
    from pyspark.errors import PySparkException

    try:
        from py4j.protocol import Py4JError
    except ImportError:  # a client of Spark Connect alone has no Java to talk to
        return (PySparkException,)
    return (PySparkException, Py4JError)
