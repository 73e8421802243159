"""Words of other tools and of everyday speech in an eval set: one line each, at its place, with the right word."""

from pathlib import Path

import pytest

from rightcall import DocumentError
from rightcall.cases.evalsets import load_eval_set

STEPS = [
    ("unordered: [a, b]", "11", "did you mean 'any_order'?"),
    ("parallel: [a, b]", "11", "did you mean 'at_once'?"),
    ("together: [a, b]", "11", "did you mean 'at_once'?"),
    ("maybe: a", "11", "did you mean 'optional'?"),
    ("either: [a, b]", "11", "did you mean 'one_of'?"),
    ("anyOf: [a, b]", "11", "did you mean 'one_of'?"),
    ("loop: [a, b]", "11", "did you mean 'repeat'?"),
    ("sequence: [a, b]", "11", "did you mean 'steps'?"),
    ("in_order: [a, b]", "11", "did you mean 'steps'?"),
    ("never: a", "11", "what must not be called is 'never', beside 'calls'"),
    ("disallowed: [a]", "11", "what must not be called is 'never', beside 'calls'"),
    ("maelstrom: [a]", "11", "a group is one of any_order, at_once, optional, one_of, repeat, steps"),
    ("{tool: search}", "12", "did you mean 'name'? The name alone will do: search"),
    ("{name: a, arguments: {q: 1}}", "21", "did you mean 'args'?"),
    ("{name: a, input: {q: 1}}", "21", "did you mean 'args'?"),
    ("{name: a, returns: 1}", "21", "did you mean 'output'?"),
    ("{name: a, success: true}", "21", "did you mean 'status'?"),
    ("{name: a, required: false}", "21", "put it into {optional: …}"),
    ("{name: a, times: 2}", "21", "put it into {repeat: …}"),
    ("{repeat: a, max: 2}", "23", "did you mean 'at_most'?"),
    ("{repeat: a, min: 2}", "23", "did you mean 'at_least'?"),
    ("{a: {q: {$var: s}}}", "16", "did you mean '$ref'?"),
    ("{a: {q: {$from: {tool: s}}}}", "20", "did you mean 'call'?"),
]
RULES = [
    ("{call: a, requires: b}", "21", "did you mean 'only_after'?"),
    ("{call: a, blocked_by: b}", "21", "did you mean 'never_after'?"),
    ("{call: a, then: b}", "21", "did you mean 'followed_by'?"),
    ("{call: a, immediately_before: b}", "21", "did you mean 'directly'?"),
    ("{call: a, max_calls: 1}", "21", "did you mean 'at_most'?"),
    ("{tool: a, only_after: b}", "12", "did you mean 'call'?"),
    ("{call: a, only_after: b, reason: x}", "36", "did you mean 'why'?"),
    ("{call: a, after: b}", "21", "did you mean 'only_after' or 'never_after'?"),
    ("{call: a, before: b}", "21", "write {call: b, only_after: a}"),
    ("{a: {only_after: b}}", "11", "write {call: a, only_after: …}"),
]
EXPECT = [
    ("calls: {any_order: [a, b]}", "7", "write [{any_order: …}]"),
    ("calls: {calls: [a]}", "7", "did you mean 'expected' instead of 'calls'?"),
    ("calls: a", "7", "write [a]"),
    ("calls: {expected: [a], allowsAdditionalToolCalls: true}", "30", "did you mean 'extra'?"),
    ("calls: {expected: [a], trajectory_match_mode: strict}", "30", "did you mean 'match'?"),
    ("tool_calls: [a]", "7", "did you mean 'calls'?"),
    ("milestones: [a]", "7", "did you mean 'calls'?"),
    ("minefields: [a]", "7", "did you mean 'never'?"),
    ("must_not_call: [a]", "7", "did you mean 'never'?"),
    ("policy: [{call: a, at_most: 1}]", "7", "did you mean 'rules'?"),
]
MISTAKES = [
    *[(f"calls:\n        - {written}", 5, column, said) for written, column, said in STEPS],
    *[(f"rules:\n        - {written}", 5, column, said) for written, column, said in RULES],
    *[(written, 4, column, said) for written, column, said in EXPECT],
]


@pytest.mark.parametrize(("written", "line", "column", "said"), MISTAKES)
def test_a_word_of_another_tool_names_ours(written: str, line: int, column: str, said: str, tmp_path: Path) -> None:
    path = tmp_path / "e.yaml"
    path.write_text(f"cases:\n  - id: a\n    expect:\n      {written}\n")

    with pytest.raises(DocumentError) as problem:
        load_eval_set(path)

    message = str(problem.value)
    assert message.startswith(f"{path}:{line}:{column}: ")
    assert said in message
    assert "\n" not in message
