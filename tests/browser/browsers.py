"""A real browser whose pages are watched: what it needs, how it is started, what counts as trouble."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Dialog, Page, Request, expect, sync_playwright

AXE = Path(__file__).parents[2] / ".venv" / "axe" / "node_modules" / "axe-core" / "axe.min.js"
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_HOSTS = {"127.0.0.1", "localhost"}
_PATIENCE = 120_000
"""Milliseconds until something that should happen did not: much, for busy machines."""
_NOT_FOUND = "the server responded with a status of 404"
"""What a browser logs of a page that says that there is none."""
_LOCAL = {"about", "blob", "data", "file"}
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


class Watch:
    """Opens pages, and notes what must not happen on any of them."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._contexts: list[BrowserContext] = []
        self.troubles: list[str] = []

    def open(self, **options: Any) -> Page:
        """A new page in a context of its own, with these options of the context."""
        defaults = {"viewport": {"width": 1280, "height": 800}, "timezone_id": "UTC", "locale": "en-GB"}
        context = self._browser.new_context(**{**defaults, **options})
        context.set_default_timeout(_PATIENCE)
        self._contexts.append(context)
        context.on("request", self._requested)
        context.on("console", self._said)
        context.on("weberror", lambda error: self.troubles.append(f"error: {error.error}"))
        context.on("dialog", self._asked)
        return context.new_page()

    def close(self) -> None:
        for context in self._contexts:
            context.close()

    def _requested(self, request: Request) -> None:
        parts = urlsplit(request.url)
        if parts.scheme not in _LOCAL and parts.hostname not in _HOSTS:
            self.troubles.append(f"request: {request.url[:200]}")

    def _said(self, message: ConsoleMessage) -> None:
        is_of_page = message.page is not None and message.location["url"] == message.page.url
        if message.type in ("error", "warning") and not (is_of_page and _NOT_FOUND in message.text):
            self.troubles.append(f"console: {message.text[:500]}")

    def _asked(self, dialog: Dialog) -> None:
        self.troubles.append(f"dialog: {dialog.message[:200]}")
        dialog.dismiss()
