"""ADK's metrics and their criteria, from `test_config.json` or by default."""

from __future__ import annotations

from typing import Any

import msgspec

from rightcall.errors import nearest, shown
from rightcall.judging import UNAVAILABLE, unavailable

from ._source import EvalSetDocument, SourceFile, SourceObject

_CALLS = "tool_trajectory_avg_score"
_RESPONSE = "response_match_score"
_JUDGED = "final_response_match_v2"
_RUBRICS = {
    "rubric_based_final_response_quality_v1": "llm-judge-output",
    "rubric_based_tool_use_quality_v1": "llm-judge-trajectory",
}
_SAME = {
    "id": "same",
    "text": "Every answer says what was expected of it, in whatever words. Where nothing was, any answer will do.",
}
_SAMPLES = 5  # ADK's default for `num_samples`
# The criteria that ADK uses without a test_config.json.
_BY_DEFAULT = {_CALLS: 1.0, _RESPONSE: 0.8}
_MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER")
_OF_JUDGES = ("judge_model_options", "include_intermediate_responses_in_final")
_KNOWN_OF_CONFIG = ("custom_metrics", "user_simulator_config", "live_model_config")


class Metric(msgspec.Struct, frozen=True):
    """A metric: the evaluator that computes it, its configuration, and its file."""

    name: str
    type_id: str
    config: dict[str, Any]
    file: SourceFile | None = None

    @property
    def is_of_calls(self) -> bool:
        """Whether it judges calls rather than the answer."""
        return self.type_id == "tool-trajectory"

    @property
    def is_of_response(self) -> bool:
        """Whether it judges the answer by an expected one."""
        return self.type_id in ("response-match", "llm-judge-output")

    @property
    def is_of_case(self) -> bool:
        """Whether it judges the whole conversation by the rubrics in its configuration."""
        return self.name in _RUBRICS

    def written(self) -> dict[str, Any]:
        """Return the evaluator in the native format."""
        return {"type": self.type_id} | ({"config": self.config} if self.config else {})

    def record_origin(self, document: EvalSetDocument) -> None:
        """Note in a document where the metric is written."""
        if self.file is not None:
            document.record_origin(("evaluators", self.name), self.file, ("criteria", self.name))
            document.record_origin(("evaluators", self.name, "config"), self.file, ("criteria", self.name))


def read_metrics(config: SourceFile | None) -> list[Metric]:
    """Return the metrics that a configuration asks for; without one, ADK's defaults.

    Raises:
        DocumentError: a metric is not known, or its criterion is wrong.
    """
    if config is None:
        return [_metric(name, threshold, None, ()) for name, threshold in _BY_DEFAULT.items()]
    whole = SourceObject(config, config.value)
    criteria, custom = whole.object("criteria"), whole.object("custom_metrics")
    if criteria is None:
        whole.rest(_KNOWN_OF_CONFIG)
        raise whole.problem("'criteria' is missing")
    whole.rest(_KNOWN_OF_CONFIG)
    own = tuple(custom.value) if custom is not None else ()
    return [_metric(name, value, criteria, own) for name, value in criteria.value.items()]


def _metric(name: str, criterion: Any, criteria: SourceObject | None, own: tuple[str, ...]) -> Metric:
    file = criteria.file if criteria is not None else None
    if criteria is not None and name in own:
        return Metric(name, "custom-metric", {}, file)
    if criteria is not None and unavailable(name):
        return Metric(name, name, {}, file)
    if criteria is not None and (name == _JUDGED or name in _RUBRICS):
        return Metric(name, _RUBRICS.get(name, "llm-judge-output"), _judge(name, criterion, criteria), file)
    if criteria is not None and name not in _BY_DEFAULT:
        known = (*_BY_DEFAULT, _JUDGED, *_RUBRICS, *(known for known in UNAVAILABLE if "_" in known))
        raise criteria.problem(f"no metric is called {shown(name)}; {nearest(name, known)}", name)
    threshold, settings = (criterion, {}) if criteria is None else _criterion(name, criterion, criteria)
    if name == _RESPONSE:
        return Metric(name, "response-match", {"threshold": threshold}, file)
    policy = "ignore" if settings.get("ignore_args") else "exact"
    config = {"match_type": settings.get("match_type", "EXACT"), "args_match": policy, "threshold": threshold}
    return Metric(name, "tool-trajectory", config, file)


