"""What a browser is told to allow on a page: its own stylesheet and script, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Page
from tests.browser.checks import follow

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def test_every_page_comes_with_the_policy(page: Page, examples: Path, serve: Callable[[Path], str]) -> None:
    answer = page.goto(serve(examples / "runs"))

    assert answer is not None
    headers = answer.headers
    assert headers["content-security-policy"] == POLICY
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"
    assert not [name for name in headers if name.startswith("access-control-")]


def test_the_policy_stops_what_a_page_would_do_if_something_were_planted(
    watch_page: Page, examples: Path, serve: Callable[[Path], str]
) -> None:
    watch_page.goto(serve(examples / "runs"))

    watch_page.evaluate(
        """() => { const planted = document.createElement("script"); planted.textContent = "window.ran = true";
                   document.body.append(planted); document.body.insertAdjacentHTML("beforeend",
                   "<img src=x onerror='window.ran = true'><p style='color: red' id=styled>x</p>"); }"""
    )

    assert watch_page.evaluate("window.ran") is None
    assert watch_page.locator("#styled").evaluate("each => getComputedStyle(each).color") != "rgb(255, 0, 0)"


def test_another_site_cannot_frame_a_page(
    watch_page: Page, examples: Path, tmp_path: Path, serve: Callable[[Path], str]
) -> None:
    frame = tmp_path / "frame.html"
    frame.write_text(f"<!doctype html><title>x</title><iframe src='{serve(examples / 'runs')}/'></iframe>")

    watch_page.goto(frame.as_uri())

    assert "Runs" not in watch_page.frames[-1].content()


def test_a_link_from_another_site_asks_before_it_shows_anything(
    watch_page: Page, examples: Path, tmp_path: Path, serve: Callable[[Path], str]
) -> None:
    elsewhere = tmp_path / "chat.html"
    elsewhere.write_text(f"<!doctype html><title>x</title><a href='{serve(examples / 'runs')}/'>look</a>")
    watch_page.goto(elsewhere.as_uri())

    follow(watch_page.get_by_role("link"))
    assert watch_page.locator("table.runs").count() == 0

    follow(watch_page.locator("main").get_by_role("link"))
    assert watch_page.locator("table.runs").count() == 1
