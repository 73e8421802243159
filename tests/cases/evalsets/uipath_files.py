"""Eval sets and evaluators in UiPath's format, made up for the tests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

EVALUATORS: dict[str, dict[str, Any]] = {
    "count.json": {
        "version": "1.0",
        "id": "Counts",
        "description": "How often",
        "evaluatorTypeId": "uipath-tool-call-count",
        "evaluatorConfig": {
            "name": "CountEvaluator",
            "strict": False,
            "defaultEvaluationCriteria": {"toolCallsCount": {"look_up": ["=", 1]}},
        },
    },
    "order.json": {
        "version": "1.0",
        "id": "Order",
        "evaluatorTypeId": "uipath-tool-call-order",
        "evaluatorConfig": {
            "name": "OrderEvaluator",
            "strict": False,
            "defaultEvaluationCriteria": {"toolCallsOrder": []},
        },
    },
    "args.json": {
        "version": "1.0",
        "id": "Args",
        "evaluatorTypeId": "uipath-tool-call-args",
        "evaluatorConfig": {"name": "ArgsEvaluator", "strict": False, "subset": True},
    },
    "exact.json": {
        "version": "1.0",
        "id": "Exact",
        "name": "ExactEvaluator",
        "evaluatorTypeId": "uipath-exact-match",
        "evaluatorConfig": {"name": "hidden", "targetOutputKey": "total", "ignoreCase": False, "classes": ["a"]},
    },
    "judge.json": {
        "version": "1.0",
        "id": "Judge",
        "evaluatorTypeId": "uipath-llm-judge-trajectory-similarity",
        "evaluatorConfig": {"name": "JudgeEvaluator", "model": "some-model", "prompt": "Score it"},
    },
    "mine.json": {
        "version": "1.0",
        "id": "Mine",
        "evaluatorTypeId": "file://types/mine.json",
        "evaluatorSchema": "file://mine.py:MineEvaluator",
        "evaluatorConfig": {"name": "MineEvaluator"},
    },
    "older.json": {"id": "Older", "category": 0, "type": 1, "name": "Older one", "targetOutputKey": "*"},
}


def eval_set(*evaluations: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An eval set with these evaluations."""
    return {
        "version": "1.0",
        "id": "set-1",
        "name": "Bookings",
        "evaluatorRefs": ["Counts", "Order", "Args", "Exact"],
        "evaluations": list(evaluations),
        "createdAt": "2026-01-01T00:00:00Z",
        **changes,
    }


def evaluation(criterias: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """An evaluation with these criteria."""
    return {"id": "one", "name": "One", "inputs": {"city": "Oslo"}, "evaluationCriterias": criterias, **changes}


def write(folder: Path, document: Any, evaluators: dict[str, Any] | None = None) -> Path:
    """Write an eval set and evaluators as UiPath lays them out; the path is that of the eval set."""
    sets, beside = folder / "evaluations" / "eval-sets", folder / "evaluations" / "evaluators"
    sets.mkdir(parents=True, exist_ok=True)
    (beside / "custom").mkdir(parents=True, exist_ok=True)
    (beside / "custom" / "mine.py").write_text("raise SystemExit('imported')\n")
    for name, value in (EVALUATORS if evaluators is None else evaluators).items():
        (beside / name).write_text(json.dumps(value, indent=2))
    path = sets / "default.json"
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))
    return path
