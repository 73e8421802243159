"""Eval sets in ADK's formats, made up for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[2] / "data" / "adk"


def content(text: str, role: str = "user") -> dict[str, Any]:
    """A content with one text."""
    return {"role": role, "parts": [{"text": text}]}


def invocation(query: str, response: str | None, *calls: tuple[str, dict[str, Any]], **changes: Any) -> dict[str, Any]:
    """One turn."""
    written: dict[str, Any] = {"user_content": content(query)}
    if response is not None:
        written["final_response"] = content(response, "model")
    written["intermediate_data"] = {"tool_uses": [{"name": name, "args": args} for name, args in calls]}
    return written | changes


def eval_set(*cases: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An eval set with these cases."""
    return {"eval_set_id": "shop", "name": "Shop", "eval_cases": list(cases), **changes}


def eval_case(*conversation: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """A case with these turns."""
    return {"eval_id": "one", "conversation": list(conversation), **changes}


def write(folder: Path, document: Any, config: Any = None, name: str = "shop.evalset.json") -> Path:
    """Write an eval set, and a configuration beside it if there is one."""
    path = folder / name
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2), encoding="utf-8")
    if config is not None:
        (folder / "test_config.json").write_text(
            config if isinstance(config, str) else json.dumps(config, indent=2), encoding="utf-8"
        )
    return path
