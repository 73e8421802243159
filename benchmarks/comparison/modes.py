"""Every evaluator of ours that looks at calls, in every mode, over the inputs."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rightcall import CriteriaError
from rightcall.judging import evaluator_type

from .inputs import Input, output_of

Cell = float | str
"""A score, or `error`."""
Criteria = Callable[[Input], dict[str, Any]]

POLICIES = ("subset", "exact", "superset", "ignore")
MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")


@dataclass(frozen=True)
class Mode:
    """One evaluator with one configuration."""

    type_id: str
    config: dict[str, Any]
    criteria: Criteria

    def cell(self, given: Input) -> Cell:
        """The score of an input; `error` where such an expectation is refused."""
        evaluator = evaluator_type(self.type_id)(config=self.config)
        calls = [{**call, "output": output_of(call)} for call in given.actual]
        try:
            result = evaluator.evaluate(calls, self.criteria(given))
        except CriteriaError:
            return "error"
        return result.verdict if result.score is None else result.score


def _order(given: Input) -> dict[str, Any]:
    return {"tool_calls_order": given.expected_names}


def _count(given: Input) -> dict[str, Any]:
    return {"tool_calls_count": given.expected_counts}


def _args(given: Input) -> dict[str, Any]:
    return {"tool_calls": list(given.expected)}


def _outputs(given: Input) -> dict[str, Any]:
    return {"tool_outputs": [{"name": call["name"], "output": output_of(call)} for call in given.expected]}


def _expected(given: Input) -> dict[str, Any]:
    return {"expected": list(given.expected)}


def _actions(given: Input) -> dict[str, Any]:
    return {"expected_output": given.expected_names}


def _first(given: Input) -> dict[str, Any]:
    return {"expected": list(given.expected[:1])}


def _never(_given: Input) -> dict[str, Any]:
    return {"never": ["X"]}


def _modes() -> Iterator[tuple[str, Mode]]:
    yield from _tool_call_modes()
    yield from _trajectory_modes()
    yield "execution-order", Mode("execution-order", {}, _actions)
    yield "execution-order, ordering", Mode("execution-order", {"should_consider_ordering": True}, _actions)
    yield "execution-order, exact", Mode("execution-order", {"should_exact_match": True}, _actions)
    for type_id in ("tool-precision", "tool-recall", "tool-f1"):
        for policy in POLICIES:
            yield f"{type_id}, {policy}", Mode(type_id, {"args_match": policy}, _expected)
    for policy in POLICIES:
        yield f"single-tool-use, {policy}", Mode("single-tool-use", {"args_match": policy}, _first)
    yield "forbidden-tools", Mode("forbidden-tools", {}, _never)


def _tool_call_modes() -> Iterator[tuple[str, Mode]]:
    for ending, strict in (("", False), (", strict", True)):
        yield f"tool-call-order{ending}", Mode("tool-call-order", {"strict": strict}, _order)
        yield f"tool-call-count{ending}", Mode("tool-call-count", {"strict": strict}, _count)
        for policy, subset in (("subset", True), ("exact", False)):
            config = {"strict": strict, "subset": subset}
            yield f"tool-call-args, {policy}{ending}", Mode("tool-call-args", config, _args)
        yield f"tool-call-output{ending}", Mode("tool-call-output", {"strict": strict}, _outputs)


def _trajectory_modes() -> Iterator[tuple[str, Mode]]:
    for ending, partial in (("", False), (", partial credit", True)):
        for policy in POLICIES:
            for match_type in MATCH_TYPES:
                config = {"match_type": match_type, "args_match": policy, "partial_credit": partial}
                yield f"{match_type}, {policy}{ending}", Mode("tool-trajectory", config, _expected)


MODES = dict(_modes())
"""What the tables call each mode, and the mode."""