def _judge(name: str, criterion: Any, criteria: SourceObject) -> dict[str, Any]:
    """Return the configuration of a judge."""
    if not isinstance(criterion, dict):
        criterion = {"threshold": criterion}
    part = SourceObject(criteria.file, criterion, criteria.place(name))
    options = part.object("judge_model_options")
    config: dict[str, Any] = {"threshold": _number(part.get("threshold"), part, "threshold")}
    if options is not None and options.has("judge_model"):
        config["model"] = options.text("judge_model")
    config["samples"] = _samples(options)
    if name == _JUDGED:
        return config | {"rubrics": [_SAME]}
    rubrics = [_rubric(one, number) for number, one in enumerate(part.objects("rubrics", required=True), 1)]
    if not rubrics:
        raise part.problem("'rubrics' is empty; give at least one", "rubrics")
    return config | {"rubrics": rubrics}


def _samples(options: SourceObject | None) -> int:
    """Return how often the judge is asked: as often as in ADK, or once more, so that there is a majority."""
    if options is None or not options.has("num_samples"):
        return _SAMPLES
    given = options.get("num_samples")
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= 31:
        raise options.problem(f"num_samples is a number from 1 to 31, not {shown(given)}", "num_samples")
    return given | 1  # an even number could end in a tie


def _rubric(part: SourceObject, number: int) -> dict[str, str]:
    content = part.object("rubric_content")
    if content is None:
        raise part.problem("'rubric_content' is missing")
    return {"id": part.text("rubric_id", f"rubric-{number}"), "text": content.text("text_property")}


def _criterion(name: str, criterion: Any, criteria: SourceObject) -> tuple[float, dict[str, Any]]:
    """Return the threshold and, for calls, the match type and argument policy."""
    if not isinstance(criterion, dict):
        return _number(criterion, criteria, name), {}
    part = SourceObject(criteria.file, criterion, criteria.place(name))
    settings: dict[str, Any] = {}
    if not part.has("threshold"):
        part.rest()
        raise part.problem("'threshold' is missing")
    threshold = _number(part.get("threshold"), part, "threshold")
    if name == _CALLS:
        if part.has("match_type"):
            settings["match_type"] = _match_type(part)
        settings["ignore_args"] = part.get("ignore_args") or False
        if not isinstance(settings["ignore_args"], bool):
            raise part.problem(f"ignore_args is true or false, not {shown(part.get('ignore_args'))}", "ignore_args")
    known = ("threshold", "match_type", "ignore_args") if name == _CALLS else ("threshold",)
    for key in part.rest(_OF_JUDGES):
        if key not in _OF_JUDGES:
            raise part.problem(f"unknown key {shown(key)}; {nearest(key, known)}", key)
    return threshold, settings


def _number(value: Any, part: SourceObject, key: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise part.problem(f"a threshold is a number from 0 to 1, not {shown(value)}", key)
    return float(value)


def _match_type(part: SourceObject) -> str:
    value = part.get("match_type")
    # ADK's enumeration is by number; files may have the number or the name.
    if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < len(_MATCH_TYPES):
        return _MATCH_TYPES[value]
    written = value.strip().upper().replace("-", "_").replace(" ", "_") if isinstance(value, str) else ""
    if written not in _MATCH_TYPES:
        raise part.problem(f"unknown match type {shown(value)}; {nearest(written, _MATCH_TYPES)}", "match_type")
    return written
