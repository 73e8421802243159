"""Pictures of the main screens, for the README and the documentation: `make screenshots`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from io import StringIO
from pathlib import Path

from playwright.sync_api import Browser, Page
from tests.browser.browsers import lacking, started_browser
from tests.browser.runs import EXAMPLES, project_runs, write_example_runs
from tests.browser.serving import Viewer
from tests.processes import rightcall

from rightcall.pages import case_key
from rightcall.store import list_runs

_WINDOW = {"width": 1120, "height": 700}
_TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; background: #16181d; width: max-content }
pre { margin: 0; padding: 20px 24px; color: #d8dbe2; font: 14px/1.4 "DejaVu Sans Mono", Menlo, Consolas, monospace }
</style><pre>{code}</pre>"""
_MOST_BYTES = 150_000


def main(folder: Path) -> None:
    """Take every picture anew."""
    if reason := lacking():
        sys.exit(f"no pictures: {reason}")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, started_browser() as browser:
        examples = Path(made)
        write_example_runs(examples)
        take_terminal(browser, examples, folder / "terminal.png")
        take_one_file(browser, examples, folder / "one-file.png")
        viewer = Viewer(examples / "runs")
        try:
            for name, path, scheme in screens(examples):
                take(browser, viewer.url + path, folder / f"{name}.png", scheme)
        finally:
            viewer.close()
    for picture in sorted(folder.glob("*.png")):
        size = picture.stat().st_size
        print(f"{picture}  {size:,} bytes")
        assert size <= _MOST_BYTES, f"{picture} is larger than {_MOST_BYTES:,} bytes"


def screens(examples: Path) -> list[tuple[str, str, str]]:
    """The pictures of pages: their names, where the pages are, and in which light."""
    mended, _, run = project_runs(examples)
    shop = next(each for each in list_runs(examples / "runs") if "wrong_argument" in (each / "cases.jsonl").read_text())
    failing = f"/runs/{run.folder.name}/cases/{case_key('reserve_two')}"
    return [
        ("runs", "/", "light"),
        ("run", f"/runs/{shop.name}", "light"),
        ("case", failing, "light"),
        ("case-dark", failing, "dark"),
        ("compare", f"/compare?a={mended.folder.name}&b={run.folder.name}", "light"),
    ]


def take(browser: Browser, url: str, file: Path, scheme: str) -> None:
    """A picture of the first screen of a page."""
    picture(browser, file, lambda page: page.goto(url), color_scheme=scheme, viewport=_WINDOW)


def take_one_file(browser: Browser, examples: Path, file: Path) -> None:
    """A picture of the one-file report of the shopping agent, on a phone."""
    report = examples / "report.html"
    arguments = ["agent.py:answer", "evals/shop.yaml", f"--runs={examples / 'other'}", f"--format=html={report}"]
    rightcall("run", *arguments, cwd=EXAMPLES / "shopping_agent")
    phone = {"width": 390, "height": 760}
    picture(browser, file, lambda page: page.goto(report.as_uri()), viewport=phone)


def take_terminal(browser: Browser, examples: Path, file: Path) -> None:
    """A picture of what `rightcall run` says in a new project, on a terminal with colours."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI
    from rich.text import Text

    done = rightcall(
        "run", "--format=full", f"--runs={examples / 'other'}", cwd=examples / "shop", FORCE_COLOR="1", COLUMNS="96"
    )
    console = Console(record=True, width=96, file=StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text.from_ansi("$ rightcall run\n" + done.stdout.rstrip()))
    code = console.export_html(theme=MONOKAI, inline_styles=True, code_format="{code}")
    picture(browser, file, lambda page: page.set_content(_TERMINAL.replace("{code}", code)), whole="pre")


def picture(browser: Browser, file: Path, show: Callable[[Page], object], whole: str = "", **options: object) -> None:
    """A picture of a page, or of all of one element of it."""
    context = browser.new_context(timezone_id="UTC", locale="en-GB", **options)  # type: ignore[arg-type]
    page = context.new_page()
    show(page)
    if whole:
        page.locator(whole).screenshot(path=file)
    else:
        page.screenshot(path=file)
    context.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
