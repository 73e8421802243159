"""Taking information out of a trace never makes a verdict pass, and never makes one fail.

Every recording of the corpus is held against expectations made from it, some of which hold and some of which do not;
then each kind of information is taken out, of the trajectory and of the file.
"""

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.cases.verdicts.removal import FIELDS, Rule, changed_documents, read_document, rules_for, verdicts_of, without
from tests.cases.verdicts.removal_search import broken as broken_by_search, rules_of, sources
from tests.reading import corpus
from tests.reading.talks import spans_that_waited
from tests.reading.traces import request
from tests.sampling import randomness, sample

from rightcall import Trajectory
from rightcall.judging import EVALUATORS

RECORDINGS = [run for run in corpus.names() if "otlp.json" in corpus.recordings()[run]]
SOURCES = sources()
TALKS = [name for name in SOURCES if name.endswith(("turns.json", "whole.json"))]
RUNS = [name for name in SOURCES if name not in TALKS]
WAITED = [spans_that_waited]
RULES = 40
"""Rules of each recording that are tried at a time."""
CHANGES = 6
"""Changes of each file that are tried; all of them in a search."""


WRONG = {("failed", "passed"), ("not_measured", "passed"), ("passed", "failed")}


def broken(before: list[str], after: list[str], rules: list[Rule]) -> list[tuple[str, str, Rule]]:
    """The verdicts that information which is not there any more has changed into a pass or a failure."""
    pairs = zip(before, after, rules, strict=True)
    return [(old, new, rule) for old, new, rule in pairs if (old, new) in WRONG or (new == "error") > (old == "error")]


def some_rules(made: Trajectory, run: str) -> list[Rule]:
    rules = rules_for(made)
    return randomness(run).sample(rules, min(RULES, len(rules)))


def document_of(run: str) -> Any:
    return json.loads(corpus.recordings()[run]["otlp.json"])


@pytest.mark.corpus
@pytest.mark.parametrize("run", sample(RECORDINGS, "trajectories", 40))
def test_what_is_taken_out_of_calls_makes_no_verdict(run: str) -> None:
    for made in read_document(document_of(run)) or ():
        rules = some_rules(made, run)
        before = verdicts_of(made, rules)
        for kind in FIELDS:
            for chosen in (lambda place: True, lambda place: place % 2 == 0, lambda place: place == 1):
                after = verdicts_of(without(made, kind, chosen), rules)

                assert broken(before, after, rules) == [], kind


def test_calls_whose_outputs_are_taken_out_are_of_the_agents_that_they_were_of() -> None:
    document = document_of("langgraph-dup-oi+openllmetry/nested")
    [changed] = [changed for change, changed in changed_documents(document) if change == "outputs"]

    [before], [after] = read_document(document) or [], read_document(changed) or []

    assert [call.agent for call in after.calls] == [call.agent for call in before.calls]


@pytest.mark.corpus
@pytest.mark.parametrize("run", sample(RECORDINGS, "files", 40))
def test_what_is_taken_out_of_a_file_makes_no_verdict(run: str) -> None:
    document = document_of(run)
    [made] = read_document(document) or []
    rules = some_rules(made, run)
    before = verdicts_of(made, rules)
    for change, changed in sample(list(changed_documents(document)), run, CHANGES):
        read = read_document(changed)
        if read is None or len(read) != 1:
            continue  # what belongs together is not known any more: there is no trajectory of the run to be judged
        after = verdicts_of(read[0], rules)

        assert broken(before, after, rules) == [], change


@pytest.mark.corpus
@pytest.mark.parametrize("name", [*sample(RUNS, "runs", 20), *sample(TALKS, "talks", 6)])
def test_what_a_recording_may_lose_makes_no_verdict_pass(name: str) -> None:
    assert broken_by_search(name, SOURCES[name], randomness(name), rules=40, changes=5) == []


@pytest.mark.parametrize("made", WAITED)
def test_what_a_run_that_waited_for_a_person_may_lose_makes_no_verdict_pass(made: Callable[[], list[Any]]) -> None:
    data = json.dumps(request(*made())).encode()

    assert broken_by_search(made.__name__, data, randomness(made.__name__), rules=400, changes=200) == []


def test_the_search_asks_every_evaluator_that_asks_no_model() -> None:
    [made] = read_document(document_of("langgraph-openinference/trip-react")) or []

    rules = rules_of(made, randomness("evaluators"), 400)

    assert {kind for kind, _, _ in rules} == {kind for kind in EVALUATORS if not kind.startswith("llm-judge-")}
    verdicts = verdicts_of(made, rules)
    assert min(verdicts.count("passed"), verdicts.count("failed")) > 50
    assert "not_measured" in verdicts
    assert "error" not in verdicts


def test_expectations_of_a_recording_hold_and_fail() -> None:
    [made] = read_document(document_of("langgraph-openinference/trip-react")) or []

    verdicts = verdicts_of(made, rules_for(made))

    assert verdicts.count("passed") > 50
    assert verdicts.count("failed") > 50
    assert "error" not in verdicts
