"""A process that has imported a program, and forks itself for each command. `forking.py` starts it and asks it.

`python forkserver.py CONTROL MODULE…` imports the modules (a name that ends with `.py` is a file to run), then waits on
the socket CONTROL. A request is four descriptors: standard input, output and error of the command, and a channel. The
child reads from the channel what to run, where, and with which environment; it becomes what a fresh interpreter would
be, and ends as one. The server writes the child's process id to the channel, and later its exit code.

A command may name a program that it starts with the same interpreter and two descriptors, such as the worker of a run.
That is forked as well: the child has a nursery, a fork of what it was before it became the command, which clones itself
into children of the command (`CLONE_PARENT`, clone(2)).
"""

import atexit
import codecs
import contextlib
import ctypes
import gc
import importlib
import io
import json
import os
import pkgutil
import platform
import runpy
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

_THREADED = ("deltalake", "pyarrow", "pyspark", "ray")
"""Packages that start threads when they are imported."""
_OPEN_AT_MOST = 4096
_COULD_NOT_FLUSH = 120
"""The exit code of an interpreter that could not write its last words."""
_CLONE = {"x86_64": 56, "aarch64": 220}.get(platform.machine())
"""The number of clone(2), as far as it is known: glibc offers it with a stack of its own only."""
_CLONE_PARENT = 0x8000
ROOM = "RIGHTCALL_TESTS_ROOM"
"""A long variable that the server is started with: the environment of each command takes its place."""
READ_AT_START = ("PYTHON", "LANG", "LC_", "LD_")
"""How the variables begin that an interpreter reads when it starts, and a forked child no more."""


def main(control: socket.socket, modules: list[str]) -> None:
    """Fork a child for each request until the other end of the socket is closed."""
    del sys.path[0]  # the folder of this file, which no command has
    for name in _THREADED:
        sys.modules[name] = None  # type: ignore[assignment]  # it is not found
    for name in modules:
        runpy.run_path(name) if name.endswith(".py") else _import(name)
    for name in _THREADED:
        del sys.modules[name]
    assert _threads() == 1, "a lock that another thread holds while we fork is never released in the child"
    gc.collect()
    gc.freeze()  # what is here already is never looked through again, nor copied for it
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    files = _serve(control)
    control.close()
    if files:
        _become(*files)


def _import(name: str) -> None:
    """Import a module, and all that is in it if it is a package, but for what needs one of `_THREADED`."""
    with contextlib.suppress(ModuleNotFoundError):
        module = importlib.import_module(name)
        for found in pkgutil.iter_modules(getattr(module, "__path__", ()), f"{name}."):
            if not found.name.endswith(".__main__"):
                _import(found.name)


def _threads() -> int:
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return threading.active_count()


