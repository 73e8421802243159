"""What is sent to the workers of an engine says what is wrong there."""

import subprocess
import sys

import pytest
from tests.waiting import PATIENCE

from rightcall.scale.processes import sendable

UNPICKLE = """
import sys
{before}
from pyspark import cloudpickle
function = cloudpickle.loads(bytes.fromhex(sys.argv[1]))
try:
    print(function("{{}}"))
except ImportError as problem:
    print(problem)
"""


@pytest.mark.parametrize(
    ("before", "told"),
    [
        ("", "b'{}'"),
        ("sys.modules['rightcall'] = None", "Rightcall cannot be imported on "),
        ("import rightcall.version; rightcall.version.__version__ = '0.0.1'", "Rightcall is 0.0.1 on "),
    ],
    ids=["the same", "missing", "another version"],
)
def test_rightcall_has_to_be_there_in_the_same_version(before: str, told: str) -> None:
    cloudpickle = pytest.importorskip("pyspark.cloudpickle")
    sent = cloudpickle.dumps(sendable("builtins", "bytes", "utf-8")).hex()

    done = subprocess.run(
        [sys.executable, "-c", UNPICKLE.format(before=before), sent], capture_output=True, text=True, timeout=PATIENCE
    )

    assert done.stdout.startswith(told), done.stderr
