"""`rightcall init`, and everything its first screen promises, in real processes."""

import json
import re
import shutil
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest
import yaml
from tests.processes import rightcall

import rightcall as package
from rightcall.errors import requirement

ROOT = Path(__file__).parents[2]
TEMPLATE = Path(package.__file__).parent / "cli" / "template"
FILES = {
    "shop_agent.py",
    "evals/shop.yaml",
    "evals/evalset.schema.json",
    "traces/shop.jsonl",
    ".github/workflows/rightcall.yml",
    "rightcall.toml",
    ".gitignore",
}
SETTINGS = {".github/workflows/rightcall.yml", "rightcall.toml", ".gitignore"}
BEGINNING = {*SETTINGS, "evals/agent.yaml", "evals/evalset.schema.json", "traces/agent.jsonl"}
SENTENCE = "RC104 reserve_two: `reserve_item` was called with quantity 1, expected 2"


def files_in(folder: Path) -> dict[str, str]:
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in found}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "new" / "shop"
    assert rightcall("init", str(folder)).returncode == 0
    return folder


def fix(project: Path) -> None:
    """Do what the eval set's comment says."""
    evals, agent = (project / "evals/shop.yaml").read_text("utf-8"), project / "shop_agent.py"
    [line] = re.findall(r'^# .* where it says "the mistake": +(.+)$', evals, re.MULTILINE)
    lines = agent.read_text("utf-8").splitlines(keepends=True)
    [number] = [number for number, text in enumerate(lines) if "the mistake" in text]
    lines[number] = f"    {line}\n"
    agent.write_text("".join(lines), "utf-8")


