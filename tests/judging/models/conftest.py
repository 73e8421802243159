"""Every test has a judge of its own, or none."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.judging.models.server import Endpoint, Response, Script, listening

Listen = Callable[[Script | Response], Endpoint]


@pytest.fixture(autouse=True)
def no_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in list(os.environ):
        if name.startswith(("RIGHTCALL_JUDGE_", "OPENAI_")):
            monkeypatch.delenv(name)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def listen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listen]:
    """Starts an endpoint that does as it is told, and configures it as the judge."""
    with ExitStack() as stack:

        def start(script: Script | Response) -> Endpoint:
            endpoint = stack.enter_context(listening(script))
            monkeypatch.setenv("RIGHTCALL_JUDGE_BASE_URL", endpoint.url)
            monkeypatch.setenv("RIGHTCALL_JUDGE_MODEL", "judge-1")
            monkeypatch.setenv("RIGHTCALL_JUDGE_API_KEY", "sk-secret")
            monkeypatch.setenv("RIGHTCALL_JUDGE_BACKOFF", "0.01")
            return endpoint

        yield start
