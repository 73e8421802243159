"""A real browser whose pages are watched: what it needs, how it is started, what counts as trouble."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Error, Page, Request, WebError, expect, sync_playwright

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_HOSTS = {"127.0.0.1", "localhost"}
_PATIENCE = 120_000
"""Milliseconds until something that should happen did not: much, for busy machines."""
_NOT_FOUND = "the server responded with a status of 404"
"""What a browser logs of a page that says that there is none."""
_LOCAL = {"about", "blob", "data", "file"}
_KEPT = "() => { try { return localStorage.length + sessionStorage.length } catch { return 0 } }"
"""How many items a page keeps; where it has no storage, none."""
_ARGUMENTS = [
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-quic",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
    "--no-first-run",
]


def find_browser() -> str | None:
    """The program of a browser: the one that RIGHTCALL_BROWSER names, or the first one there is."""
    named = os.environ.get("RIGHTCALL_BROWSER")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


def lacking() -> str:
    """What the browser tests lack, in a sentence; nothing where they can be run."""
    if find_browser() is None:
        return "no browser was found: install Debian's chromium, or name another in RIGHTCALL_BROWSER"
    if not AXE.is_file():
        return "axe-core was not found: `make test` installs it where there is npm"
    return ""


def is_ci() -> bool:
    """Whether what cannot be tested here is tested nowhere."""
    return os.environ.get("CI", "").lower() not in ("", "0", "false", "no")


@contextmanager
def started_browser() -> Iterator[Browser]:
    """A browser, until the end of the block.

    While it runs, the thread has a running event loop, so no other test may use asyncio meanwhile.
    """
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_browser(), args=_ARGUMENTS, chromium_sandbox=os.geteuid() != 0, headless=True
        )
        yield browser
        browser.close()


class Pages:
    """Pages of a browser, lent to one test after another that wants the same options.

    A page in a new context takes 1.3 s of CPU, most of it for the start of a process that draws it; another address on
    a page that is there takes 0.2 s. A page at which something is kept (a cookie, an item of a storage) is closed.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._free: list[tuple[dict[str, Any], Page]] = []
        self._lent: list[tuple[dict[str, Any], Page]] = []

    def lend(self, **options: Any) -> Page:
        """A page with these options of its context, as large and as light as a new one."""
        size = options.pop("viewport", {"width": 1280, "height": 800})
        scheme = options.pop("color_scheme", "light")
        found = next((each for each in self._free if each[0] == options), None)
        if found is None:
            found = (options, self._new(options))
        else:
            self._free.remove(found)
        self._lent.append(found)
        page = found[1]
        page.set_viewport_size(size)
        page.emulate_media(media="null", color_scheme=scheme)
        page.mouse.move(0, 0)  # or what is there now looks as if it were pointed at
        return page

    def take_back(self, page: Page) -> None:
        """Close what was opened beside the page, and the page too unless it may be lent again."""
        found = next(each for each in self._lent if each[1] is page)
        self._lent.remove(found)
        for other in page.context.pages:
            if other is not page:
                other.close()
        if _is_as_new(page):
            self._free.append(found)
        else:
            page.context.close()

    def _new(self, options: dict[str, Any]) -> Page:
        context = self._browser.new_context(timezone_id="UTC", locale="en-GB", **options)
        context.set_default_timeout(_PATIENCE)
        return context.new_page()


def _is_as_new(page: Page) -> bool:
    """Whether nothing is kept at a page, and it stands still."""
    if page.context.cookies():
        return False
    try:
        return bool(page.evaluate(_KEPT) == 0)
    except Error:  # it is closed, has crashed, or is on its way to another page
        return False


class Watch:
    """Opens pages, and notes what must not happen on any of them."""

    def __init__(self, pages: Pages) -> None:
        self._pages = pages
        self._open: list[Page] = []
        self.troubles: list[str] = []

    def open(self, **options: Any) -> Page:
        """A page that no other test has, with these options of its context."""
        page = self._pages.lend(**options)
        self._open.append(page)
        for event, note in self._noted.items():
            page.context.on(event, note)  # type: ignore[call-overload]
        return page

    def close(self) -> None:
        for page in self._open:
            for event, note in self._noted.items():
                page.context.remove_listener(event, note)
            self._pages.take_back(page)

    @property
    def _noted(self) -> dict[str, Callable[[Any], None]]:
        return {"request": self._requested, "console": self._said, "weberror": self._failed, "dialog": self._asked}

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in _LOCAL and parts.hostname not in _HOSTS:
            self.troubles.append(f"request: {request.url[:200]}")

    def _said(self, message: ConsoleMessage) -> None:
        is_of_page = message.page is not None and message.location["url"] == message.page.url
        if message.type in ("error", "warning") and not (is_of_page and _NOT_FOUND in message.text):
            self.troubles.append(f"console: {message.text[:500]}")

    def _failed(self, error: WebError) -> None:
        self.troubles.append(f"error: {error.error}")

    def _asked(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message[:200]}")
        dialog.dismiss()
