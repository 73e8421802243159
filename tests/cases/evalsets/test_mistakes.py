"""Mistakes in expectations: each is told in one line, with file, line and column, and the word that is meant."""

from pathlib import Path

import pytest

from rightcall import DocumentError
from rightcall.cases.evalsets import load_eval_set

MISTAKES = [
    # expect, column in line 4, a part of the message
    ("cals: [a]", 5, "'cals' names no evaluator; did you mean 'calls'?"),
    ("calls: a", 5, "a list of calls is expected, not 'a'"),
    ("match: in_order", 5, "'match' names no evaluator; it is a setting: write it beside what is expected"),
    ("counts: {a: one}", 14, ": counts.a: a count is"),
    ("counts: {criteria: {a: one}}", 25, ": counts.criteria.a: a count is"),
    ("counts: null", 5, ": counts: an object is expected, not null"),
    (
        "calls: {expected: [a], paralel: any_order}",
        28,
        "unknown setting 'paralel' of 'calls'; did you mean 'parallel'?",
    ),
    (
        "calls: {expected: [a], parallel: sideways}",
        28,
        "parallel: 'in_order', 'recorded', 'any_order' or",
    ),
    ("calls: {expected: [a], match: exactly}", 28, "unknown match type 'exactly'; did you mean 'EXACT'?"),
    ("calls: {expected: [a], args: subst}", 28, "unknown argument policy 'subst'; did you mean 'subset'?"),
    ("calls: {expected: [a], threshold: 2}", 28, "threshold: a number of at most 1 is expected"),
    ("calls: {expected: [a], criteria: [a]}", 13, "'criteria' and 'expected' are the same here; give one of them"),
    ("calls: [{a: {id: {$regx: s}}}]", 18, "unknown matcher '$regx'; did you mean '$regex'?"),
    ("calls: {expected: [a], failed: ignored}", 28, "failed: 'count', 'ignore' or 'ignore_suspected'"),
    ("calls: [{a: {id: {$from: {cal: b}}}}]", 23, "calls[0].args.id.$from: unknown key 'cal'; did you mean 'call'?"),
    (
        "calls: [{a: {id: {$from: {call: b, output: '$.x[?(@.y)]'}}}}]",
        40,
        'is not a step; a step is .key, ["key"], [0]',
    ),
    ("calls: [{name: a, status: broken}]", 23, "status: 'ok' or 'error' is expected, not 'broken'"),
    ("calls: {expected: [a], extra: forbidd}", 28, "extra calls are 'allow', 'forbid' or 'others', not 'forbidd'"),
    ("calls: [{optionl: a}]", 14, "unknown word 'optionl'; did you mean 'optional'?"),
    ("calls: [{anyorder: [a, b]}]", 14, "unknown word 'anyorder'; did you mean 'any_order'?"),
    ("calls: [{any_order: [a], one_of: [b]}]", 13, "in one step; put one into the other: {any_order: {one_of: …}}"),
    ("calls: [{repeat: a, at_least: 3, at_most: 2}]", 38, "2 is less than at_least, 3"),
    ("calls: [{repeat: a, at_most: 0}]", 25, "a whole number from 1 to 1,000 is expected, not 0"),
    ("calls: [{optional: a, at_most: 2}]", 27, "'at_most' belongs to 'repeat', not to optional"),
    ("calls: [{at_once: [a, [b, c]]}]", 27, "calls made at once have no order; put the sequence into any_order"),
    ("calls: [{any_order: []}]", 14, "any_order is empty; a group has at least one step"),
    ("calls: [{one_of: a}]", 14, "one_of takes a list of steps, not 'a'"),
    ("calls: [{name: {$in: [a, b]}}]", 13, "'name' is the name of a tool, not {'$in': ['a', 'b']}"),
    ("calls: [{name: a, optional: true}]", 13, "'optional' goes around a call: {optional: {'name': 'a'}}"),
    (
        "calls: [{$in: [a, b]}]",
        13,
        "'$in' is a matcher, and a call begins with the name of its tool; for one of several",
    ),
    ("calls: [{name: a, nth: 1}]", 23, "'nth' has no place in a list of calls"),
    ("calls: [{a: {id: {$bind: s}}}]", 14, "$bind 's' is never used"),
    ("calls: [{a: {id: {$ref: s}}}]", 14, "$ref 's' is bound nowhere"),
    ("calls: [{a: {x: {$bind: s}}}, {b: {x: {$bind: s}}}]", 36, "$bind 's' is bound already, at expected[0].args"),
    ("calls: [{repeat: {a: {id: {$bind: s}}}}, {c: {id: {$ref: s}}}]", 23, "$bind 's' is in a repeat"),
    ("order: {criteria: [a], match: exact}", 28, "unknown setting 'match' of 'order'"),
    ("order: [[a, b]]", 13, "order[0]: a string is expected, not ['a', 'b']"),
    (
        "order: [a, {b: {x: 1}}]",
        16,
        "order[1]: the name of a tool is expected, not {'b': {'x': 1}}; to compare arguments as well, write "
        "calls: {expected: [...], match: in_order}",
    ),
    ("order: []", 5, "order: is empty; expect at least one"),
    ("args: {criteria: [a], args: superset}", 27, "arguments are compared as 'subset' or 'exact' here"),
    ("args: [{$in: [a, b]}]", 12, "'$in' is a matcher, and a call begins with the name of its tool"),
    ("args: [{a: 5}]", 13, "args[0].args: arguments are an object, not 5"),
    ("never: [{name: {$in: [a, b]}}]", 13, "'name' is the name of a tool, a string, not {'$in': ['a', 'b']}"),
    ("never: [{name: a, optional: true}]", 13, "'optional' is a word for steps of 'calls', around a call"),
    ("never: [{one_of: [a, b]}]", 13, "'one_of' is a word for steps of 'calls', and here are single calls"),
    ("never: [{any_order: [a, b]}]", 13, "'any_order' is a word for steps of 'calls', around a call"),
    ("never: {expected: [a], turn: any}", 28, "turn: a whole number is expected, not 'any'"),
    ("counts: {a: '=> 1'}", 14, "unknown operator '=>'; did you mean '>='?"),
    ("counts: {a: 3..1}", 14, "the range '3..1' is empty: 3 is more than 1"),
    ("counts: {a: -1}", 14, "a count is a whole number and not negative"),
    ("counts: {criteria: {a: 1}, tresholt: 1}", 32, "unknown setting 'tresholt' of 'counts'; did you mean 'threshold'"),
    ("outputs: [{a: 1, b: 2}]", 5, "an expected output is an object with one key, the tool's name"),
    ("output: {criteria: x, turn: first}", 27, "a turn is 'any', 'last' or a number from 0, not 'first'"),
    ("steps: few", 5, "a whole number is expected, and not less than 0, not 'few'"),
    ("rules: [{call: a}]", 13, "a rule has one of only_after, never_after"),
    ("rules: [{call: a, only_after: b, never_after: c}]", 38, "has only_after and never_after; write a rule for each"),
    ("rules: [{call: a, only_aftr: b}]", 23, "unknown key 'rules[0].only_aftr'; did you mean 'only_after'?"),
    ("rules: [{call: a, never_after: b, since: c}]", 39, "'since' belongs to 'only_after', not to 'never_after'"),
    ("rules: [{only_after: b}]", 13, "'call' is missing: which calls is 'only_after' about?"),
    ("rules: [{call: {optional: [a]}, at_most: 1}]", 14, "'optional' is a word of 'calls', and this is a rule"),
    ("rules: [{call: a, only_after: b, per: day}]", 38, "per: 'turn' or 'agent' is expected, not 'day'"),
]


@pytest.mark.parametrize(("expect", "column", "message"), MISTAKES, ids=[expect for expect, _, _ in MISTAKES])
def test_a_mistake_is_one_line_with_its_place_and_the_right_word(
    tmp_path: Path, expect: str, column: int, message: str
) -> None:
    path = tmp_path / "wrong.yaml"
    path.write_text(f"cases:\n- id: a\n  expect:\n    {expect}\n", encoding="utf-8")

    with pytest.raises(DocumentError) as caught:
        load_eval_set(path)

    said = str(caught.value)
    assert said.startswith(f"{path}:4:{column}: ")
    assert message in said
    assert "\n" not in said


def test_a_tool_that_is_called_like_a_word_can_be_named(tmp_path: Path) -> None:
    path = tmp_path / "right.yaml"
    path.write_text("cases:\n- {id: a, expect: {never: [{name: optional}, {name: name}, {name: {q: 1}}, one_of]}}\n")

    [case] = load_eval_set(path).cases

    assert [call.name for call in case.checks[0].criteria.never] == ["optional", "name", "name", "one_of"]
