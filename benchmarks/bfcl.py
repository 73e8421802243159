"""The possible answers of BFCL as expectations, its answers changed in twenty ways, beside the verdicts of its checker.

    python -m benchmarks.bfcl [--python PATH]

PATH is an interpreter with `bfcl-eval` (`pip install --no-deps bfcl-eval` is enough); by default an environment is
made. The checker runs there, on the same answers. Prints how often both agree, and the differences by their reason;
ends with 1 where a difference has none.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

_CATEGORIES = ("simple_python", "multiple", "parallel", "parallel_multiple", "live_simple", "live_multiple")
_IGNORED = r"[ ,./\-_*^]*"
"""Signs that BFCL leaves out of texts before it compares them, in any case."""

Call = dict[str, dict[str, Any]]
_FIRST = "as it is"

# Runs where bfcl-eval is installed. Its table of models imports their SDKs, and the checker asks it one thing.
_CHECKER = """
import json, sys, types
table = types.ModuleType("bfcl_eval.constants.model_config")
class Model: underscore_to_dot = False
class Models(dict):
    def __missing__(self, name): return Model
table.MODEL_CONFIG_MAPPING = Models()
sys.modules[table.__name__] = table
from bfcl_eval.constants.enums import Language
from bfcl_eval.eval_checker.ast_eval.ast_checker import ast_checker
import bfcl_eval, pathlib
data = pathlib.Path(bfcl_eval.__file__).parent / "data"
if sys.argv[1] == "data":
    print(data)
else:
    tasks = {}
    for line in sys.stdin:
        category, name, answer = json.loads(line)
        if category not in tasks:
            questions = [json.loads(each) for each in open(data / f"BFCL_v4_{category}.json")]
            answers = [json.loads(each) for each in open(data / "possible_answer" / f"BFCL_v4_{category}.json")]
            truth = {each["id"]: each["ground_truth"] for each in answers}
            tasks[category] = {each["id"]: (each["function"], truth[each["id"]]) for each in questions}
        functions, truth = tasks[category][name]
        try:
            said = ast_checker(functions, answer, truth, Language.PYTHON, category, "model")
            print(json.dumps([said["valid"], said.get("error_type", "")]))
        except Exception as problem:
            print(json.dumps([None, type(problem).__name__]))
