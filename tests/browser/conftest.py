"""Pages in a real browser. Where there is none these tests are reported as not run; in CI that is a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.browsers import Watch, is_ci, lacking, started_browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if reason := lacking():
        report = pytest.fail if is_ci() else pytest.skip
        report(f"the browser tests were not run: {reason}")
    with started_browser() as started:
        yield started


@pytest.fixture
def watch(browser: Browser) -> Iterator[Watch]:
    """Pages that are watched; whoever asks for it looks at the troubles."""
    watched = Watch(browser)
    yield watched
    watched.close()


@pytest.fixture
def browse(watch: Watch) -> Iterator[Callable[..., Page]]:
    """Opens pages. The test fails if one of them logs an error, asks something, or asks another host for anything."""
    yield watch.open
    assert watch.troubles == []


@pytest.fixture
def page(browse: Callable[..., Page]) -> Page:
    """A page of a desktop's size, in a light scheme."""
    return browse()
