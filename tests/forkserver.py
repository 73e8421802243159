"""A process that has imported a program, and forks itself for each command. `forking.py` starts it and asks it.

`python forkserver.py CONTROL MODULE…` imports the modules (a name that ends with `.py` is a file to run), then waits on
the socket CONTROL. A request is four descriptors: standard input, output and error of the command, and a channel. The
child reads from the channel what to run, where, and with which environment; it becomes what a fresh interpreter would
be, and ends as one. The server writes the child's process id to the channel, and later its exit code.
"""

import atexit
import codecs
import contextlib
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import selectors
import signal
import socket
import sys
import threading
import time

_THREADED = ("deltalake", "pyarrow", "pyspark", "ray")
"""Packages that start threads when they are imported."""
_OPEN_AT_MOST = 4096
_COULD_NOT_FLUSH = 120
"""The exit code of an interpreter that could not write its last words."""


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
    """Be the program that the channel asks for, with no descriptors but the three of its standard streams."""
    *streams, number = files
    with open(number, "rb") as channel:
        asked = json.load(channel)
    for target, each in enumerate(streams):
        os.dup2(each, target)
    os.closerange(3, _OPEN_AT_MOST)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(asked["cwd"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    time.tzset()
    sys.dont_write_bytecode = bool(os.environ.get("PYTHONDONTWRITEBYTECODE"))
    sys.path[:0] = [os.getcwd(), *asked["path"]]
    for place, name in enumerate(("stdin", "stdout", "stderr")):
        stream = _stream(place, name)
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.argv = [asked["module"], *asked["arguments"]]
    sys.orig_argv = [sys.executable, "-m", *sys.argv]
    os._exit(_ended(asked["module"]))


def _ended(module: str) -> int:
    """Run a module; the exit code of the interpreter.

    What an interpreter does at its end is done but for one thing: to take every module apart. That would copy each page
    of memory that is shared with the server, and cost more than most commands.
    """
    code: object = 0
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
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
