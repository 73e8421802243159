"""Translate ADK's eval sets, test files and metrics to the native format."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path as FilePath
from typing import Any

import msgspec

from rightcall.errors import nearest, shown
from rightcall.judging import UNAVAILABLE, is_word, unavailable
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._eval_set_file import AS_RECORDED, EvalSetDocument, SourceFile, SourceObject

_KNOWN_OF_SET = ("eval_set_id", "creation_timestamp")
_KNOWN_OF_CASE = ("creation_timestamp", "rubrics", "final_session_state")
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


def translate_adk(file: SourceFile, limits: Limits) -> EvalSetDocument:
    """Translate an eval set or test file of ADK, or one of its two older lists, with the `test_config.json` beside it.

    Keys that the native format does not have are kept under `metadata`, in `adk`.

    Raises:
        DocumentError: the first mistake, with file, line and column, and what would be right.
        InputError: the configuration cannot be read.
    """
    return _Translation(file, limits).document()


class _Translation:
    """Translates one file."""

    def __init__(self, file: SourceFile, limits: Limits) -> None:
        self._page = file
        self._document = EvalSetDocument(file, {})
        config = FilePath(file.name).parent / "test_config.json"
        self._config = SourceFile(config, limits) if config.is_file() else None
        self._metrics: list[Metric] = read_metrics(self._config)

    def document(self) -> EvalSetDocument:
        written, rest, cases = self._of_list() if isinstance(self._page.value, list) else self._of_set()
        if self._config is not None:
            rest["test_config"] = self._config.value
        evaluators = {metric.name: metric.written() for metric in self._metrics}
        if any("user-simulation" in case.get("expect", {}) for case in cases):
            evaluators["user-simulation"] = {"type": "user-simulation"}
        for metric in self._metrics:
            metric.record_origin(self._document)
        written |= {
            "defaults": AS_RECORDED,
            "evaluators": evaluators,
            "metadata": {"adk": rest} if rest else {},
            "cases": cases,
        }
        self._document.value = {key: value for key, value in written.items() if key == "cases" or value not in ({}, "")}
        return self._document

    def _of_set(self) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        whole = SourceObject(self._page, self._page.value)
        written = {"name": whole.text("name", ""), "description": whole.text("description", "")}
        key = "eval_cases"
        found = [self._case(case, number) for number, case in enumerate(whole.objects(key, required=True))]
        self._document.record_origin(("cases",), self._page, whole.place(key))
        return written, whole.rest(_KNOWN_OF_SET), found

    def _of_list(self) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        parts = [SourceObject(self._page, item, (number,)) for number, item in enumerate(self._page.value)]
        if all("query" in part.value for part in parts):
            return {}, {}, [self._old_case(_file_id(self._page), parts, None, {}, 0)]
        cases = []
        for number, part in enumerate(parts):
            turns = part.objects("data", required=True)
            session = part.get("initial_session") or None
            case_id = part.text("name")
            self._document.record_origin(("cases", number, "id"), self._page, part.place("name"))
            cases.append(self._old_case(case_id, turns, session, part.rest(), number))
        return {}, {}, cases

    def _old_case(
        self, case_id: str, parts: list[SourceObject], session: Any, rest: dict[str, Any], number: int
    ) -> dict[str, Any]:
        written: dict[str, Any] = {"id": case_id} | ({"session": session} if session else {})
        return self._conversation(written, [old_turn(part) for part in parts], rest, ("cases", number))

    def _case(self, case: SourceObject, number: int) -> dict[str, Any]:
        place: Path = ("cases", number)
        written: dict[str, Any] = {"id": case.text("eval_id")}
        self._document.record_origin((*place, "id"), self._page, case.place("eval_id"))
        if case.has("session_input"):
            written["session"] = case.get("session_input")
        scenario = case.object("conversation_scenario")
        if (scenario is None) == (not case.has("conversation")):
            case.rest(_KNOWN_OF_CASE)
            raise case.problem("a case has either 'conversation' or 'conversation_scenario'")
        if scenario is not None:
            written |= {"input": scenario.text("starting_prompt"), "expect": {"user-simulation": None}}
            rest = case.rest(_KNOWN_OF_CASE) | {"conversation_scenario": scenario.value}
            return written | {"metadata": {"adk": rest}}
        turns = [turn_of(part) for part in case.objects("conversation")]
        if not turns:
            raise case.problem("'conversation' is empty; it has at least one turn", "conversation")
        return self._conversation(written, turns, case.rest(_KNOWN_OF_CASE), place)

    def _conversation(
        self, written: dict[str, Any], turns: list[AdkTurn], rest: dict[str, Any], place: Path
    ) -> dict[str, Any]:
        """Return a case. A single turn becomes its input and expectations; several become its turns."""
        if left_over := [turn.rest for turn in turns]:
            rest = rest | ({"conversation": left_over} if any(left_over) else {})
        if whole := {metric.name: None for metric in self._metrics if metric.is_of_case}:
            written["expect"] = whole
        if len(turns) == 1:
            turn = self._turn(turns[0], place)
            written |= turn | {"expect": {**whole, **turn.get("expect", {})}} if whole else turn
        else:
            written["turns"] = [self._turn(turn, (*place, "turns", number)) for number, turn in enumerate(turns)]
        return written | ({"metadata": {"adk": rest}} if rest else {})

    def _turn(self, turn: AdkTurn, place: Path) -> dict[str, Any]:
        turn.record_origin(self._document, place, self._metrics)
        expect = {metric.name: turn.expectation(metric) for metric in self._metrics if not metric.is_of_case}
        return {"input": turn.input} | ({"expect": expect} if expect else {})


def _file_id(file: SourceFile) -> str:
    """Return an id for the only case of a file: the name of the file without its suffixes."""
    name = FilePath(file.name).name
    if not name.split(".")[0]:
        raise file.problem(f"the name of the file gives no id for its case: {shown(name)}")
    return name.split(".")[0]


_KNOWN_OF_TURN = ("invocation_id", "creation_timestamp", "rubrics", "app_details", "duration")
_KNOWN_OF_CALL = ("id", "partial_args", "will_continue")


class AdkTurn(msgspec.Struct, frozen=True):
    """One turn: the input, the expected calls and answer with their positions, and the other keys."""

    input: Any
    calls: list[dict[str, Any]]
    call_places: list[Path]
    response: str
    file: SourceFile
    path: Path
    calls_key: str
    response_key: str
    rest: dict[str, Any]

    def record_origin(self, document: EvalSetDocument, place: Path, metrics: Sequence[Metric]) -> None:
        """Note in a document where the parts of the turn are written."""
        document.record_origin(place, self.file, self.path)
        for metric in metrics:
            key = self.calls_key if metric.is_of_calls else self.response_key
            document.record_origin((*place, "expect", metric.name), self.file, (*self.path, key))
            for number, origin in enumerate(self.call_places if metric.is_of_calls else []):
                document.record_origin((*place, "expect", metric.name, number), self.file, origin)

    def expectation(self, metric: Metric) -> Any:
        """Return what a metric expects of the turn."""
        if metric.is_of_calls:
            return self.calls
        return self.response if metric.is_of_response else {}


def turn_of(part: SourceObject) -> AdkTurn:
    """Read an invocation of an eval set. Raises `DocumentError`."""
    user = part.object("user_content")
    if user is None:
        part.rest((*_KNOWN_OF_TURN, "final_response", "intermediate_data"))
        raise part.problem("'user_content' is missing")
    response, data = part.object("final_response"), part.object("intermediate_data")
    rest = part.rest(_KNOWN_OF_TURN)
    given = _plain_text(user, "user")
    calls = _calls(data) if data is not None else []
    if response is not None and _plain_text(response, "model") is None:
        rest["final_response"] = response.value
    if data is not None and (left := _left_over(data)):
        rest["intermediate_data"] = left
    return AdkTurn(
        input=user.value if given is None else given,
        calls=[call for call, _ in calls],
        call_places=[place for _, place in calls],
        response="" if response is None else _joined_text(response),
        file=part.file,
        path=part.path,
        calls_key="intermediate_data",
        response_key="final_response",
        rest=rest,
    )


def old_turn(part: SourceObject) -> AdkTurn:
    """Read a turn of one of the older lists. Raises `DocumentError`."""
    calls = [(_old_call(call), call.path) for call in part.objects("expected_tool_use")]
    response = part.text("reference", "")
    given = part.text("query")
    rest = part.rest(("expected_intermediate_agent_responses",))
    if any(call.value.keys() - {"tool_name", "tool_input"} for call in part.objects("expected_tool_use")):
        rest["expected_tool_use"] = part.get("expected_tool_use")
    return AdkTurn(
        input=given,
        calls=[call for call, _ in calls],
        call_places=[place for _, place in calls],
        response=response,
        file=part.file,
        path=part.path,
        calls_key="expected_tool_use",
        response_key="reference",
        rest=rest,
    )


def _old_call(part: SourceObject) -> dict[str, Any]:
    args = part.get("tool_input")
    if args is not None and not isinstance(args, dict):
        raise part.problem(f"arguments are an object, not {shown(args)}", "tool_input")
    call = _written_call(part.text("tool_name"), args or {})
    part.rest(("mock_tool_output",))
    return call


def _calls(data: SourceObject) -> list[tuple[dict[str, Any], Path]]:
    """Return the expected calls: under `tool_uses`, or the function calls among the events."""
    if data.has("tool_uses") or not data.has("invocation_events"):
        return [(_call(call), call.path) for call in data.objects("tool_uses")]
    found = []
    for event in data.objects("invocation_events"):
        content = event.object("content")
        for part in content.objects("parts") if content is not None else []:
            call = part.object("function_call")
            if call is not None:
                found.append((_call(call), call.path))
    return found


def _call(part: SourceObject) -> dict[str, Any]:
    args = part.get("args")
    if args is not None and not isinstance(args, dict):
        raise part.problem(f"arguments are an object, not {shown(args)}", "args")
    call = _written_call(part.text("name"), args or {})
    part.rest(_KNOWN_OF_CALL)
    return call


def _written_call(name: str, args: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "args": args} if is_word(name) else {name: args}


def _left_over(data: SourceObject) -> dict[str, Any]:
    """Return the intermediate data that is more than names and arguments of calls."""
    uses = data.get("tool_uses") or []
    plain = all(use.keys() <= {"name", "args"} for use in uses)
    known = ("tool_responses", "intermediate_responses")
    rest = {key: value for key, value in data.rest(known).items() if value != []}
    rest |= {} if plain else {"tool_uses": uses}
    return rest | ({"invocation_events": data.get("invocation_events")} if data.has("invocation_events") else {})


def _joined_text(content: SourceObject) -> str:
    """Return the strings of a content, joined by line breaks."""
    texts = [part.get("text") for part in content.objects("parts")]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def _plain_text(content: SourceObject, role: str) -> str | None:
    """Return the text of a content that is a single string; None if there is more to it."""
    parts = content.get("parts")
    alone = isinstance(parts, list) and len(parts) == 1 and isinstance(parts[0], dict)
    if not alone or not content.value.keys() <= {"parts", "role"} or content.value.get("role", role) != role:
        return None
    text = parts[0].get("text")
    return text if isinstance(text, str) and parts[0].keys() == {"text"} else None


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
