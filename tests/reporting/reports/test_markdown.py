"""Markdown: the comment of a pull request."""

from html.parser import HTMLParser

import pytest
from cmarkgfm import github_flavored_markdown_to_html
from cmarkgfm.cmark import Options
from markdown_it import MarkdownIt
from markdown_it.token import Token
from tests.reporting.reports.reporting import HOSTILE, harmful, hostile_report, in_groups, obeyed, report, result
from tests.walls import for_each

from rightcall.reporting.changes import compare, sides_of
from rightcall.reporting.reports import Paper, Report, full_report, markdown_report

OURS = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline", "text", "code_inline"),
    *("bullet_list_open", "bullet_list_close", "list_item_open", "list_item_close", "strong_open", "strong_close"),
    "fence",
}
"""Everything that our Markdown is made of: no link, no image, no HTML."""


def written(made: Report) -> str:
    return "".join(markdown_report(made))


def tokens(text: str) -> list[Token]:
    """What the text is to a reader of Markdown."""
    found = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    return [inner for token in found for inner in (token, *(token.children or ()))]


def test_a_comment_has_totals_and_every_finding_with_its_place() -> None:
    made = report(result("good"), result("bad", "failed", "`pay` was never called"), result("unseen", "not_measured"))

    assert written(made) == (
        "### ❌ Rightcall: 1 passed, 1 failed, 1 not measured\n"
        "\n"
        "eval set `evals/shop.yaml` · agent `agent.py:answer` · run `8f2c` · 1.50s\n"
        "\n"
        "- `calls`: 1 passed, 1 failed, 1 not measured, mean score 0.750\n"
        "\n"
        "#### Not passed\n"
        "\n"
        "- ❌ `bad`: failed\n"
        "  - **`RC101`** `` `pay` was never called `` at `evals/shop.yaml:10:9`\n"
        "- ❔ `unseen`: not measured at `evals/shop.yaml:10:9`\n"
    )


def test_calls_in_groups_are_shown_as_the_terminal_shows_them() -> None:
    made = report(in_groups())

    [block] = [token for token in tokens(written(made)) if token.type == "fence"]
    lines = [line for line in block.content.splitlines() if line]
    assert "  |   ┌ any order, 1 of 2 made" in lines
    assert "  |   │ seats  −" in lines
    assert set(lines) <= set("".join(full_report(made, Paper())).splitlines())


def test_ten_cases_show_their_calls_and_the_others_their_findings() -> None:
    text = written(report(*[in_groups(f"trip-{number}") for number in range(12)]))

    assert text.count("```text") == 10
    assert text.count("RC101") == 12


@for_each("text", HOSTILE)
def test_no_call_ends_the_block_that_shows_it(text: str) -> None:
    made = written(report(in_groups("trip", text[:200], "```` # x")))

    assert {token.type for token in tokens(made)} <= {*OURS, "softbreak"}


def test_what_passed_needs_no_list() -> None:
    assert written(report(result("good"))).startswith("### ✅ Rightcall: 1 passed\n")
    assert "Not passed" not in written(report(result("good")))


def test_changes_against_a_baseline_come_before_the_findings_and_flips_first() -> None:
    before = [result("drifts", calls=["a"]), result("breaks", calls=["a", "b"]), result("old")]
    after = [result("drifts", calls=["a", "c"]), result("breaks", "failed", "no", calls=["b", "a"]), result("new")]

    text = "".join(markdown_report(report(*after), compare(sides_of(before), sides_of(after)), "main 1a2b"))

    assert text[text.index("#### Changed") :] == (
        "#### Changed against `main 1a2b`\n"
        "\n"
        "`passed` 3/3 → 2/3 · `calls` 1.000 → 0.833 · `calls/case` 1.0 → 1.3\n"
        "\n"
        "- ✅→❌ `breaks`: passed → failed, `calls 1.00 → 0.50 · a ⇄ b`\n"
        "- ✅ `drifts`: passed on both, `+c`\n"
        "- `old`: only in the baseline, passed\n"
        "- `new`: only in this run, passed\n"
        "\n"
        "#### Not passed\n"
        "\n"
        "- ❌ `breaks`: failed\n"
        "  - **`RC101`** `no` at `evals/shop.yaml:10:9`\n"
    )


def test_a_run_like_its_baseline_says_so() -> None:
    same = [result("a", calls=["x"])]

    text = "".join(markdown_report(report(*same), compare(sides_of(same), sides_of(same))))

    assert text.endswith("Every case is as it was.\n")


@for_each("text", HOSTILE)
def test_whatever_is_said_stays_code(text: str) -> None:
    made = hostile_report(text)
    other = [result(text, calls=[text[:90], "b"])]
    comparison = compare(sides_of(other), sides_of(made.results()))

    comment = "".join(markdown_report(made, comparison, text))

    found = tokens(comment)
    assert {token.type for token in found} <= OURS
    assert not [token.content for token in found if token.type == "text" and set(token.content) & set("@|<[#\\`")]
    assert len([token for token in found if token.type == "heading_open"]) == 3
    assert harmful(comment) == set()
    assert obeyed(comment) == []
    assert len(comment.encode()) < 65_536


@pytest.mark.parametrize("text", ["a`b", "``", "a\\", "|", "<b>", "@x", "a  b", "`a`", "[x](y)", " lead", "#1"])
def test_code_shows_the_text_as_it_is(text: str) -> None:
    shown = [token.content for token in tokens(written(report(result(text, "failed")))) if token.type == "code_inline"]

    assert text in shown


def test_a_large_run_fits_a_comment_and_says_what_is_left_out() -> None:
    before = [result(f"case_{n}", calls=["a"]) for n in range(1_000)]
    after = [result(f"case_{n}", "failed", *["é" * 300] * 5, calls=["b"]) for n in range(1_000)]

    text = "".join(markdown_report(report(*after), compare(sides_of(before), sides_of(after)), "main"))

    assert 60_000 < len(text.encode()) <= 65_536
    assert " more changed cases\n" in text
    assert text.endswith(" more results that did not pass\n")
    assert text.count("- ✅→❌") > 100


@for_each("text", HOSTILE)
def test_github_renders_nothing_but_what_is_ours(text: str) -> None:
    """By the parser that GitHub uses, which is told to leave HTML alone."""
    page = _Page()
    page.feed(github_flavored_markdown_to_html(written(hostile_report(text)), Options.CMARK_OPT_UNSAFE))

    assert page.tags <= {"h3", "h4", "p", "ul", "li", "strong", "code"}
    assert not page.attributes


class _Page(HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes += attrs
