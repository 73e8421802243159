"""Engines beyond this process: which of them can be tried here."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version

import pytest
from tests.waiting import PATIENCE

NO_JAVA = "no Java"
PACKAGES = {"spark": "pyspark", "ray": "ray"}
RAY_WAS_SLOW = "The current node timed out during startup"
"""What Ray says of a node that is not there after 30 seconds, as on a busy machine. Nothing sets another limit."""


def is_ci() -> bool:
    """Whether what cannot be tested here is tested nowhere."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


def java() -> str:
    """The version of the Java that Spark would be run on, such as `17`; nothing where there is none."""
    home = os.environ.get("JAVA_HOME")
    program = os.path.join(home, "bin", "java") if home else shutil.which("java")
    if program is None or not os.access(program, os.X_OK):
        return ""
    told = subprocess.run([program, "-version"], capture_output=True, text=True, timeout=PATIENCE, check=False).stderr
    found = re.search(r'version "(\d+)', told)
    return found[1] if found else ""


def lacking(engine: str) -> str:
    """What the tests of an engine lack, in a few words; nothing where they can be run."""
    try:
        version(PACKAGES[engine])
    except PackageNotFoundError:
        return f"no {PACKAGES[engine]}"
    return NO_JAVA if engine == "spark" and not java() else ""


def described(engine: str) -> str:
    """An engine and its version, as the summary of the tests tells it."""
    if engine == "spark":
        return f"spark {version('pyspark')} on Java {java()}"
    return f"{engine} {version(engine)}"


def ask_for(engine: str, record_property: Callable[[str, object], None]) -> None:
    """Say that a test tries an engine; where it cannot, it is reported as not run.

    The package is a dependency of the tests, so in CI it is a failure that it is missing. Java is not for pip to have.
    """
    record_property("asked", engine)
    if reason := lacking(engine):
        report = pytest.fail if is_ci() and reason != NO_JAVA else pytest.skip
        report(f"{engine} was not tried: {reason}")
    record_property("engine", described(engine))
