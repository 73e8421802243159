"""`rightcall mcp`: what a coding agent is told of runs, in few bytes, and that nothing else can be reached."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from tests.connect.loopback import PhoenixLike, served, trace_id
from tests.processes import rightcall
from tests.sampling import examples
from tests.waiting import PATIENCE

from rightcall import InputError
from rightcall.cli._mcp import MOST_BYTES, Answers, known_address, offered, page
from rightcall.errors import RightcallError, install_command

READING = ["runs", "failures", "explain_case", "compare", "show_trace", "check_evalset"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of `rightcall init` that was run: one case fails."""
    folder = tmp_path_factory.mktemp("mcp")
    rightcall("init", ".", cwd=folder)
    rightcall("run", cwd=folder)
    return folder


@pytest.fixture
def answers(project: Path, monkeypatch: pytest.MonkeyPatch) -> Answers:
    monkeypatch.chdir(project)
    return Answers(Path(".rightcall/runs"))


@given(st.lists(st.text(max_size=300), max_size=60), st.integers(0, 3))
@examples(40)
def test_pages_have_every_line_once_and_stay_small(lines: list[str], times: int) -> None:
    text = "\n".join([*lines, *["é" * 900] * times])
    seen: list[str] = []
    cursor = ""
    while True:
        answer = page(text, cursor)
        assert len(answer.encode(errors="replace")) <= MOST_BYTES
        shown = answer.split("\n")
        more = shown[-1].startswith("… ") and "cursor" in shown[-1]
        seen += shown[:-1] if more else shown
        if not more:
            break
        cursor = shown[-1].rpartition('cursor: "')[2].rstrip('"')

    assert seen == (text.splitlines() or [""])


@pytest.mark.parametrize("cursor", ["-1", "x", "99", "1e1", "²"])
def test_a_cursor_that_is_none_is_refused(cursor: str) -> None:
    with pytest.raises(InputError, match="is not a cursor of this answer"):
        page("one line", cursor)


def test_the_wrong_argument_of_a_failing_case_takes_one_call(answers: Answers) -> None:
    said = answers.failures()

    assert "RC104 reserve_two: `reserve_item` was called with quantity 1, expected 2" in said
    assert len(said.encode()) < 400


def test_a_case_is_explained_with_its_calls(answers: Answers) -> None:
    said = answers.explain_case("reserve_two")

    assert "quantity 2 → 1" in said
    assert 'reserve_item(product_id="P003", quantity=1)' in said


def test_runs_traces_and_eval_sets_are_shown(answers: Answers) -> None:
    assert "3 passed, 1 failed  evals/shop.yaml" in answers.runs()
    assert "search_products" in answers.show_trace("traces/shop.jsonl")
    assert answers.check_evalset("evals/shop.yaml").startswith("right: 4 cases")
    assert "no change" in answers.compare("last")


@pytest.mark.parametrize("form", ["phoenix://{}/support", "prod:", "prod:?since=1h"])
def test_traces_of_a_server_are_shown_the_newest_ten(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with served(PhoenixLike(12)) as server:
        Path("rightcall.toml").write_text(f"[sources]\nprod = 'phoenix://{server.host}/support'\n")
        said = Answers(Path("runs")).show_trace(form.format(server.host))
        one = Answers(Path("runs")).show_trace(f"prod:?trace={trace_id(3)}")

    assert "search(q=2)" in said
    assert "search(q=1)" not in said
    assert "search(q=3)" in one
    assert len(said.encode()) <= MOST_BYTES


def test_a_server_of_the_configuration_may_be_elsewhere_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("rightcall.toml").write_text("[sources]\nprod = 'phoenix://traces.invalid/support'\n")

    assert known_address("phoenix://traces.invalid/other?limit=2") == "phoenix://traces.invalid/other?limit=2"
    others = (
        "phoenix://traces.invalid:81/support",
        "mlflow://traces.invalid/support",
        "phoenix+http://traces.invalid/a",
    )
    for other in others:
        with pytest.raises(InputError, match="is not a server of this project"):
            known_address(other)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("show_trace", {"source": "/etc/hostname"}),
        ("show_trace", {"source": "../../etc/hostname"}),
        ("show_trace", {"source": "phoenix://evil.example/x?filter=secret"}),
        ("show_trace", {"source": "phoenix+http://evil.example/x"}),
        ("show_trace", {"source": "phoenix://localhost:1/x?key=HOME"}),
        ("check_evalset", {"file": "/etc/hostname"}),
        ("failures", {"run": "/etc"}),
        ("explain_case", {"case": "--help"}),
        ("explain_case", {"case": "x", "run": "--version"}),
        ("compare", {"before": "--help"}),
        ("check_evalset", {"file": "", "text": ""}),
    ],
)
def test_nothing_outside_of_the_folder_and_no_option_can_be_named(
    answers: Answers, tool: str, given: dict[str, str]
) -> None:
    with pytest.raises(RightcallError):
        getattr(answers, tool)(**given)


def test_only_what_was_allowed_is_offered(answers: Answers) -> None:
    plain = offered(answers, allow_run=False, allow_edit=False)
    every = offered(answers, allow_run=True, allow_edit=True)

    assert [(tool.__name__, reads) for tool, reads in plain] == [(name, True) for name in READING]
    assert [(tool.__name__, reads) for tool, reads in every[6:]] == [("run_evalset", False), ("accept_run", False)]


def test_the_agent_is_run_where_that_is_allowed(answers: Answers) -> None:
    said = answers.run_evalset(case="reserve_two")

    assert "1 failed" in said


def test_a_client_finds_the_wrong_argument_by_the_protocol(project: Path) -> None:
    told, tools = asyncio.run(_asked(project))

    assert tools == READING
    assert "with quantity 1, expected 2" in told


async def _asked(project: Path) -> tuple[str, list[str]]:
    from mcp import ClientSession, StdioServerParameters, stdio_client

    server: Any = StdioServerParameters(command=sys.executable, args=["-m", "rightcall", "mcp"], cwd=str(project))
    async with stdio_client(server) as (reading, writing), ClientSession(reading, writing) as session:
        await session.initialize()
        tools = await session.list_tools()
        answer: Any = await session.call_tool("failures", {})
        return answer.content[0].text, [tool.name for tool in tools.tools]


def test_without_the_package_it_says_what_to_install(project: Path) -> None:
    hidden = "import sys; sys.modules['mcp'] = None; sys.argv = ['rightcall', 'mcp']"
    code = f"{hidden}\nimport rightcall.cli\nrightcall.cli.main()"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE, cwd=project)

    assert (done.returncode, install_command("mcp") in done.stderr) == (2, True)
