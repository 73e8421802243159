"""An object store on this machine, spoken to as one anywhere."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_SERVER = """
import sys
from moto.server import ThreadedMotoServer

server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
server.start()
print(server.get_host_and_port()[1], flush=True)
sys.stdin.read()
"""


@contextmanager
def s3_store(bucket: str) -> Iterator[dict[str, str]]:
    """The environment in which `s3://BUCKET` is an empty bucket on this machine."""
    with subprocess.Popen(
        [sys.executable, "-c", _SERVER], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as server:
        try:
            assert server.stdout is not None
            endpoint = f"http://127.0.0.1:{int(server.stdout.readline())}"
            _make_bucket(endpoint, bucket)
            yield {
                "AWS_ENDPOINT_URL": endpoint,
                "AWS_ALLOW_HTTP": "true",
                "AWS_ACCESS_KEY_ID": "anybody",
                "AWS_SECRET_ACCESS_KEY": "anything",
                "AWS_DEFAULT_REGION": "us-east-1",
                "AWS_REGION": "us-east-1",
                "AWS_EC2_METADATA_DISABLED": "true",
                "NO_PROXY": "127.0.0.1",
            }
        finally:
            server.kill()


def _make_bucket(endpoint: str, bucket: str) -> None:
    from pyarrow.fs import S3FileSystem

    S3FileSystem(
        endpoint_override=endpoint,
        access_key="anybody",
        secret_key="anything",
        region="us-east-1",
        allow_bucket_creation=True,
    ).create_dir(bucket)
