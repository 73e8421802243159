"""What is said of runs that nearly took an expected path: groups in groups, every match type, and mistakes in both."""

from __future__ import annotations

from random import Random
from typing import Any

from tests.judging.kept_verdicts import told
from tests.matching.alignment.trees import nearly, some_ranges, some_steps
from tests.snapshots import Drawn, drawn, line

from rightcall import CriteriaError, ToolCall, Trajectory
from rightcall.judging import EVALUATORS
from rightcall.judging.calls._steps import read_steps
from rightcall.limits import Limits

FILE = "paths.txt"
_MILLISECOND = 1_000_000
_ARGS: tuple[dict[str, Any], ...] = (
    {},
    {"n": 1},
    {"n": 2},
    {"n": True, "to": "Rome"},
    {"n": 1, "to": "Oslo"},
    {**dict.fromkeys("abcde", 1), "n": 1},
)
_EXPECTED_ARGS: tuple[Any, ...] = (
    *({"n": 1}, {"n": {"$gte": 2}}, {"to": {"$startsWith": "R"}}, {"n": {"$from": "a"}}, {"$any": True}, {}),
)
_WRONG: tuple[Any, ...] = (
    *(7, None, "", [], {}, {"any_ordr": ["a"]}, {"any_order": "a"}, {"optional": ["a"], "more": 1}, {"repeat": []}),
    *({"repeat": "a", "at_least": -1}, {"repeat": "a", "at_least": 3, "at_most": 2}, {"repeat": "a", "at_most": 5_000}),
    *({"at_once": [["a", "b"]]}, {"one_of": []}, {"name": 7}, {"name": "a", "arg": {}}, {"name": "a", "nth": 0}),
    *(
        {"steps": ["a"], "agent": "planner"},
        {"name": "a", "args": {"n": {"$grt": 1}}},
        {"a": {"n": 1}},
        {"a": 1, "b": 2},
    ),
    *(
        {"name": "a", "status": "fine"},
        {"any_order": ["a"], "at_least": 2},
        {"Name": "a"},
        {"optional": {"optional": "a"}},
    ),
    *(
        {"$any": True},
        {"name": {"$regex": "a"}},
        {"name": {"n": 1}},
        {"name": {"n": 1}, "args": {}},
        {"name": ["a", "b"]},
    ),
    *({"never": ["a"]}, {"not": "a"}, {"anyOrder": ["a", "b"]}, {"at-once": ["a"]}, {"oneOf": ["a"]}, {"loop": ["a"]}),
    *({"tool": "a"}, {"names": "a"}, {"name": "a", "optional": True}, {"name": "a", "at_most": 2}, {"steps": "a"}),
    *(
        {"repeat": "a", "times": 2},
        {"repeat": "a", "name": "b"},
        {"repeat": "a", "at_most": "2"},
        {"repeat": "a", "agent": "x"},
    ),
    *(
        {"at_once": [{"repeat": ["a", "b"]}]},
        {"at_once": ["a", {"optional": "b"}]},
        {"steps": []},
        {1: "a"},
        {"a": None},
    ),
    *({"any_order": ["a"], "one_of": ["b"]}, {"one_of": ["a"], "agent": "x"}, ["a", 7], {"a": [1]}, {"name": None}),
)
"""Steps that are not written as they should be, and some that are."""


def groups() -> list[str]:
    """What expected paths are grouped by."""
    return list(_GROUPS)


def outcomes(group: str) -> dict[str, str]:
    """A line for each path of a group."""
    return drawn(_GROUPS, group)


def _path(random: Random) -> str:
    """A path with groups in it."""
    steps = [some_steps(random, random.choice((0, 1, 2))) for _ in range(random.randint(1, 3))]
    match_type = random.choice(("EXACT", "IN_ORDER", "EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"))
    return _judged(random, nearly(random, steps), _dressed(random, steps), match_type)


