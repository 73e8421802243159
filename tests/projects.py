"""Projects that tests work in: a folder with an agent, an eval set and whatever else a test is about."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def make_project(folder: Path, files: Mapping[str, str]) -> Path:
    """Write these files, by their paths in the folder, and give back the folder."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder
