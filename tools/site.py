"""Hooks of mkdocs: screens of commands in their colours, and `llms.txt`, a list of all pages for programs.

The colours are what the commands print (`make reference`, checked by `tests/docs`). The form of `llms.txt` is that of
https://llmstxt.org: a title, a sentence, and a list of links in each section of the navigation.
"""

from __future__ import annotations

import html
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

_FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\([^)]*\)")
_TAG = re.compile(r"<[^>]+>")
_SCREEN = re.compile(r"^```(?:console|terminal)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COLOURS = Path(__file__).with_name("colours.json")
_sentences: dict[str, str] = {}


def on_files(files: Any, config: Any, **_: Any) -> Any:
    """Add the pages of the Python interface, which are made of docstrings."""
    sys.path.insert(0, str(Path(__file__).parents[1]))  # mkdocs loads this file by its path
    from tools.api_pages import pages

    kind: Any = type(next(iter(files)))
    for name, text in pages().items():
        files.append(kind.generated(config, f"reference/api/{name}", content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Remember the first sentence of a page, and put the colours of its screens in."""
    _sentences[page.file.src_uri] = first_sentence(markdown)
    colours = json.loads(_COLOURS.read_text(encoding="utf-8"))
    return _SCREEN.sub(lambda found: screen_html(found[1], colours), markdown)


def screen_html(text: str, colours: dict[str, list[list[Any]]]) -> str:
    """Return a command and what it prints as HTML: the prompt, the command, and lines in their colours.

    The classes `gp` and `go` are Pygments' for a prompt and for output.
    """
    command, *lines = text.rstrip("\n").split("\n")
    spans: dict[int, list[tuple[int, int, str]]] = {}
    for number, begin, end, style in colours.get(command, []):
        spans.setdefault(number, []).append((begin, end, style))
    shown = [f'<span class="gp">$ </span><span class="cmd">{html.escape(command.removeprefix("$ "))}</span>']
    shown += [f'<span class="go">{"".join(_pieces(line, spans.get(n, [])))}</span>' for n, line in enumerate(lines)]
    return '<div class="highlight screen"><pre><code>' + "\n".join(shown) + "\n</code></pre></div>"


def _pieces(line: str, spans: list[tuple[int, int, str]]) -> Iterator[str]:
    at = 0
    for begin, end, style in spans:
        yield html.escape(line[at:begin], quote=False)
        yield f'<span class="t-{style.replace(" ", " t-")}">{html.escape(line[begin:end], quote=False)}</span>'
        at = max(at, end)
    yield html.escape(line[at:], quote=False)


def on_post_build(config: Any, **_: Any) -> None:
    """Write the list beside the pages."""
    lines = [f"# {config['site_name']}", "", f"> {config['site_description']}"]
    sections: dict[str, list[tuple[str, str]]] = {}
    for section in config["nav"]:
        for title, pages in section.items():
            sections.setdefault("Begin" if isinstance(pages, str) else title, []).extend(_entries(title, pages))
    for title, entries in sections.items():
        lines += ["", f"## {title}", ""]
        for name, source in entries:
            lines.append(f"- [{name}]({Path(source).with_suffix('.html').as_posix()}): {_sentences.get(source, '')}")
    Path(config["site_dir"], "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _entries(title: str, pages: Any) -> Iterator[tuple[str, str]]:
    """Yield the titles and files of a part of the navigation, with all parts inside it."""
    if isinstance(pages, str):
        yield title, pages
        return
    for entry in pages:
        for name, inside in entry.items():
            yield from _entries(name, inside)


def first_sentence(markdown: str) -> str:
    """Return the first sentence of a page's first paragraph, without marks."""
    text = _FENCE.sub("", markdown)
    for paragraph in re.split(r"\n\s*\n", text):
        plain = " ".join(_TAG.sub("", _LINK.sub(r"\1", paragraph)).split())
        if plain and plain[0].isalnum() and not paragraph.lstrip().startswith(("#", "|", "-", "!", "$")):
            return re.split(r"(?<=[.?!:])\s", plain)[0].rstrip(":")
    return ""
