"""A project folder in which agents are written, loaded and closed again."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.running.agents.workshop import Workshop


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[Workshop]:
    modules, path = set(sys.modules), list(sys.path)
    made = Workshop(tmp_path.resolve())
    yield made
    for agent in made.loaded:
        agent.close()
    assert sys.path == path
    for name in set(sys.modules) - modules:
        if _is_below(sys.modules[name], made.project):
            del sys.modules[name]


def _is_below(module: Any, folder: Path) -> bool:
    return Path(getattr(module, "__file__", None) or "/").is_relative_to(folder)
