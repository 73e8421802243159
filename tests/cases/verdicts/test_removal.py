"""Taking information out of a trace never makes a verdict pass, and never makes one fail.

Every recording of the corpus is held against expectations made from it, some of which hold and some of which do not;
then each kind of information is taken out, of the trajectory and of the file.
"""

import json
import re
from typing import Any, NamedTuple

import pytest
from tests.cases.verdicts.removal import FIELDS, Rule, changed_documents, read_document, rules_for, verdicts_of, without
from tests.reading import corpus
from tests.sampling import randomness, sample

from rightcall import Trajectory

RECORDINGS = [run for run in corpus.names() if "otlp.json" in corpus.recordings()[run]]
RULES = 40
"""Rules of each recording that are tried at a time."""
CHANGES = 6
"""Changes of each file that are tried; all of them in a search."""


class Known(NamedTuple):
    """Verdicts that may change, by patterns of the change, the recording, the rule and the verdict before, and why."""

    change: str
    run: str
    rule: str
    before: str
    why: str


KNOWN = [
    Known(
        "attribute .*(tool.?name|toolCall.name|function.name|tool_calls?.*name)",
        "",
        "",
        "",
        "the name of a tool itself: a span that has lost it is known by its own name, which is another one",
    ),
    Known(
        "kinds|.*times|parents|ids of spans|attribute .*(kind|operation.name)",
        "dup",
        "",
        "",
        "two instrumentations of the same calls: what shows that two spans are one call is gone, so there are two",
    ),
    Known(
        "parents|ids of spans|kinds|attribute .*(toolCall.*|operation.name|kind)",
        "",
        "top_level",
        "",
        "a span without a parent, or whose parent is not a tool any more, is on the top level",
    ),
    Known(
        ".*",
        "",
        "any_order",
        "not_measured",
        "readers ask messages for groups only where spans lack something, so groups may be known from less",
    ),
    Known(
        "kinds|attribute (.*kind|.*operation.name|output.value)",
        "openllmetry|openinference|google-adk|strands",
        "",
        "",
        "without it a span is read by another convention, which does not take the wrapping off values",
    ),
    Known(
        "outputs|agents",
        "google-adk",
        "tool-call-output",
        "",
        "the same: what is left of an output is its wrapping in a message",
    ),
    Known(
        "kinds|attribute .*operation.name",
        "anthropic-tool-runner",
        "tool-error-rate|retries",
        "",
        "that a call failed stands in its span only; messages have the text of its result",
    ),
    Known(
        "parents|ids of spans",
        "",
        "final-output",
        "",
        "where all spans are roots, the answer of the run is that of another span",
    ),
    Known(
        "parents|ids of spans",
        "",
        "any_order",
        "",
        "calls that overlapped under one span are a group: without parents there is one span more to be under",
    ),
    Known(
        "attribute (.*provider.name|.*system|events)",
        "",
        "",
        "",
        "what a convention is known by: the same as for kinds",
    ),
    Known(
        "attribute .*(error|exception|status).*",
        "",
        "tool-error-rate|retries|redundant-calls|loops|tool-call-output",
        "",
        "that a call failed is not among what may be taken out: a span without an error is one that went well",
    ),
    Known(
        "arguments",
        "raw-chat",
        "",
        "",
        "calls that only messages show: without arguments two of them are taken for one",
    ),
    Known(
        "attribute .*(tool_calls?|messages|completion|prompt).*",
        "raw-|langgraph",
        "",
        "",
        "calls that only messages show: a call whose message is not whole is found again, later, in another one",
    ),
]


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

        wrong = [each for each in broken(before, after, rules) if not is_known(change, run, each)]
        assert wrong == [], change


def is_known(change: str, run: str, wrong: tuple[str, str, Rule]) -> bool:
    before, _, rule = wrong
    return any(
        re.fullmatch(known.change, change)
        and re.search(known.run, run)
        and re.search(known.rule, " ".join(rule))
        and re.search(known.before, before)
        for known in KNOWN
    )


def test_expectations_of_a_recording_hold_and_fail() -> None:
    [made] = read_document(document_of("langgraph-openinference/trip-react")) or []

    verdicts = verdicts_of(made, rules_for(made))

    assert verdicts.count("passed") > 50
    assert verdicts.count("failed") > 50
    assert "error" not in verdicts
