"""Annotations and the summary of a step, as GitHub Actions takes them."""

import re

import pytest
from tests.reporting.reports.reporting import HOSTILE, harmful, hostile_report, named, obeyed, report, result

from rightcall.reporting.reports import Report, github_report, github_summary
from rightcall.values.results import Source

COMMAND = re.compile(r"::(error|warning) (?:file=([^:,]*),line=(\d+),col=(\d+),)?title=([^:,]*)::(.*)")


def annotations(made: Report) -> list[tuple[str, ...]]:
    """The commands, taken apart; every line is one."""
    found = []
    for line in "".join(github_report(made)).split("\n")[:-1]:
        command = COMMAND.fullmatch(line)
        assert command is not None, line
        found.append(tuple(command.groups()))
    return found


def test_a_finding_is_an_annotation_of_its_line() -> None:
    made = report(
        result("good"),
        result("bad", "failed", "100% wrong", source=Source("evals/a,b:c.yaml", 3, 7)),
        result("unseen", "not_measured", repeat=1),
    )

    assert "".join(github_report(made)) == (
        "::error file=evals/a%2Cb%3Ac.yaml,line=3,col=7,title=RC101 bad::100%25 wrong\n"
        "::warning file=evals/shop.yaml,line=10,col=9,title=unseen (repeat 2)::not measured\n"
    )


def test_there_are_never_more_than_github_shows_and_every_case_has_its_turn() -> None:
    made = report(*[result(f"case_{n}", "failed", "first", "second") for n in range(1_000)])

    found = annotations(made)

    assert [each[5] for each in found] == ["first"] * 9 + ["and 1,991 more findings like these"]
    assert [each[4] for each in found[:3]] == ["RC101 case_0", "RC101 case_1", "RC101 case_2"]


def test_ten_are_ten() -> None:
    found = annotations(
        report(*[result(f"case_{n}", "error", "no") for n in range(5)], result("x", "failed", *"abcde"))
    )

    assert [each[5] for each in found] == ["no"] * 5 + list("abcde")


@pytest.mark.parametrize("text", HOSTILE, ids=named)
def test_nothing_but_our_own_commands_is_printed(text: str) -> None:
    made = hostile_report(text)

    found = annotations(made)

    assert [each[0] for each in found] == ["error"] * 4 + ["warning"] * 2
    assert max(len(line.encode()) for line in github_report(made)) < 10_000
    assert harmful("".join(github_report(made))) == set()
    assert obeyed("".join(github_summary(made))) == []


def test_the_summary_is_no_larger_than_github_takes() -> None:
    made = report(*[result(f"case_{n}", "failed", *["漢" * 1_000] * 5) for n in range(1_000)])

    text = "".join(github_summary(made))

    assert 1_000_000 < len(text.encode()) <= 1024 * 1024
    assert re.search(r"\n… and \d{3} more results that did not pass\n$", text)