def test_an_empty_folder_becomes_a_project_and_the_screen_says_what_is_next(tmp_path: Path) -> None:
    done = rightcall("init", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert set(files_in(tmp_path)) == FILES
    assert set(re.findall(r"^wrote  (\S+)$", done.stdout, re.MULTILINE)) == FILES
    assert "  rightcall run " in done.stdout
    assert "cd " not in done.stdout


def test_the_first_run_fails_on_purpose_and_mended_as_the_file_says_it_passes(project: Path) -> None:
    first = rightcall("run", cwd=project)
    fix(project)
    second = rightcall("run", cwd=project)

    assert first.returncode == 1
    assert re.match(rf"evals/shop\.yaml:\d+:\d+: {re.escape(SENTENCE)}\n3 passed, 1 failed in ", first.stdout)
    assert second.returncode == 0, second.stdout
    assert second.stdout.startswith("4 passed in ")


def test_a_run_from_a_folder_below_finds_the_project(project: Path) -> None:
    done = rightcall("run", cwd=project / "evals")

    assert done.returncode == 1
    assert SENTENCE in done.stdout


def test_the_case_that_failed_in_a_run_without_names_is_found_again_by_name(project: Path) -> None:
    rightcall("run", cwd=project)

    done = rightcall("run", "evals/shop.yaml", "--failed", cwd=project)

    assert done.returncode == 1
    assert "\n1 failed in " in done.stdout


def test_the_recorded_traces_have_the_same_verdicts(project: Path) -> None:
    done = rightcall("score", "traces", "--evalset", "evals/shop.yaml", cwd=project)

    assert done.returncode == 1
    assert SENTENCE in done.stdout
    assert "\n3 passed, 1 failed in " in done.stdout


def test_the_recorded_traces_are_what_the_agent_does(project: Path) -> None:
    rightcall("run", cwd=project)
    shown = rightcall("show", "traces/shop.jsonl", "--json", cwd=project).stdout.splitlines()
    [journal] = project.glob(".rightcall/runs/*/cases.jsonl")

    recorded = {line["metadata"]["rightcall.case.id"]: line for line in map(json.loads, shown)}
    ran = {line["case_id"]: line["trajectory"] for line in map(json.loads, journal.read_text("utf-8").splitlines())}

    assert recorded.keys() == ran.keys()
    for case_id, trajectory in ran.items():
        assert recorded[case_id]["output"] == trajectory["output"]
        assert [essence(call) for call in recorded[case_id]["calls"]] == [essence(call) for call in trajectory["calls"]]


def essence(call: dict[str, object]) -> tuple[object, ...]:
    return call["name"], call["args"], call["output"], call["error"]


def test_the_eval_set_holds_together(project: Path) -> None:
    assert rightcall("check", "evals/shop.yaml", cwd=project).returncode == 0


def test_the_workflow_is_a_workflow_whose_actions_are_pinned_like_our_own(project: Path) -> None:
    text = (project / ".github/workflows/rightcall.yml").read_text("utf-8")
    ours = (ROOT / ".github/workflows/ci.yml").read_text("utf-8")

    steps = yaml.safe_load(text)["jobs"]["evals"]["steps"]

    assert [step["run"] for step in steps if "run" in step][-1] == "rightcall run"
    used = re.findall(r"uses: (\S+)", text)
    assert used
    assert set(used) <= set(re.findall(r"uses: (\S+@[0-9a-f]{40})", ours))


def test_the_workflow_says_when_a_runner_cannot_install_what_is_installed_here(project: Path) -> None:
    text = (project / ".github/workflows/rightcall.yml").read_text("utf-8")

    is_from_index = requirement() == "rightcall"

    assert ("which a runner does not have" in text) == (not is_from_index)
    assert "      - run: pip install rightcall # and what your agent needs\n" in text


def test_a_second_time_nothing_is_written(project: Path) -> None:
    (project / "rightcall.toml").unlink()
    before = files_in(project)

    done = rightcall("init", cwd=project)

    assert done.returncode == 2
    assert done.stderr == (
        "rightcall: evals/shop.yaml is already an eval set; nothing was written. --force writes what is missing\n"
    )
    assert files_in(project) == before


def test_force_writes_what_is_missing_and_overwrites_nothing(project: Path) -> None:
    (project / "rightcall.toml").unlink()
    (project / "shop_agent.py").write_text("# mine\n", "utf-8")

    done = rightcall("init", "--force", cwd=project)

    assert done.returncode == 0
    assert re.findall(r"^wrote  (\S+)$", done.stdout, re.MULTILINE) == ["rightcall.toml"]
    assert (project / "shop_agent.py").read_text("utf-8") == "# mine\n"


def test_files_that_are_there_are_left_alone_and_named(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine", "utf-8")
    (tmp_path / ".gitignore").write_text("*.pyc\n", "utf-8")

    done = rightcall("init", cwd=tmp_path)

    assert done.returncode == 0
    assert "kept   .gitignore, which was there: add .rightcall/ to it" in done.stdout
    assert (tmp_path / ".gitignore").read_text("utf-8") == "*.pyc\n"
    assert set(files_in(tmp_path)) == {*FILES, "README.md"}


@pytest.mark.parametrize(
    ("files", "agent", "framework"),
    [
        ({"helper/agent.py": "from google.adk.agents import Agent\nroot_agent = Agent()\n"}, "helper", "Google's ADK"),
        ({"src/flow.py": "import langgraph.graph\ngraph: Any = builder.compile()\n"}, "src/flow.py:graph", "LangGraph"),
        (
            {
                "flow.py": "from langgraph.graph import StateGraph\n\nbuilder = StateGraph(dict)\n\ngraph = (\n"
                "    StateGraph(dict)\n    .add_node(call_model)\n    .compile(name='shop')\n)\n"
            },
            "flow.py:graph",
            "LangGraph",
        ),
        (
            {"bot.py": "from agents import (\n    Agent,\n    Runner,\n)\nasync def answer(question: str): ...\n"},
            "bot.py:answer",
            "OpenAI Agents",
        ),
        ({"bot.py": "from agents import Agent\nhelper = Agent()\n"}, "bot.py:helper", "OpenAI Agents"),
        ({"a.py": "from llama_index.core.agent import X\nflow = FunctionAgent()\n"}, "a.py:flow", "LlamaIndex"),
        ({"a.py": "from agno.agent import Agent\nhelper = Agent(\n"}, "a.py:helper", "Agno"),
        ({"a.py": "from strands import Agent, tool\nhelper = Agent()\n"}, "a.py:helper", "Strands"),
        ({"a.py": "import smolagents\nhelper = CodeAgent()\n"}, "a.py:helper", "smolagents"),
        ({"a.py": "from haystack.components.agents import Agent\nx = Agent()\n"}, "a.py:x", "Haystack"),
        ({"a.py": "from crewai import Agent, Crew\nx = Agent()\ncrew = Crew(agents=[x])\n"}, "a.py:crew", "CrewAI"),
        ({"a.py": "from autogen_agentchat.agents import AssistantAgent\n"}, "agent.py:answer", "AutoGen"),
        ({"ask.py": "from pydantic_ai import Agent\nasker = Agent('m')\n"}, "ask.py:asker", "pydantic-ai"),
        (
            {
                "ask.py": "from pydantic_ai import Agent\nasker = Agent('m', deps_type=int)\n\n"
                "def answer(question):\n    deps = 1\n\n    return asker.run_sync(question, deps=deps)\n"
            },
            "ask.py:answer",
            "pydantic-ai",
        ),
        (
            {"ask.py": "from pydantic_ai import Agent\nasker = Agent('m')\n\ndef main(x):\n    asker.run_sync(x)\n"},
            "ask.py:asker",
            "pydantic-ai",
        ),
        ({"a.py": "from agent_framework import Agent\nhelper = Agent(\n"}, "a.py:helper", "Agent Framework"),
        ({"requirements.txt": "pydantic-ai-slim>=1\n"}, "agent.py:agent", "pydantic-ai"),
        ({"pyproject.toml": '[project]\ndependencies = ["google-adk"]\n'}, "my_agent", "Google's ADK"),
    ],
)
def test_a_project_with_a_framework_gets_files_for_its_own_agent(
    tmp_path: Path, files: dict[str, str], agent: str, framework: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{text}raise SystemExit('imported')\n" if name.endswith(".py") else text, "utf-8")

    done = rightcall("init", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (0, "")
    assert [line for line in done.stdout.split("Next:")[1].splitlines() if len(line) > 80] == []
    assert set(files_in(tmp_path)) == {*files, *BEGINNING}
    assert f"This project uses {framework}." in done.stdout
    assert tomllib.loads((tmp_path / "rightcall.toml").read_text("utf-8")) == {
        "agent": agent,
        "evalset": "evals/agent.yaml",
    }
    assert yaml.safe_load((tmp_path / "evals/agent.yaml").read_text("utf-8"))["agent"] == agent
    assert rightcall("check", "evals/agent.yaml", cwd=tmp_path).returncode == 0


LANGGRAPH = """\
from langchain_core.tools import tool
from langgraph.prebuilt import create_react_agent

def now(): ...

@tool
def search(query: str, limit: int = 5): ...

async def book(flight: int, config: RunnableConfig): ...

graph = create_react_agent(model, tools=[now, search, book])
"""
OPENAI = """\
from agents import Agent, RunContextWrapper, function_tool

@function_tool
async def buy(wrapper: RunContextWrapper[int], amount: float): ...

helper = Agent(name="helper", tools=[buy])
"""
PYDANTIC_AI = """\
from pydantic_ai import Agent, RunContext

helper = Agent("model")

@helper.tool(retries=2)
def now(ctx: RunContext[int]): ...
"""
ADK = """\
from google.adk.agents import Agent

def roll(sides: int, tool_context): ...

root_agent = Agent(tools=[roll])
"""


@pytest.mark.parametrize(
    ("text", "tools", "sentence"),
    [
        (
            LANGGRAPH,
            "now, search, book",
            '`search` was called with query "another one", expected "this one"',
        ),
        (OPENAI, "buy", "`buy` was called with amount 2.5, expected 1.5"),
        (PYDANTIC_AI, "now", "`now()` was called, but not expected"),
        (ADK, "roll", "`roll` was called with sides 2, expected 1"),
        ("import langgraph\n", None, "`get_weather` was called with city "),
        ("import langgraph\ndef broken(:\n", None, "`get_weather` was called with city "),
    ],
    ids=["langgraph", "openai-agents", "pydantic-ai", "adk", "no-tools", "no-python"],
)
def test_the_first_score_has_one_failure_on_purpose_about_a_tool_of_the_project(
    tmp_path: Path, text: str, tools: str | None, sentence: str
) -> None:
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper/agent.py").write_text(text, "utf-8")

    screen = rightcall("init", cwd=tmp_path).stdout
    done = rightcall("score", "traces", "--evalset", "evals/agent.yaml", cwd=tmp_path)

    assert ("Tools that were seen: " in screen) == (tools is not None)
    assert tools is None or f"Tools that were seen: {tools}\n" in screen
    assert done.returncode == 1
    assert f"fails_on_purpose: {sentence}" in done.stdout
    assert "\n1 passed, 1 failed in " in done.stdout


def test_an_eval_set_of_adk_that_is_there_is_used_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "helper").mkdir()
    (tmp_path / "helper/agent.py").write_text(ADK, "utf-8")
    (tmp_path / "helper/dice.evalset.json").write_text('{"eval_set_id": "dice", "eval_cases": []}', "utf-8")
    (tmp_path / "requirements.txt").write_text("google-adk\n", "utf-8")

    done = rightcall("init", cwd=tmp_path)

    assert done.returncode == 0
    assert set(files_in(tmp_path)) == {"helper/agent.py", "helper/dice.evalset.json", "requirements.txt", *SETTINGS}
    configuration = tomllib.loads((tmp_path / "rightcall.toml").read_text("utf-8"))
    assert configuration == {"agent": "helper", "evalset": "helper/dice.evalset.json"}
    steps = yaml.safe_load((tmp_path / ".github/workflows/rightcall.yml").read_text("utf-8"))["jobs"]["evals"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == [
        "pip install -r requirements.txt rightcall",
        "rightcall check helper/dice.evalset.json",
        "rightcall run --replay",
    ]


def test_options_in_pyproject_are_not_shadowed_by_a_file(tmp_path: Path) -> None:
    (tmp_path / "ask.py").write_text(PYDANTIC_AI, "utf-8")
    (tmp_path / "pyproject.toml").write_text('[tool.rightcall]\nagent = "ask.py:helper"\n', "utf-8")

    rightcall("init", cwd=tmp_path)

    assert set(files_in(tmp_path)) == {"ask.py", "pyproject.toml", *BEGINNING} - {"rightcall.toml"}


def test_a_name_that_yaml_would_take_for_something_else_stays_a_name(tmp_path: Path) -> None:
    (tmp_path / "a: b #c").mkdir()
    text = PYDANTIC_AI.replace("def now(ctx: RunContext[int])", "def null(true: str)")
    (tmp_path / "a: b #c/ask.py").write_text(text, "utf-8")

    rightcall("init", cwd=tmp_path)

    assert rightcall("check", "evals/agent.yaml", cwd=tmp_path).returncode == 0
    written = yaml.safe_load((tmp_path / "evals/agent.yaml").read_text("utf-8"))
    assert written["agent"] == "a: b #c/ask.py:helper"
    assert list(written["cases"][0]["expect"]["calls"][0]) == ["null"]


def test_a_package_of_ones_own_called_agents_is_no_framework(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("from agents import planner\n# langgraph\n", "utf-8")

    rightcall("init", cwd=tmp_path)

    assert set(files_in(tmp_path)) == {*FILES, "main.py"}


def test_a_failure_in_the_middle_says_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "traces").write_text("a file, not a folder", "utf-8")

    done = rightcall("init", cwd=tmp_path)

    assert done.returncode == 2
    assert re.fullmatch(
        r"rightcall: traces/shop\.jsonl: .+; begun or written: shop_agent\.py, evals/shop\.yaml\n", done.stderr
    )


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    done = rightcall("init", "file", cwd=tmp_path)

    assert (done.returncode, done.stderr) == (2, "rightcall: file is not a folder\n")


def test_a_link_that_leads_nowhere_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop/rightcall.toml").symlink_to(tmp_path / "elsewhere")

    done = rightcall("init", "shop", cwd=tmp_path)

    assert "kept   shop/rightcall.toml" in done.stdout
    assert not (tmp_path / "elsewhere").exists()


def test_the_template_is_part_of_the_package() -> None:
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["tool"]["hatch"]["build"]["targets"]["wheel"]
    ignored = [line.rstrip("/") for line in (ROOT / ".gitignore").read_text("utf-8").split()]
    parts = {part for path in files_in(TEMPLATE) if "__pycache__" not in path for part in path.split("/")}

    assert wheel == {"packages": ["src/rightcall"]}
    assert {part for part in parts if any(fnmatch(part, pattern) for pattern in ignored)} == set()
    assert len([path for path in files_in(TEMPLATE) if "__pycache__" not in path]) == len(FILES) - 1 + 2  # for Node.js


def test_of_several_agents_the_one_that_no_other_uses_is_taken(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "from agents import Agent\nbilling = Agent(name='billing')\nresearcher = Agent(name='researcher')\n"
        "triage = Agent(name='triage', handoffs=[billing], tools=[researcher.as_tool()])\n",
        "utf-8",
    )

    done = rightcall("init", cwd=tmp_path)

    assert "\n  bot.py:triage\n" in done.stdout
    assert "which it or your code may use: bot.py:billing, bot.py:researcher" in done.stdout


def test_an_agent_that_a_tool_asks_is_not_the_one_to_run(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(
        "from pydantic_ai import Agent\nbilling = Agent('m')\nsupport = Agent('m')\n\n@support.tool_plain\n"
        "async def ask(question: str) -> str:\n    return (await billing.run(question)).output\n",
        "utf-8",
    )

    assert "\n  bot.py:support\n" in rightcall("init", cwd=tmp_path).stdout


def test_a_project_of_node_gets_a_command_that_works(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}", "utf-8")

    done = rightcall("init", cwd=tmp_path)

    assert done.returncode == 0
    assert "For `rightcall run` its agent is a command:" in done.stdout
    assert tomllib.loads((tmp_path / "rightcall.toml").read_text("utf-8"))["agent"] == "cmd:node rightcall-agent.mjs"
    assert rightcall("check", "evals/agent.yaml", cwd=tmp_path).returncode == 0
    if shutil.which("node"):
        assert "1 passed, 1 failed" in rightcall("run", cwd=tmp_path).stdout


def test_the_workflow_of_an_agent_replays_a_recording(tmp_path: Path) -> None:
    (tmp_path / "bot.py").write_text(PYDANTIC_AI, "utf-8")

    rightcall("init", cwd=tmp_path)

    workflow = yaml.safe_load((tmp_path / ".github/workflows/rightcall.yml").read_text("utf-8"))
    assert workflow["jobs"]["evals"]["steps"][-1] == {"run": "rightcall run --replay"}