def _named(random: Random) -> str:
    """A value of one call that another has to have."""
    steps = random.choices("ab", k=2)
    first, last = [
        {"name": name, "args": {"n": {key: "x"}}} for name, key in zip(steps, ("$bind", "$ref"), strict=True)
    ]
    between = [some_steps(random, 1)]
    match_type = random.choice(("EXACT", "IN_ORDER", "ANY_ORDER", "SUBSET"))
    return _judged(random, nearly(random, [*steps, *between, *steps]), [first, *between, last], match_type)


def _list(random: Random) -> str:
    """A list of calls, by any match type."""
    steps = random.choices("aabc", k=random.randint(0, 5))
    match_type = random.choice(("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET"))
    return _judged(random, nearly(random, steps), _dressed(random, steps), match_type)


def _choice(random: Random) -> str:
    """One of several sequences, of which the nearest is not taken whole; some of them in rounds, or at once."""
    ways = [random.choices("abcd", k=random.randint(1, 3)) for _ in range(random.randint(1, 3))]
    taken = random.choice(ways)
    kept = [name for name in taken if random.random() < 0.6]
    step: Any = random.choice(
        ({"one_of": ways}, {"repeat": {"one_of": ways}}, {"at_once": ["a", {"one_of": ["b", "c"]}]})
    )
    made = ["a", *kept, *random.choice(([], kept, taken, ["b"])), "d"]
    match_type = random.choice(("EXACT", "IN_ORDER"))
    return _judged(random, made, ["a", step, "d"], match_type)


def _rounds(random: Random) -> str:
    """Rounds in rounds, of which some are not whole, or not in order."""
    bounds: list[dict[str, int]] = [{}, {}, {"at_most": 2}, {"at_least": 2}]
    inner = {"repeat": random.choice(("b", ["b", "c"])), **random.choice(bounds)}
    steps = [
        "a",
        {"repeat": random.choice((["a", inner], [inner, "d"], ["b", inner, "c"])), **random.choice(bounds)},
        "d",
    ]
    rounds = [
        name for _ in range(random.randint(0, 3)) for name in random.choice(("abbc", "bcd", "bbcc", "abcbc", "cb"))
    ]
    return _judged(random, ["a", *rounds, *random.choice(("d", "", "ad"))], steps, random.choice(("EXACT", "IN_ORDER")))


def _long(random: Random) -> str:
    """So many calls that not all of what is wrong is told, alike or in groups, in little room."""
    names, made = ([random.choice("abc") for _ in range(random.randint(10, 45))] for _ in "ab")
    made = random.choice((made, names[::-1], [*names[:9], *names]))
    steps: list[Any] = names if random.random() < 0.5 else [*names[:-4], {"any_order": names[-4:]}]
    return _judged(random, made, steps, random.choice(("EXACT", "IN_ORDER", "UNORDERED")))


def _free(random: Random) -> str:
    """Calls made at once, of which some say nothing of their arguments: the order counts that suits best."""
    expected: list[dict[str, Any]] = [
        {"name": random.choice("aab"), "args": {"n": random.randint(1, 2)}} for _ in range(random.randint(2, 5))
    ]
    calls: list[ToolCall] = []
    for step in random.sample(expected, len(expected)) + random.choices(expected, k=random.choice((0, 0, 1))):
        lost = frozenset({"args"}) if random.random() < 0.3 else frozenset[str]()
        args = None if lost else random.choice((step["args"], step["args"], {"n": 3}))
        group = f"g{random.choice((len(calls) // 3, len(calls) // 2))}"
        calls.append(ToolCall(step["name"], args, "ok", group=group, unrecorded=lost))
    criteria = {"expected": expected, "parallel": random.choice(("any_order", "recorded", "overlap"))}
    config = {"match_type": random.choice(("EXACT", "IN_ORDER")), "partial_credit": random.random() < 0.5}
    return told(EVALUATORS["tool-trajectory"](config=config), Trajectory(calls=tuple(calls)), criteria)


def _wrong(random: Random) -> str:
    """A step that is not one, alone, in a group or among others."""
    step = random.choice(_WRONG)
    steps: Any = random.choice(([step], ["b", step], [{"any_order": ["b", step]}], step, {"expected": [step]}))
    try:
        read = read_steps(steps)
    except CriteriaError as problem:
        return line(repr(steps), str(problem), problem)
    return _judged(random, ["a"], read, "IN_ORDER")


