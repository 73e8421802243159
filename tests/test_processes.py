"""A forked command is what a started one is: the same streams, the same surroundings, the same end."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.forking import Command, fork_server, starts_alike
from tests.processes import rightcall, started, true_rightcall
from tests.projects import make_project
from tests.waiting import PATIENCE

from rightcall.cli._main import COMMANDS

SURROUNDINGS = """
import json, locale, os, signal, sys, threading, time
streams = {
    name: [each.encoding, each.errors, each.line_buffering, each.write_through, each.name, each.mode, each.isatty(),
        each.newlines, type(each.buffer).__name__, each.fileno()]
    for name, each in (("in", sys.stdin), ("out", sys.stdout), ("err", sys.stderr))
}
print(json.dumps({
    "argv": sys.argv, "path": sys.path, "main": [__name__, __spec__.name, sys.modules["__main__"].__file__],
    "cwd": os.getcwd(), "environment": dict(os.environ), "zone": time.tzname, "umask": os.umask(0),
    "streams": streams, "are_theirs": [sys.__stdin__ is sys.stdin, sys.__stdout__ is sys.stdout],
    "descriptors": sorted(os.listdir("/proc/self/fd"))[:-1], "threads": len(os.listdir("/proc/self/task")),
    "signals": [str(signal.getsignal(getattr(signal, f"SIG{each}"))) for each in ("INT", "TERM", "PIPE", "CHLD")],
    "bytecode": sys.dont_write_bytecode, "flags": [sys.flags.utf8_mode, sys.flags.safe_path],
    "encoding": locale.getpreferredencoding(),
    "group": os.getpgrp(), "session": os.getsid(0), "is_main": threading.current_thread() is threading.main_thread(),
    "sent": sys.stdin.read(),
}))
print("to the other stream", file=sys.stderr)
"""
AGENT = """
import json, os, signal, sys, threading, time
from pathlib import Path

def answer(question):
    streams = [sys.__stdin__, sys.__stdout__, sys.__stderr__]
    seen = {
        "argv": sys.argv, "path": sys.path, "main": sys.modules["__main__"].__file__, "options": sys.orig_argv[1:2],
        "cwd": os.getcwd(), "environment": dict(os.environ), "zone": time.tzname,
        "told": sorted(filter(None, Path("/proc/self/environ").read_text().split(chr(0)))),
        "streams": [[each.encoding, each.errors, each.line_buffering, each.mode, each.isatty()] for each in streams],
        "descriptors": len(os.listdir("/proc/self/fd")), "threads": len(os.listdir("/proc/self/task")),
        "signals": [str(signal.getsignal(getattr(signal, f"SIG{each}"))) for each in ("INT", "TERM", "PIPE", "CHLD")],
        "blocked": sorted(signal.pthread_sigmask(signal.SIG_BLOCK, [])), "bytecode": sys.dont_write_bytecode,
        "leads": [os.getsid(each) == os.getpgid(each) == each for each in (os.getpid(), os.getppid())],
        "is_main": threading.current_thread() is threading.main_thread(),
    }
    Path("seen.json").write_text(json.dumps(seen))
    return "done"
