"""From the name of an agent to an agent."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.running.agents.workshop import Workshop, ask
from tests.waiting import PATIENCE

from rightcall.errors import AgentError, MissingExtraError, install_command
from rightcall.running.agents import traceback_of


@pytest.mark.parametrize(
    ("named", "text"),
    [
        ("agent.py", "def main(x): return 'here'\ndef other(x): return 1"),
        ("agent.py", "def run(x): return 'here'\ndef helper(x): return 1"),
        ("agent.py", "def agent(x): return 'here'\ndef answer(x): return 1"),
        ("agent.py", "import json\nfrom os.path import join\ndef _own(x): pass\ndef shop(x): return 'here'"),
        ("agent.py:Shop", "class Shop:\n    def __call__(self, x): return 'here'"),
        ("agent.py:Shop.ask", "class Shop:\n    def ask(self, x): return 'here'"),
        ("agent.py:Shop.ask", "class Shop:\n    @staticmethod\n    def ask(x): return 'here'"),
        ("agent.py:Shop.ask", "class Shop:\n    @classmethod\n    def ask(cls, x): return 'here'"),
        ("agent.py:shop.ask", "class Shop:\n    def ask(self, x): return 'here'\nshop = Shop()"),
        ("agent:shop", "def shop(x): return 'here'"),
        ("agent", "def main(x): return 'here'"),
        ("./agent.py:shop", "def shop(x): return 'here'"),
        (".", "def answer(x): return 'here'"),
    ],
)  # fmt: skip
def test_a_name_leads_to_an_agent(workshop: Workshop, named: str, text: str) -> None:
    workshop.write("agent.py", text)

    assert workshop.output(named, "x") == "here"


def test_an_absolute_path_is_an_agent_wherever_the_project_is(workshop: Workshop) -> None:
    file = workshop.write("elsewhere/agent.py", "def main(x): return 'here'")

    assert workshop.output(f"{file}:main", "x") == "here"


@pytest.mark.parametrize("named", ["shop", "shop:answer", "shop/agent.py", "shop/agent.py:answer", "shop.agent:answer"])
def test_a_package_may_import_its_own_modules(workshop: Workshop, named: str) -> None:
    workshop.write("shop/__init__.py", "from . import agent")
    workshop.write("shop/agent.py", "from .tools import find\nfrom shop import tools\ndef answer(x): return find()")
    workshop.write("shop/tools.py", "def find(): return 'found'")

    assert workshop.output(named, "x") == "found"


def test_a_file_may_import_what_lies_beside_it_also_while_it_runs(workshop: Workshop) -> None:
    workshop.write("shop/agent.py", "def main(x):\n    import wares\n    return wares.PRICE")
    workshop.write("shop/wares.py", "PRICE = 10")

    assert workshop.output("shop/agent.py", "x") == 10
    assert str(workshop.project / "shop") in sys.path


def test_a_file_named_like_a_module_of_python_is_still_the_agent(workshop: Workshop) -> None:
    workshop.write("json.py", "def main(x): return 'mine'")

    assert workshop.output("json.py", "x") == "mine"
    assert sys.modules["json"].__file__ != str(workshop.project / "json.py")


def test_two_files_of_one_name_are_two_agents(workshop: Workshop) -> None:
    for folder in ("one", "two"):
        workshop.write(f"{folder}/agent.py", f"def main(x): return {folder!r}")

    assert [workshop.output(f"{folder}/agent.py", "x") for folder in ("one", "two", "one")] == ["one", "two", "one"]


def test_an_agent_that_is_changed_within_a_second_is_not_what_it_was(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    for answer in ("one", "two"):
        file = workshop.write("agent.py", f"def answer(given): return {answer!r}")
        os.utime(file, (1_000_000_000, 1_000_000_000))

        assert workshop.output("agent.py:answer", None) == answer
        sys.modules.pop("agent", None)


def test_the_folder_of_the_agent_is_first_even_if_it_is_on_the_path_already(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(workshop.project)])
    workshop.write("agent.py", "def main(x): return 1")
    before = list(sys.path)
    agent = workshop.load("agent.py")

    assert sys.path[0] == str(workshop.project)

    agent.close()
    assert sys.path == before


def test_a_worker_with_a_plain_agent_loads_little(workshop: Workshop) -> None:
    workshop.write("agent.py", "def main(x): return x")
    code = (
        "import sys; from pathlib import Path; from rightcall.running.agents import load_agent, AgentRequest\n"
        "agent = load_agent('agent.py', Path(sys.argv[1]))\n"
        "agent.answer(AgentRequest(input=1, case_id='c')); agent.close()\n"
        "print([n for n in ('pydantic', 'rich', 'click', 'asyncio', 'ssl', 'subprocess', 'h11') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(workshop.project)],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )

    assert done.stdout.strip() == "[]"


def test_an_agent_outside_python_needs_h11_and_says_how_to_get_it() -> None:
    code = (
        "import sys; from pathlib import Path; sys.modules['h11'] = None\n"
        "from rightcall import MissingExtraError; from rightcall.running.agents import load_agent\n"
        "for named in ('cmd:cat', 'http://127.0.0.1:1/'):\n"
        "    try:\n        load_agent(named, Path.cwd())\n"
        "    except MissingExtraError as problem:\n        print(problem)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=PATIENCE)

    message = f"commands and endpoints as agents need h11: {install_command()}"
    assert done.stdout.splitlines() == [message, message]


def test_a_script_is_not_run_as_the_main_program(workshop: Workshop) -> None:
    workshop.write("agent.py", "def main(x): return __name__\nif __name__ == '__main__': raise SystemExit(main(1))")

    assert workshop.output("agent.py", "x") == "agent"


def test_a_tool_is_not_taken_for_the_agent(workshop: Workshop) -> None:
    workshop.write(
        "agent.py", "from rightcall import tool\n@tool\ndef look(x): return x\ndef travel(x): return look(x) * 2"
    )

    assert workshop.output("agent.py", "x") == "xx"


@pytest.mark.parametrize(
    ("named", "complaint"),
    [
        ("agnet.py:main", r"no file agnet.py in .*did you mean 'agent.py'\?"),
        ("empty/agent.py", "no file empty/agent.py in .*; it has no Python files"),
        ("shop/agent.py", "no file shop/agent.py: there is no folder"),
        ("agent.py:mian", r"agent.py has no 'mian'; did you mean 'main'\?"),
        ("agent.py:Shop.aks", r"agent.py has no 'aks'; did you mean 'ask'\?"),
        ("agent.py:LIMIT", "agent.py:LIMIT is an int, which cannot be run"),
        ("agent.py:Needy", "Needy is a class that needs size; make an instance in the file"),
        ("agent.py:Needy.ask", "Needy is a class that needs size"),
        ("agent.py:os", "is a module, which cannot be run"),
        ("several.py", "several.py has several functions; .*several.py:one, several.py:two"),
        ("nothing.py", "nothing.py has nothing that can be run"),
        ("tools.py", "tools.py has nothing that can be run"),
        ("no_such_module:main", "no module 'no_such_module'"),
        ("what is this?", r"no agent 'what is this\?'.*an agent is file.py:function"),
        ("", "has none of"),
        ("empty", "the folder empty has none of __init__.py, agent.py, main.py"),
    ],
)
def test_a_name_that_leads_nowhere_says_what_was_found(workshop: Workshop, named: str, complaint: str) -> None:
    workshop.write("agent.py" if named else "other.py", (
        "import os\nLIMIT = 5\ndef main(x): pass\nclass Shop:\n    def ask(self, x): pass\n"
        "class Needy:\n    def __init__(self, size): pass\n    def ask(self, x): pass\n"
    ))  # fmt: skip
    workshop.write("several.py", "def one(x): pass\ndef two(x): pass")
    workshop.write("nothing.py", "A = 1")
    workshop.write(
        "tools.py",
        "from rightcall import tool\n"
        "from rightcall.running.tracing import mockable\n@tool\ndef one(x): pass\n@mockable\ndef two(x): pass",
    )
    workshop.write("empty/readme.txt", "")

    with pytest.raises(AgentError, match=complaint):
        workshop.load(named)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("import os\n\nundefined\n", "agent.py:3: the agent cannot be imported: NameError: name 'undefined'"),
        ("def main(:\n    pass\n", "agent.py:1: the agent cannot be imported: SyntaxError"),
        ("\nimport no_such_thing\n", "agent.py:2: .*ModuleNotFoundError: No module named 'no_such_thing'"),
        ("import sys\nsys.exit(3)\n", r"agent.py:2: .*it calls sys.exit\(3\)"),
        ("raise ValueError\n", "agent.py:1: .*: ValueError$"),
    ],
)
def test_a_module_that_fails_says_which_line(workshop: Workshop, text: str, complaint: str) -> None:
    workshop.write("agent.py", text)

    with pytest.raises(AgentError, match=complaint) as caught:
        workshop.load("agent.py")

    assert "agent.py" in caught.value.traceback
    assert "rightcall" not in caught.value.traceback.replace(str(workshop.project), "")
    assert "importlib" not in caught.value.traceback
    assert "agent" not in sys.modules


def test_the_line_is_that_of_the_module_beside_it_that_fails(workshop: Workshop) -> None:
    workshop.write("agent.py", "import os\nimport wares\n")
    workshop.write("wares.py", "1 / 0\n")

    with pytest.raises(AgentError, match=r"wares.py:1: .*ZeroDivisionError") as caught:
        workshop.load("agent.py")

    assert 'wares.py", line 1' in caught.value.traceback


def test_an_agent_of_adk_without_adk_says_what_to_install(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.adk", None)
    workshop.write("shop/__init__.py", "from . import agent")
    workshop.write("shop/agent.py", "from google.adk.agents import LlmAgent\nroot_agent = LlmAgent()")

    with pytest.raises(MissingExtraError, match="pip install google-adk"):
        workshop.load("shop")


def test_a_traceback_shows_the_agent_and_not_the_way_to_it(workshop: Workshop) -> None:
    workshop.write(
        "agent.py",
        "async def main(x):\n    try:\n        {}[x]\n    except KeyError as e:\n        raise OSError('no') from e",
    )
    agent = workshop.load("agent.py")

    with pytest.raises(OSError, match="no") as caught:
        ask(agent, "x")

    told = traceback_of(caught.value)
    assert told.startswith("Traceback")
    assert "KeyError: 'x'" in told
    assert "agents/_python_agents.py" not in told
    assert told.rstrip().endswith("OSError: no")
