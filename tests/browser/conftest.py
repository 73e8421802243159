"""Pages in a real browser. Where there is none these tests are reported as not run; in CI that is a failure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copytree

import pytest
from playwright.sync_api import Browser, Page
from tests.browser.browsers import Pages, Watch, is_ci, lacking, started_browser
from tests.browser.runs import made_once, write_example_runs, write_large_run
from tests.browser.serving import Viewer
from tests.browser.support import write_support
from tests.hostile.results import write_hostile_runs


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    if reason := lacking():
        report = pytest.fail if is_ci() else pytest.skip
        report(f"the browser tests were not run: {reason}")
    with started_browser() as started:
        yield started


@pytest.fixture(scope="package")
def pages(browser: Browser) -> Pages:
    return Pages(browser)


@pytest.fixture
def watch(pages: Pages) -> Iterator[Watch]:
    """Pages that are watched; whoever asks for it looks at the troubles."""
    watched = Watch(pages)
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


@pytest.fixture
def watch_page(watch: Watch) -> Page:
    """A page on which something is expected to go wrong."""
    return watch.open()


@pytest.fixture(scope="package")
def serve(browser: Browser) -> Iterator[Callable[[Path], str]]:
    """Shows a folder of runs, and says where; the same viewer is used for the same folder."""
    viewers: dict[Path, Viewer] = {}

    def serve(runs: Path) -> str:
        if runs not in viewers:
            viewers[runs] = Viewer(runs)
        return viewers[runs].url

    yield serve
    for viewer in viewers.values():
        viewer.close()


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """A folder that all test processes have in common."""
    base = tmp_path_factory.getbasetemp()
    return base if worker_id == "master" else base.parent


@pytest.fixture(scope="package")
def examples(browser: Browser, shared: Path) -> Path:
    """A folder with real runs, in `runs`: of the examples, and of a new project before and after a mistake."""
    return made_once(shared / "examples", write_example_runs)


@pytest.fixture(scope="package")
def support(browser: Browser, shared: Path) -> Path:
    """A project of 500 cases with two runs of it, the second with eleven kinds of failure."""
    return made_once(shared / "support", write_support)


@pytest.fixture
def project(support: Path, tmp_path: Path) -> Iterator[tuple[Path, str]]:
    """A copy of that project, to be written to, and the address of a viewer that was started in it."""
    copytree(support, tmp_path / "project")
    viewer = Viewer(Path(".rightcall") / "runs", cwd=tmp_path / "project")
    yield tmp_path / "project", viewer.url
    viewer.close()


@pytest.fixture(scope="package")
def large(browser: Browser, shared: Path) -> Path:
    """A folder with a run of 10,000 cases, in `runs`."""
    return made_once(shared / "large", write_large_run)


@pytest.fixture(scope="package")
def hostile(browser: Browser, shared: Path) -> Path:
    """A folder with runs that say hostile texts only, in `runs`."""
    return made_once(shared / "hostile", lambda folder: write_hostile_runs(folder / "runs"))
