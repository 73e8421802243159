"""ADK's eval sets and test files, as the native grammar has them."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

from rightcall.errors import shown
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._adk_criteria import Metric, read_metrics
from ._adk_turns import AdkTurn, old_turn, turn_of
from ._foreign import Part
from ._pages import Draft, Page

_KNOWN_OF_SET = ("eval_set_id", "creation_timestamp")
_KNOWN_OF_CASE = ("creation_timestamp", "rubrics", "final_session_state")


def translate_adk(page: Page, limits: Limits) -> Draft:
    """An eval set of ADK, a test file, or one of the two older lists, with the `test_config.json` beside it.

    Whatever the native grammar has no key for is kept under `metadata`, in `adk`.

    Raises:
        DocumentError: naming file, line and column of the first mistake, and what would be right.
        InputError: the configuration cannot be read.
    """
    return _Translation(page, limits).draft()


class _Translation:
    """One file while it is translated."""

    def __init__(self, page: Page, limits: Limits) -> None:
        self._page = page
        self._draft = Draft(page, {})
        config = FilePath(page.name).parent / "test_config.json"
        self._config = Page.read(config, limits) if config.is_file() else None
        self._metrics: list[Metric] = read_metrics(self._config)

    def draft(self) -> Draft:
        written, rest, cases = self._of_list() if isinstance(self._page.value, list) else self._of_set()
        if self._config is not None:
            rest["test_config"] = self._config.value
        evaluators = {metric.name: metric.written() for metric in self._metrics}
        if any("user-simulation" in case.get("expect", {}) for case in cases):
            evaluators["user-simulation"] = {"type": "user-simulation"}
        for metric in self._metrics:
            metric.trace(self._draft)
        written |= {"evaluators": evaluators, "metadata": {"adk": rest} if rest else {}, "cases": cases}
        self._draft.value = {key: value for key, value in written.items() if key == "cases" or value not in ({}, "")}
        return self._draft

    def _of_set(self) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        whole = Part(self._page, self._page.value)
        written = {"name": whole.text("name", ""), "description": whole.text("description", "")}
        key = "eval_cases"
        found = [self._case(case, number) for number, case in enumerate(whole.objects(key, required=True))]
        self._draft.trace(("cases",), self._page, whole.place(key))
        return written, whole.rest(_KNOWN_OF_SET), found

    def _of_list(self) -> tuple[dict[str, Any], dict[str, Any], list[dict[str, Any]]]:
        parts = [Part(self._page, item, (number,)) for number, item in enumerate(self._page.value)]
        if all("query" in part.value for part in parts):
            return {}, {}, [self._old_case(_file_id(self._page), parts, None, {}, 0)]
        cases = []
        for number, part in enumerate(parts):
            turns = part.objects("data", required=True)
            session = part.any("initial_session") or None
            case_id = part.text("name")
            self._draft.trace(("cases", number, "id"), self._page, part.place("name"))
            cases.append(self._old_case(case_id, turns, session, part.rest(), number))
        return {}, {}, cases

    def _old_case(
        self, case_id: str, parts: list[Part], session: Any, rest: dict[str, Any], number: int
    ) -> dict[str, Any]:
        written: dict[str, Any] = {"id": case_id} | ({"session": session} if session else {})
        return self._conversation(written, [old_turn(part) for part in parts], rest, ("cases", number))

    def _case(self, case: Part, number: int) -> dict[str, Any]:
        place: Path = ("cases", number)
        written: dict[str, Any] = {"id": case.text("eval_id")}
        self._draft.trace((*place, "id"), self._page, case.place("eval_id"))
        if case.has("session_input"):
            written["session"] = case.any("session_input")
        scenario = case.object("conversation_scenario")
        if (scenario is None) == (not case.has("conversation")):
            case.rest(_KNOWN_OF_CASE)
            raise case.problem("a case has 'conversation' or 'conversation_scenario', one of the two")
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
        """One turn is the input of the case and what is expected of it; several are its turns."""
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
        turn.trace(self._draft, place, self._metrics)
        expect = {metric.name: metric.expectation(turn) for metric in self._metrics if not metric.is_of_case}
        return {"input": turn.input} | ({"expect": expect} if expect else {})


def _file_id(page: Page) -> str:
    """An id for the only case of a file: its name without its endings."""
    name = FilePath(page.name).name
    if not name.split(".")[0]:
        raise page.problem(f"the file's name gives no id for its case: {shown(name)}")
    return name.split(".")[0]
