"""A page that says something instead of showing something: nothing here, not found, damaged."""

from __future__ import annotations

import msgspec

from ._environment import render
from ._links import Crumb, Links


class MessagePage(msgspec.Struct, frozen=True, kw_only=True):
    """A heading, sentences below it, and commands that help."""

    title: str
    sentences: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    trail: tuple[Crumb, ...] = ()
    is_running: bool = False


def message_html(page: MessagePage, links: Links) -> str:
    """A message as a page. Raises `MissingExtraError`."""
    return render("message.html", page, links)
