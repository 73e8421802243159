"""What the documentation site has beside its pages."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

from tools import site


def test_programs_find_a_list_of_all_pages_with_a_sentence_about_each(tmp_path: Path) -> None:
    markdown = "# Title\n\n```sh\nmake\n```\n\nReads [traces](a.md) as they are. And more.\n"
    site.on_page_markdown(markdown, page=SimpleNamespace(file=SimpleNamespace(src_uri="guides/read.md")))
    navigation = [{"Home": "index.md"}, {"Guides": [{"Read": "guides/read.md"}]}]

    site.on_post_build({"site_name": "R", "site_description": "D", "nav": navigation, "site_dir": str(tmp_path)})

    assert (tmp_path / "llms.txt").read_text() == (
        "# R\n\n> D\n\n## Begin\n\n- [Home](index.html): \n\n"
        "## Guides\n\n- [Read](guides/read.html): Reads traces as they are.\n"
    )
