"""The broken call of each of nine agents is in the first screen of its case page."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.browser.broken_agents import BROKEN, write_broken_agents
from tests.processes import rightcall

from rightcall.reporting.pages import case_key
from rightcall.reporting.store import list_runs


@pytest.fixture(scope="module")
def addresses(tmp_path_factory: pytest.TempPathFactory, serve: Callable[[Path], str]) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("broken")
    runs = folder / "runs"
    found: dict[str, str] = {}
    for case, (eval_set, trace) in write_broken_agents(folder / "agents").items():
        done = rightcall("score", str(trace), "--evalset", str(eval_set), "--keep", "--runs", str(runs))
        assert done.returncode == 1, done.stdout
        [run] = [path.name for path in list_runs(runs) if path.name not in found.values()]
        found[case] = run
    return {case: f"{serve(runs)}/runs/{run}/cases/{case_key(case)}" for case, run in found.items()}


@pytest.mark.parametrize("case", BROKEN)
def test_the_broken_call_is_in_the_first_screen(page: Page, addresses: dict[str, str], case: str) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(addresses[case])

    row = page.locator(f"#{BROKEN[case][2]}")
    expect(row).to_be_in_viewport(ratio=0.5)
    assert row.evaluate("row => row.matches('.wrong, .tl-missing')")
