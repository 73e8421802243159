"""A hook of mkdocs: `llms.txt`, the list of all pages with a sentence about each, for programs that read documents.

The form is that of https://llmstxt.org: a title, a sentence, and a list of links in each section of the navigation.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_TAG = re.compile(r"<[^>]+>")
_sentences: dict[str, str] = {}


def on_page_markdown(markdown: str, page: Any, **_: Any) -> None:
    """Remember the first sentence of a page."""
    _sentences[page.file.src_uri] = first_sentence(markdown)


def on_post_build(config: Any, **_: Any) -> None:
    """Write the list beside the pages."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    sections: dict[str, list[tuple[str, str]]] = {}
    for section in config["nav"]:
        for title, pages in section.items():
            entries = [{title: pages}] if isinstance(pages, str) else pages
            held = sections.setdefault("Begin" if isinstance(pages, str) else title, [])
            held += [pair for entry in entries for pair in entry.items()]
    for title, entries in sections.items():
        lines += ["", f"## {title}", ""]
        for name, source in entries:
            lines.append(f"- [{name}]({Path(source).with_suffix('.html').as_posix()}): {_sentences.get(source, '')}")
    Path(config["site_dir"], "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def first_sentence(markdown: str) -> str:
    """Return the first sentence of a page's first paragraph, without marks."""
    text = _FENCE.sub("", markdown)
    for paragraph in re.split(r"\n\s*\n", text):
        plain = " ".join(_TAG.sub("", _LINK.sub(r"\1", paragraph)).split())
        if plain and plain[0].isalnum() and not paragraph.lstrip().startswith(("#", "|", "-", "!", "$")):
            return re.split(r"(?<=[.?!:])\s", plain)[0].rstrip(":")
    return ""
