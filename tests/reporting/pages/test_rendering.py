"""What every page has, and what no template can forget."""

import re
from pathlib import Path

import pytest
from tests.reporting.pages.reading import Seen
from tests.reporting.reports.reporting import HOSTILE, harmful

import rightcall.reporting.pages
from rightcall.reporting.pages import Crumb, Links, MessagePage, message_html, policy, script, stylesheet

FOLDER = Path(rightcall.reporting.pages.__file__).parent
TEMPLATES = sorted((FOLDER / "templates").glob("*.html"))


def message(text: str, links: Links) -> str:
    page = MessagePage(title=text, sentences=(text,), commands=(text,), trail=(Crumb(text, "/"), Crumb(text)))
    return message_html(page, links)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_is_text_whatever_stands_in_it(text: str) -> None:
    tame, seen = Seen(message("tame", Links())), Seen(message(text, Links()))

    assert [tag for tag, _ in seen.elements] == [tag for tag, _ in tame.elements]
    assert not harmful(seen.text)


def test_a_page_has_one_heading_landmarks_a_way_past_the_header_and_the_crumbs() -> None:
    seen = Seen(message("Nothing here", Links()))

    assert [seen.count(tag) for tag in ("h1", "main", "header", "footer", "dialog")] == [1, 1, 1, 1, 1]
    assert ("a", {"class": "skip", "href": "#main"}) in seen.elements


def test_a_page_of_the_viewer_names_its_stylesheet_and_script_and_holds_neither() -> None:
    page = message("x", Links())

    assert Seen(page).count("style") == 0
    assert 'href="/style.css"' in page
    assert '<script src="/script.js" defer></script>' in page


def test_a_page_in_one_file_holds_both_and_a_policy_that_allows_these_two_only() -> None:
    page = message("x", Links(is_one_file=True))

    assert f"<style>{stylesheet()}</style>" in page
    assert f"<script>{script()}</script>" in page
    [allowed] = [attrs["content"] for tag, attrs in Seen(page).elements if "http-equiv" in attrs]
    assert allowed == policy()
    assert re.fullmatch(
        r"default-src 'none'; style-src 'sha256-[\w+/=]{44}'; script-src 'sha256-[\w+/=]{44}'; img-src data:; "
        r"base-uri 'none'; form-action 'none'",
        policy(),
    )


@pytest.mark.parametrize("path", TEMPLATES, ids=[path.name for path in TEMPLATES])
def test_no_template_turns_escaping_off_or_needs_what_the_policy_forbids(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert not re.search(r"\|\s*safe\b|autoescape|Markup", text)
    assert not re.search(r"\sstyle=|\son[a-z]+=|javascript:", text)
