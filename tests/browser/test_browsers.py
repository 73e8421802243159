"""The watch over pages sees what it is there to see, and what is lacking is told."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Error
from tests.browser import browsers
from tests.browser.browsers import Pages, Watch, is_ci, lacking
from tests.waiting import PATIENCE


@pytest.mark.parametrize(
    ("body", "trouble"),
    [
        ("<script>console.error('bad')</script>", "console: bad"),
        ("<script>throw new Error('worse')</script>", "error: worse"),
        ("<script>alert(1)</script>", "dialog: 1"),
        ("<img src='http://elsewhere.example/x.png'>", "request: http://elsewhere.example/x.png"),
        (
            "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\"><p style='color:red'>",
            "console: Applying inline style violates",
        ),
    ],
    ids=["console", "error", "dialog", "request", "policy"],
)
def test_the_watch_sees(watch: Watch, tmp_path: Path, body: str, trouble: str) -> None:
    (tmp_path / "page.html").write_text(f"<!doctype html><title>x</title>{body}", encoding="utf-8")

    watch.open().goto((tmp_path / "page.html").as_uri())

    assert [each for each in watch.troubles if each.startswith(trouble)]


@pytest.mark.parametrize("keep", ["document.cookie = 'a=b; max-age=600'", "localStorage.a = 1", "sessionStorage.a = 1"])
def test_a_page_that_keeps_something_is_not_lent_again(
    pages: Pages, serve: Callable[[Path], str], tmp_path: Path, keep: str
) -> None:
    page = pages.lend()
    page.goto(serve(tmp_path))
    page.evaluate(keep)

    pages.take_back(page)

    assert page.is_closed()


def test_a_page_is_lent_again_as_large_and_as_light_as_a_new_one(
    pages: Pages, serve: Callable[[Path], str], tmp_path: Path
) -> None:
    one, other = pages.lend(), pages.lend()
    assert one is not other
    one.goto(serve(tmp_path))
    one.set_viewport_size({"width": 360, "height": 600})
    one.emulate_media(media="print", color_scheme="dark")
    pages.take_back(one)

    again = pages.lend()

    assert again is one
    assert again.viewport_size == {"width": 1280, "height": 800}
    for query in ("screen", "(prefers-color-scheme: light)", "(width: 1280px)"):
        assert again.evaluate("(query) => matchMedia(query).matches", query), query
    pages.take_back(again)
    pages.take_back(other)


def test_the_browser_reaches_no_other_host(watch: Watch) -> None:
    with pytest.raises(Error, match="ERR_NAME_NOT_RESOLVED"):
        watch.open().goto("http://elsewhere.example/")


def test_what_is_lacking_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("RIGHTCALL_BROWSER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "no browser was found" in lacking()

    monkeypatch.setenv("RIGHTCALL_BROWSER", "/bin/true")
    monkeypatch.setattr(browsers, "AXE", tmp_path / "axe.min.js")
    assert "axe-core was not found" in lacking()

    (tmp_path / "axe.min.js").touch()
    assert lacking() == ""


@pytest.mark.parametrize(("value", "is_set"), [("true", True), ("1", True), ("", False), ("false", False)])
def test_ci_is_what_the_environment_says(monkeypatch: pytest.MonkeyPatch, value: str, is_set: bool) -> None:
    monkeypatch.setenv("CI", value)

    assert is_ci() == is_set


@pytest.mark.parametrize(("ci", "code", "told"), [("", 0, "SKIPPED"), ("true", 1, "ERROR")])
def test_without_a_browser_these_tests_are_not_run_and_in_ci_that_is_a_failure(
    tmp_path: Path, ci: str, code: int, told: str
) -> None:
    kept = {name: value for name, value in os.environ.items() if name != "RIGHTCALL_BROWSER"}
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-k", "no_other_host", __file__]

    done = subprocess.run(
        command, capture_output=True, text=True, timeout=PATIENCE, env={**kept, "PATH": str(tmp_path), "CI": ci}
    )

    assert done.returncode == code
    assert told in done.stdout
    assert "the browser tests were not run: no browser was found" in done.stdout
