"""Pictures of the main screens, for the README and the documentation: `make screenshots`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page
from tests.browser.browsers import lacking, started_browser
from tests.browser.serving import Viewer
from tests.processes import rightcall

from rightcall.reporting.pages import case_key
from rightcall.reporting.store import list_runs

_WIDTH = 1120
_MOST_BYTES = 150_000
_MENDED = ("quantity = 1  #", "quantity = _wanted(text)  #")
_HASTY = (
    'if check_inventory(product_id=product_id)["in_stock"]',
    'if "reserve" in text or check_inventory(product_id)',
)


def main(folder: Path) -> None:
    """Take every picture anew."""
    if reason := lacking():
        sys.exit(f"no pictures: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, started_browser() as browser:
        project = Path(made) / "shop"
        write_runs(project)
        take_pages(browser, project, folder)
    for made_picture in sorted(folder.glob("*.png")):
        size = made_picture.stat().st_size
        print(f"{made_picture}  {size:,} bytes")
        assert size <= _MOST_BYTES, f"{made_picture} is larger than {_MOST_BYTES:,} bytes"


def write_runs(project: Path) -> None:
    """A new project, and its runs: two that pass, one of a hasty agent, and one with the mistake it came with."""
    rightcall("init", str(project))
    agent = project / "shop_agent.py"
    written = agent.read_text(encoding="utf-8").replace("import re\n", "import re\nimport time\n")
    for name, seconds in (("search_products", 0.21), ("check_inventory", 0.08), ("reserve_item", 0.13)):
        begin, body, rest = written.partition(f"def {name}(")
        documented, end, code = rest.partition('."""\n')
        written = f"{begin}{body}{documented}{end}    time.sleep({seconds})\n{code}"
    changed: tuple[tuple[str, list[tuple[str, str]]], ...] = (
        ("main", [_MENDED]),
        ("main", [_MENDED]),
        ("new-prompt", [_HASTY]),
        ("new-prompt", []),
    )
    for number, (branch, edits) in enumerate(changed):
        text = written
        for before, after in edits:
            text = text.replace(before, after)
        agent.write_text(text, encoding="utf-8")
        (project / ".git" / "refs" / "heads").mkdir(parents=True, exist_ok=True)
        (project / ".git" / "HEAD").write_text(f"ref: refs/heads/{branch}\n", encoding="ascii")
        (project / ".git" / "refs" / "heads" / branch).write_text(f"{number + 11}f3c97b20".ljust(40, "e"), "ascii")
        rightcall("run", "--workers=1", cwd=project)


def take_pages(browser: Browser, project: Path, folder: Path) -> None:
    """Pictures of the first screens of pages."""
    _, passing, hasty, last = [each.name for each in list_runs(project / ".rightcall" / "runs")]
    case = f"/runs/{last}/cases/{case_key('reserve_two')}"
    rightcall("report", hasty, "--format=html=report.html", cwd=project)
    viewer = Viewer(Path(".rightcall") / "runs", cwd=project)
    screens: list[tuple[str, str, dict[str, Any]]] = [
        ("runs", f"{viewer.url}/", {"viewport": {"width": _WIDTH, "height": 580}}),
        ("run", f"{viewer.url}/runs/{hasty}", {"viewport": {"width": _WIDTH, "height": 860}}),
        ("case", viewer.url + case, {"viewport": {"width": _WIDTH, "height": 760}}),
        ("case-dark", viewer.url + case, {"viewport": {"width": _WIDTH, "height": 760}, "color_scheme": "dark"}),
        ("compare", f"{viewer.url}/compare?a={passing}&b={hasty}", {"viewport": {"width": _WIDTH, "height": 640}}),
        ("one-file", (project / "report.html").as_uri(), {"viewport": {"width": 390, "height": 760}}),
    ]
    try:
        for name, url, options in screens:
            picture(browser, folder / f"{name}.png", lambda page, url=url: page.goto(url), **options)  # type: ignore[misc]
    finally:
        viewer.close()


def picture(browser: Browser, file: Path, show: Callable[[Page], object], whole: str = "", **options: Any) -> None:
    """A picture of a page, or of all of one element of it."""
    context = browser.new_context(timezone_id="UTC", locale="en-GB", **options)
    page = context.new_page()
    show(page)
    if whole:
        page.locator(whole).screenshot(path=file)
    else:
        page.screenshot(path=file)
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
