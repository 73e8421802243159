"""What the documentation site has beside its pages."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from tools import site


def test_programs_find_a_list_of_all_pages_with_a_sentence_about_each(tmp_path: Path) -> None:
    markdown = "# Title\n\n```sh\nmake\n```\n\nReads [traces](a.md) as they are. And more.\n"
    kept = site.on_page_markdown(markdown, page=SimpleNamespace(file=SimpleNamespace(src_uri="guides/read.md")))
    navigation = [{"Home": "index.md"}, {"Guides": [{"Read": "guides/read.md"}]}]

    site.on_post_build({"site_name": "R", "site_description": "D", "nav": navigation, "site_dir": str(tmp_path)})

    assert kept == markdown
    assert (tmp_path / "llms.txt").read_text() == (
        "# R\n\n> D\n\n## Begin\n\n- [Home](index.html): \n\n"
        "## Guides\n\n- [Read](guides/read.html): Reads traces as they are.\n"
    )


def test_a_screen_has_the_colours_of_the_command_and_no_markup_of_its_own() -> None:
    colours = {"$ rightcall show x": [[0, 2, 5, "b red"]]}

    made = site.screen_html("$ rightcall show x\na <b>&amp;\n", colours)

    assert made == (
        '<div class="highlight screen"><pre><code><span class="gp">$ </span><span class="cmd">rightcall show x</span>\n'
        '<span class="go">a <span class="t-b t-red">&lt;b&gt;</span>&amp;amp;</span>\n</code></pre></div>'
    )


def test_pages_inside_of_parts_of_the_navigation_are_listed(tmp_path: Path) -> None:
    navigation = [{"Guides": [{"Start": [{"Read": "guides/read.md"}]}]}]

    site.on_post_build({"site_name": "R", "site_description": "D", "nav": navigation, "site_dir": str(tmp_path)})

    assert "## Guides\n\n- [Read](guides/read.html)" in (tmp_path / "llms.txt").read_text()