"""
"""An agent that writes down what its process is like."""
CASE = "cases: [{id: a, input: b, expect: {output: done}}]"
ENDS = {
    "as usual": "",
    "sys.exit(3)": "import sys; sys.exit(3)",
    "sys.exit(True)": "import sys; sys.exit(True)",
    "sys.exit('why')": "import sys; sys.exit('why')",
    "sys.exit(256 + 7)": "import sys; sys.exit(256 + 7)",
    "os._exit": "import os; os._exit(9)",
    "a signal": "import os, signal; os.kill(os.getpid(), signal.SIGKILL)",
    "atexit": "import atexit; atexit.register(print, 'last'); print('first')",
    "a thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.1), print('late'))).start()",
    "what cannot be flushed": "import os, sys; print('x'); os.close(1)",
}
COMMAND_LINES = {
    "demo": ("demo", "--help"),
    "init": ("init", "made"),
    "show": ("show", "trip.json"),
    "run": ("run", "agent.py:answer", "set.yaml", "--no-such-option"),
    "score": ("score", "trip.json", "--expect", "order: [book_flight, search_flights]"),
    "report": ("report", "last"),
    "view": ("view", "nowhere"),
    "diff": ("diff", "a", "b"),
    "stats": ("stats", "last"),
    "paths": ("paths", "trip.json"),
    "baseline": ("baseline", "last", "--to", "base.json"),
    "judge-check": ("judge-check",),
    "accept": ("accept", "last"),
    "mutate": ("mutate", "set.yaml", "trip.json"),
    "mcp": ("mcp", "--help"),
    "pull": ("pull", "--help"),
    "check": ("check", "set.yaml"),
    "convert": ("convert", "set.yaml"),
    "schema": ("schema",),
    "explain": ("explain", "RC104"),
    "completion": ("completion", "bash"),
}
"""One line for each command, which says the same twice in a row."""


def both(module: str, cwd: Path, stdin: bytes | None = None, **environment: str) -> list[tuple[int, bytes, bytes]]:
    """How a module of the folder ends and what it says: started, then forked."""
    complete = {**os.environ, **environment}
    assert starts_alike(complete)
    forked = fork_server(("json",)).run(Command(module, ("a", "ü"), str(cwd), complete), stdin, 60)
    done = [started(module, ("a", "ü"), cwd, complete, stdin), forked]
    return [(each.returncode, each.stdout, each.stderr) for each in done]


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"PYTHONIOENCODING": "latin-1:replace", "TZ": "Asia/Tokyo"},
        {"PYTHONUNBUFFERED": "1", "PYTHONDONTWRITEBYTECODE": "1", "NO_COLOR": "1"},
    ],
)
def test_a_forked_interpreter_has_the_surroundings_of_a_fresh_one(tmp_path: Path, environment: dict[str, str]) -> None:
    (tmp_path / "look.py").write_text(SURROUNDINGS)

    (_, said, wrong), (code, forked, beside) = both("look", tmp_path, b"x" * 200_000, **environment)

    assert json.loads(forked) == json.loads(said)
    assert (code, beside) == (0, wrong)


@pytest.mark.parametrize("end", ENDS)
def test_a_forked_interpreter_ends_like_a_fresh_one(tmp_path: Path, end: str) -> None:
    (tmp_path / "end.py").write_text(ENDS[end])

    (code, said, _), (forked, told, _) = both("end", tmp_path)

    assert (forked, told) == (code, said)


def test_an_error_that_nobody_catches_is_printed_and_the_exit_code_is_1(tmp_path: Path) -> None:
    (tmp_path / "end.py").write_text("1 / 0")

    for code, _, wrong in both("end", tmp_path):
        assert code == 1
        assert wrong.endswith(b"ZeroDivisionError: division by zero\n")


def test_a_forked_worker_has_the_surroundings_of_a_started_one(tmp_path: Path) -> None:
    found = []
    for name, run in (("forked", rightcall), ("true", true_rightcall)):
        folder = make_project(tmp_path / name, {"agent.py": AGENT, "set.yaml": CASE})
        done = run("run", "agent.py:answer", "set.yaml", cwd=folder, TZ="Asia/Tokyo", COLUMNS="77")
        assert done.returncode == 0, done.stderr
        found.append(json.loads((folder / "seen.json").read_text("utf-8").replace(str(folder), "HERE")))
        token = f"RIGHTCALL_RUN={found[-1]['environment'].pop('RIGHTCALL_RUN')}"
        found[-1]["told"].remove(token)

    forked, true = found

    assert forked == true


def test_a_worker_that_reads_other_variables_at_its_start_is_started(tmp_path: Path) -> None:
    agent = "import sys\ndef answer(_): return sys.flags.utf8_mode"
    case = "cases: [{id: a, input: b, expect: {output: 1}}]"
    variant = "[variants.other.environment]\nPYTHONUTF8 = '1'\n"
    make_project(tmp_path, {"agent.py": agent, "set.yaml": case, "rightcall.toml": variant})

    done = rightcall("run", "agent.py:answer", "set.yaml", "--variant", "other", cwd=tmp_path)

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    (tmp_path / "sleep.py").write_text(
        f"import os, time\nopen('{tmp_path}/pid', 'w').write(str(os.getpid()))\ntime.sleep(99)"
    )
    command = Command("sleep", (), str(tmp_path), dict(os.environ))

    with pytest.raises(subprocess.TimeoutExpired):
        fork_server(("json",)).run(command, None, 3)

    assert not Path("/proc", (tmp_path / "pid").read_text(), "exe").exists()


@pytest.mark.parametrize("variable", ["PYTHONHASHSEED", "PYTHONPATH", "PYTHONUTF8", "LC_ALL", "LD_PRELOAD"])
def test_what_only_a_fresh_interpreter_reads_needs_one(variable: str) -> None:
    assert starts_alike({**os.environ, "PYTHONIOENCODING": "ascii", "PYTHONBREAKPOINT": "0", "COLUMNS": "7"})
    assert not starts_alike({**os.environ, variable: "7"})


def test_there_is_a_line_for_every_command() -> None:
    assert set(COMMAND_LINES) == set(COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_the_same_in_a_true_process(tmp_path: Path, command: str) -> None:
    trip = Path(__file__).parents[1] / "docs" / "examples" / "trip.json"
    done = []
    for name, run in (("forked", rightcall), ("true", true_rightcall)):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "trip.json").write_bytes(trip.read_bytes())
        (folder / "set.yaml").write_text("cases: [{id: a, expect: {calls: [b]}}]")
        each = run(*COMMAND_LINES[command], cwd=folder)
        said = re.sub(r" in \d+\.\d+s", " in 0.00s", each.stdout + each.stderr)
        done.append((each.returncode, said.replace(str(folder), "")))

    forked, true = done

    assert forked == true
    assert true[0] in (0, 1, 2), true


def test_what_tests_start_hears_an_interrupt_also_if_the_tests_were_started_in_the_background() -> None:
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.SIG_IGN); import tests.conftest\n"
        "assert signal.getsignal(signal.SIGINT) is signal.default_int_handler"
    )

    subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parents[1], check=True, timeout=PATIENCE)