"""


def expectation(truth: Sequence[dict[str, dict[str, list[Any]]]]) -> dict[str, Any]:
    """Return possible answers as an expectation: all calls in any order, with exact arguments, and no others."""
    calls = [
        {name: {key: _any_of(held) for key, held in args.items()}} for each in truth for name, args in each.items()
    ]
    return {"calls": {"criteria": [{"any_order": calls}] if len(calls) > 1 else calls, "args": "exact"}}


def _any_of(values: Sequence[Any]) -> dict[str, Any]:
    held = [_value(value) for value in values]
    # An empty text among the possible values says that the argument may be left out.
    return {"$anyOf": [*held, {"$absent": True}] if "" in values else held}


def _value(value: Any) -> Any:
    if isinstance(value, str):
        signs = re.sub(r"[ ,./\-_*^]", "", value).lower()
        quoted = ["['\"]" if sign in "'\"" else re.escape(sign) for sign in signs]
        return {"$regex": f"(?i)^{_IGNORED}{''.join([each + _IGNORED for each in quoted])}$"}
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, dict):
        return {key: _any_of(held if isinstance(held, list) else [held]) for key, held in value.items()}
    return value


def answer(truth: Sequence[dict[str, dict[str, list[Any]]]], pick: int = 0) -> list[Call]:
    """Return the calls that a perfect model would make, of each argument the value at this place."""
    return [
        {name: {key: _picked(held, pick) for key, held in args.items()} for name, args in each.items()}
        for each in truth
    ]


def _picked(values: Sequence[Any], pick: int) -> Any:
    known = [value for value in values if value != ""] or [""]
    value = known[pick % len(known)]
    if isinstance(value, dict):
        return {key: _picked(held if isinstance(held, list) else [held], pick) for key, held in value.items()}
    if isinstance(value, list):
        return [_picked([item], pick) if isinstance(item, dict) else item for item in value]
    return value


def _changed(calls: list[Call], change: Callable[[Any], Any], kind: type | tuple[type, ...]) -> list[Call]:
    """Return the calls with the first argument of a type changed; as they are if there is none."""
    made: list[Call] = json.loads(json.dumps(calls))
    for call in made:
        for args in call.values():
            for key, value in args.items():
                if isinstance(value, kind) and (kind is bool or not isinstance(value, bool)):
                    args[key] = change(value)
                    return made
    return made


def _with_args(calls: list[Call], change: Callable[[dict[str, Any]], dict[str, Any]]) -> list[Call]:
    return [
        {name: change(dict(args)) if place == 0 else args for name, args in call.items()}
        for place, call in enumerate(calls)
    ]


def mutations(truth: Any) -> Iterator[tuple[str, list[Call]]]:
    """Yield the answer of a perfect model, and what becomes of it when something is changed."""
    calls = answer(truth)
    first = next(iter(truth[0].values()))
    optional = [key for key, held in first.items() if "" in held]
    needed = [key for key, held in first.items() if "" not in held]
    yield _FIRST, calls
    yield "other values", answer(truth, 1)
    yield (
        "optional arguments left out",
        _with_args(calls, lambda args: {k: v for k, v in args.items() if k not in optional}),
    )
    yield (
        "a needed argument left out",
        _with_args(calls, lambda args: {k: v for k, v in args.items() if k not in needed[:1]}),
    )
    yield "an argument added", _with_args(calls, lambda args: {**args, "unexpected": 1})
    yield "another function", [{f"{name}_x": args for name, args in calls[0].items()}, *calls[1:]]
    yield "the first call twice", [calls[0], *calls]
    yield "the last call left out", calls[:-1]
    yield "calls in reverse", calls[::-1]
    yield "text in capitals", _changed(calls, str.upper, str)
    yield "text without blanks", _changed(calls, lambda text: text.replace(" ", ""), str)
    yield "text with a point", _changed(calls, lambda text: f"{text}.", str)
    yield "another text", _changed(calls, lambda text: f"{text}x", str)
    yield "a whole number as a float", _changed(calls, float, int)
    yield "a number as text", _changed(calls, str, (int, float))
    yield "another number", _changed(calls, lambda number: number + 1, (int, float))
    yield "the other truth value", _changed(calls, lambda value: not value, bool)
    yield "a truth value as text", _changed(calls, str, bool)
    yield "a list in reverse", _changed(calls, lambda items: items[::-1], list)
    yield "a list with one more", _changed(calls, lambda items: [*items, *items[:1]] or ["x"], list)


def reason(change: str, theirs: Any, ours: bool, is_own_valid: bool) -> str:
    """Return why the verdicts differ; empty if there is no reason."""
    valid, error = theirs
    if valid is None:
        return f"its checker raises {error}"
    if ours and not is_own_valid:
        return "its answer itself is refused by its checker, because the function's description says otherwise"
    if ours and (change == "a whole number as a float" or error.startswith("type_error")):
        return "1.0 is 1 here; its checker asks for the type in the function's description"
    if ours and error.endswith("missing_required"):
        return "its answers call an argument optional that the function's description requires"
    if ours and change == "optional arguments left out":
        return "its answers call an argument optional that the function's description requires"
    if ours and change == "calls in reverse":
        return "its checker pairs each expected call with the first that fits, so the order decides"
    return ""


def main(words: Sequence[str] | None = None) -> int:
    """Compare all verdicts, and print them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", type=Path, help="an interpreter with bfcl-eval")
    options = parser.parse_args(words)
    if options.python is None:
        from benchmarks.environments import provide

        options.python = provide("bfcl", ["bfcl-eval"])
    found = subprocess.run([options.python, "-c", _CHECKER, "data"], capture_output=True, text=True, check=True)
    tasks = list(_tasks(Path(found.stdout.strip())))
    tried = [(category, name, change, calls) for category, name, truth in tasks for change, calls in mutations(truth)]
    lines = "\n".join([json.dumps([category, name, calls]) for category, name, _, calls in tried])
    checked = subprocess.run(
        [options.python, "-c", _CHECKER, "check"], input=lines, capture_output=True, text=True, check=True
    )
    theirs = [json.loads(line) for line in checked.stdout.splitlines()]
    return _report(tasks, tried, theirs)


def _tasks(data: Path) -> Iterator[tuple[str, str, Any]]:
    for category in _CATEGORIES:
        text = (data / "possible_answer" / f"BFCL_v4_{category}.json").read_text(encoding="utf-8")
        for line in text.splitlines():
            task = json.loads(line)
            yield category, task["id"], task["ground_truth"]


def _report(tasks: Sequence[Any], tried: Sequence[Any], theirs: Sequence[Any]) -> int:
    from rightcall.cases.evalsets import load_expectation
    from rightcall.cases.verdicts import judge
    from rightcall.values.trajectory import Trajectory

    cases = {
        (category, name): load_expectation(json.dumps(expectation(truth)), name)(name)
        for category, name, truth in tasks
    }
    reasons: Counter[str] = Counter()
    unexplained = []
    valid = {(each[0], each[1]): said[0] is True for each, said in zip(tried, theirs, strict=True) if each[2] == _FIRST}
    for (category, name, change, calls), said in zip(tried, theirs, strict=True):
        made = Trajectory.of([{"name": tool, "args": args} for call in calls for tool, args in call.items()])
        passed = judge(cases[category, name], made).passed
        if passed != said[0]:
            why = reason(change, said, passed, valid[category, name])
            reasons[why or f"none: {change}, theirs {said}, ours {passed}"] += 1
            unexplained += (
                [] if why else [f"  {name}, {change}: theirs {said}, ours {passed}: {json.dumps(calls)[:200]}"]
            )
    print(f"{len(tasks):,} possible answers, {len(tried):,} comparisons, {sum(reasons.values()):,} differences")
    for why, count in reasons.most_common():
        print(f"{count:>6,}  {why}")
    print("\n".join(unexplained[:40]))
    return 1 if unexplained else 0


if __name__ == "__main__":
    sys.exit(main())