def _serve(control: socket.socket) -> list[int]:
    """Answer requests. A child returns with the descriptors of its own; the server, with none, when all is over."""
    waiting: dict[int, tuple[int, socket.socket]] = {}
    with selectors.DefaultSelector() as selector:
        selector.register(control, selectors.EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fd in waiting:
                    selector.unregister(key.fd)
                    _report(key.fd, *waiting.pop(key.fd))
                    continue
                _, files, _, _ = socket.recv_fds(control, 1, 4)
                child = os.fork() if files else 0
                if child == 0:
                    return files
                ended = os.pidfd_open(child)
                waiting[ended] = (child, _channel_to(child, files))
                selector.register(ended, selectors.EVENT_READ)


def _channel_to(child: int, files: list[int]) -> socket.socket:
    """The channel on which to say how a child ended, after its process id was said on it."""
    *streams, number = files
    for each in streams:
        os.close(each)
    channel = socket.socket(fileno=number)
    _tell(channel, child)
    return channel


def _report(ended: int, child: int, channel: socket.socket) -> None:
    os.close(ended)
    _, status = os.waitpid(child, 0)
    _tell(channel, os.waitstatus_to_exitcode(status))
    channel.close()


def _tell(channel: socket.socket, number: int) -> None:
    with contextlib.suppress(BrokenPipeError):  # whoever asked is gone
        channel.sendall(f"{number}\n".encode())


def _become(*files: int) -> None:
    """Be the program that the channel asks for, with no descriptors but those that it is given before the channel."""
    *given, number = files
    with open(number, "rb") as channel:
        asked = json.load(channel)
    for target, each in enumerate(given):
        os.dup2(each, target)
    os.closerange(len(given), _OPEN_AT_MOST)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if asked["forked"] and _CLONE:
        _fork_what_starts(asked)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    _show_environment()
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = asked["path"]
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(place, name)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = [asked["module"], *asked["arguments"]]
    sys.orig_argv = [sys.executable, *asked["options"], *sys.argv]
    if asked["module"].endswith(".py"):
        os._exit(_ended(partial(runpy.run_path, asked["module"], run_name="__main__")))
    sys.path.insert(0, os.getcwd())
    os._exit(_ended(partial(runpy.run_module, asked["module"], run_name="__main__", alter_sys=True)))


def _show_environment() -> None:
    """Let others see the environment of this process (`/proc/PID/environ`), instead of that of the server.

    They see a piece of the stack, where the system put it (`env_start` and `env_end`, proc(5)). Nothing points there
    since `os.environ` was cleared.
    """
    try:
        with open("/proc/self/stat", "rb") as status:
            start, end = map(int, status.read().rpartition(b")")[2].split()[47:49])
    except OSError:
        return
    told = b"".join([key + b"=" + value + b"\0" for key, value in os.environb.items()])
    assert len(told) <= end - start, f"the server was started without {ROOM}"
    ctypes.memset(start, 0, end - start)
    ctypes.memmove(start, told, len(told))


def _fork_what_starts(asked: dict[str, Any]) -> None:
    """Have `subprocess` clone the nursery where it would start the program that is forked, too."""
    ours, theirs = socket.socketpair()
    if not os.fork():
        ours.close()
        _be_nursery(theirs)
    theirs.close()
    start = subprocess._fork_exec  # type: ignore[attr-defined]
    usual = _read_at_start(asked["environment"])

    def fork_exec(command: list[str], *rest: Any) -> int:
        environment = dict([os.fsdecode(each).split("=", 1) for each in rest[4] or ()])
        if command[-3:-2] != [asked["forked"]] or _read_at_start(environment) != usual:
            return int(start(command, *rest))
        streams, descriptors = [rest[5], rest[8], rest[10]], [int(each) for each in command[-2:]]
        request = {"module": asked["forked"], "options": command[1:-3], "arguments": ["3", "4"], "forked": ""}
        request |= {"cwd": os.getcwd(), "environment": environment, "path": asked["path"]}
        channel, other = socket.socketpair()
        with other:
            socket.send_fds(ours, [b"."], [*streams, *descriptors, other.fileno()])
        channel.sendall(json.dumps(request).encode())
        channel.shutdown(socket.SHUT_WR)
        with channel, channel.makefile() as lines:
            return int(lines.readline())

    subprocess._fork_exec = fork_exec  # type: ignore[attr-defined]


def _be_nursery(control: socket.socket) -> None:
    """Clone this process for each request, until the one above is gone. Each clone is a child of that one."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for each in range(3):
        os.dup2(nowhere, each)
    os.close(nowhere)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    clone = ctypes.PyDLL(None).syscall  # which keeps the lock of the interpreter, as the clone has no other thread
    while files := socket.recv_fds(control, 1, 6)[1]:
        child = clone(_CLONE, _CLONE_PARENT | signal.SIGCHLD, 0, 0, 0, 0)
        if child == 0:
            os.setsid()
            _become(*files)
        _channel_to(child, files).close()
    os._exit(0)


def _read_at_start(environment: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in environment.items() if key.startswith(READ_AT_START)}


def _ended(run: Callable[[], object]) -> int:
    """Run a program; the exit code of the interpreter.

    What an interpreter does at its end is done but for one thing: to take every module apart. That would copy each page
    of memory that is shared with the server, and cost more than most commands.
    """
    code: object = 0
    try:
        run()
    except SystemExit as ended:
        code = ended.code
    except BaseException:  # noqa: BLE001 - as an interpreter
        sys.excepthook(*sys.exc_info())
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    if isinstance(code, str):
        print(code, file=sys.stderr)
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except OSError:
        return _COULD_NOT_FLUSH
    return code & 0xFF if isinstance(code, int) else int(code is not None)


def _stream(number: int, name: str) -> io.TextIOWrapper:
    """A standard stream as the interpreter makes it."""
    usual: io.TextIOWrapper = getattr(sys, f"__{name}__")
    encoding, _, errors = os.environ.get("PYTHONIOENCODING", "").partition(":")
    is_read, is_error = name == "stdin", name == "stderr"
    raw = io.FileIO(number, "r" if is_read else "w", closefd=False)
    raw.name = f"<{name}>"
    is_unbuffered = bool(os.environ.get("PYTHONUNBUFFERED"))
    stream = io.TextIOWrapper(
        io.BufferedReader(raw) if is_read else raw if is_unbuffered else io.BufferedWriter(raw),
        encoding=codecs.lookup(encoding).name if encoding else usual.encoding,
        errors=usual.errors if is_error else errors or ("strict" if encoding else usual.errors),
        newline="\n",
        line_buffering=not is_unbuffered and (is_error or raw.isatty()),
        write_through=is_unbuffered,
    )
    stream.mode = raw.mode[0]  # type: ignore[misc]
    return stream


if __name__ == "__main__":
    main(socket.socket(fileno=int(sys.argv[1])), sys.argv[2:])