def _judged(random: Random, names: list[str], expected: list[Any], match_type: str) -> str:
    turns = random.choice((1, 1, 1, 2))
    made = _run(random, names, turns)
    cut = random.randint(0, len(expected))
    config = {
        "match_type": match_type,
        "args_match": random.choice(("exact", "subset", "superset", "ignore", "ignore", "ignore")),
        "partial_credit": random.choice((False, True, "f1")),
        "threshold": random.choice((0.5, 1.0)),
        "extra": random.choice((None, None, "allow", "forbid", "others")),
    }
    paths = {"expected_turns": [expected[:cut], expected[cut:]]} if turns > 1 else {"expected": expected}
    criteria = {**paths, "wildcards": True, **random.choice(({}, {}, {}, *_narrowings(turns)))}
    limits = Limits(
        alignment_steps=random.choice((60, *[20_000] * 4)),
        explanation_bytes=random.choice((200, 900, 3_000, 65_536)),
    )
    return told(EVALUATORS["tool-trajectory"](config=config, limits=limits), made, criteria)


def _narrowings(turns: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"parallel": parallel} for parallel in ("any_order", "overlap", "recorded")]
    found += [{"failed": "ignore"}, {"agent": "planner"}, {"top_level": True}]
    return found if turns > 1 else [*found, {"turn": 0}]


def _dressed(random: Random, step: Any) -> Any:
    """A step in which some calls say more than a name."""
    if isinstance(step, str) and random.random() < 0.4:
        more = random.choice(({"status": "ok"}, {"agent": "planner"}, {"turn": 0}, {"output": "ok"}, {}, {}))
        return {"name": random.choice((step, step, step, "*")), "args": random.choice(_EXPECTED_ARGS), **more}
    if isinstance(step, list):
        return [_dressed(random, item) for item in step]
    if isinstance(step, dict):
        return {
            word: _dressed(random, item) if word[:3] != "at_" or word == "at_once" else item
            for word, item in step.items()
        }
    return step


def _run(random: Random, names: list[str], turns: int) -> Trajectory:
    """A run of these calls, of which some were made at once, some failed, and some say little."""
    batches = [place for place, (first, end) in enumerate(some_ranges(random, len(names))) for _ in range(first, end)]
    has_times, clock = random.random() < 0.6, 0
    calls = []
    for place, (name, batch) in enumerate(zip(names, batches, strict=True)):
        hidden = frozenset([part for part in ("args", "output", "group") if random.random() < 0.04])
        has_failed = random.random() < 0.1
        calls.append(
            ToolCall(
                name,
                None if "args" in hidden else random.choice(_ARGS),
                None if has_failed or "output" in hidden else random.choice(("ok", 1, {"id": 2})),
                error="boom" if has_failed else None,
                agent=random.choice(("planner", "planner", "booker", None)),
                turn=random.choice((None, *[place * turns // len(names)] * 9)) if turns > 1 else None,
                group=None if "group" in hidden else f"g{batch}",
                start_ns=clock if has_times else None,
                end_ns=clock + 2 * _MILLISECOND if has_times and random.random() < 0.9 else None,
                unrecorded=hidden,
            )
        )
        clock += random.choice((0, 1, 3)) * _MILLISECOND
    unordered = tuple([each for each in some_ranges(random, len(names)) if each[1] - each[0] in (2, 3)])
    return Trajectory(
        calls=tuple(calls),
        input="Book a trip.",
        turn_inputs=("Book", "Pay") if turns > 1 else (),
        unordered=unordered if random.random() < 0.15 else (),
        calls_recorded=random.random() < 0.95,
    )


_GROUPS: Drawn = {
    "path": (_path, 400),
    "list": (_list, 250),
    "named": (_named, 80),
    "choice": (_choice, 100),
    "rounds": (_rounds, 100),
    "free": (_free, 100),
    "long": (_long, 60),
    "wrong": (_wrong, 200),
}
