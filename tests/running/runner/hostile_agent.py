"""An agent that does to its process whatever its input says."""

from __future__ import annotations

import asyncio
import builtins
import ctypes
import json
import locale
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rightcall.running.tracing import tool


class Doom(BaseException):
    """What nobody catches."""


@tool
def look_up(word: str) -> dict[str, Any]:
    """Depend on what others may have altered: the directory, the time, json, the locale, the umask."""
    with open("here.txt", encoding="utf-8") as file:
        held = file.read()
    assert time.time() > 1
    assert json.loads(json.dumps([1])) == [1]
    mask = os.umask(0o022)
    os.umask(mask)
    return {"word": word, "held": held, "mask": mask, "interrupt": repr(signal.getsignal(signal.SIGINT))[:20]}


def answer(input: dict[str, Any]) -> Any:
    found = look_up(input["word"])
    print("looked up", input["word"])
    DEEDS[input["deed"]]()
    return {"found": found, "numbers": [1, 2.5, None, True]}


async def answer_waiting(input: dict[str, Any]) -> Any:
    await asyncio.sleep(0.01)
    found = look_up(input["word"])
    print("looked up", input["word"])
    if input["deed"] in WAITING_DEEDS:
        await WAITING_DEEDS[input["deed"]]()
    else:
        DEEDS[input["deed"]]()
    return {"found": found, "numbers": [1, 2.5, None, True]}


def give_back_socket(input: dict[str, Any]) -> Any:
    look_up(input["word"])
    return {"open": [socket.socket()]} if input["deed"] else "text"


def _nothing() -> None:
    pass


def _hang() -> None:
    time.sleep(1000)


def _spin() -> None:
    re.fullmatch(r"(a+)+b", "a" * 60)


def _hold() -> None:
    """Keep the interpreter to itself, as a pattern that backtracks does, but without the seconds of CPU."""
    while True:
        ctypes.PyDLL(None).sleep(1000)


def _raise(problem: BaseException) -> Callable[[], None]:
    def deed() -> None:
        raise problem

    return deed


def _segfault() -> None:
    ctypes.string_at(0)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)


def _allocate() -> None:
    held = []
    while True:
        held.append(bytearray(16 << 20))
        time.sleep(0.005)


def _fork() -> None:
    for number in range(50):
        if os.fork() == 0:
            if number % 2:
                os.setsid()
            time.sleep(1000)


def _start_programs() -> None:
    subprocess.Popen(["sleep", "1000"], start_new_session=True)


def _close_streams() -> None:
    os.closerange(0, 3)


def _close_python_streams() -> None:
    sys.stdout.close()
    sys.stderr.close()


def _print_much() -> None:
    piece = b"\xff\x00garbage" * 10_000
    for _ in range(100_000_000 // len(piece)):
        os.write(1, piece)


def _leave() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    shutil.rmtree(folder)


def _alter() -> None:
    os.umask(0)
    locale.setlocale(locale.LC_ALL, "C.UTF-8")
    for each in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
        if threading.current_thread() is threading.main_thread():
            signal.signal(each, signal.SIG_IGN)


def _leak_threads() -> None:
    for _ in range(100):
        threading.Thread(target=time.sleep, args=(1000,)).start()


def _leave_executor() -> None:
    ThreadPoolExecutor().submit(time.sleep, 1000)


def _patch() -> None:
    time.time = lambda: 0.0
    setattr(json, "dumps", lambda *_, **__: "gotcha")  # noqa: B010 - what no type checker would let through
    setattr(json, "loads", lambda *_, **__: "gotcha")  # noqa: B010
    socket.socket = None  # type: ignore[assignment,misc]
    builtins.print = lambda *_, **__: None


def _delete() -> None:
    del json.load


def _close_everything() -> None:
    os.closerange(3, 256)
    time.sleep(0.2)


async def _wait_for_ever() -> None:
    await asyncio.sleep(1000)


async def _swallow() -> None:
    while True:
        try:
            await asyncio.sleep(1000)
        except asyncio.CancelledError:
            continue


async def _exit_in_task() -> None:
    async def leave() -> None:
        sys.exit(5)

    await asyncio.gather(leave())


DEEDS: dict[str, Callable[[], None]] = {
    "nothing": _nothing,
    "hang": _hang,
    "spin": _spin,
    "hold": _hold,
    "raise": _raise(ValueError("so be it")),
    "doom": _raise(Doom("the end")),
    "interrupt": _raise(KeyboardInterrupt()),
    "exit": lambda: sys.exit(3),
    "exit at once": lambda: os._exit(4),
    "abort": os.abort,
    "segfault": _segfault,
    "stop": _stop,
    "allocate": _allocate,
    "fork": _fork,
    "start programs": _start_programs,
    "close streams": _close_streams,
    "close python streams": _close_python_streams,
    "print much": _print_much,
    "leave": _leave,
    "alter": _alter,
    "leak threads": _leak_threads,
    "leave executor": _leave_executor,
    "patch": _patch,
    "delete": _delete,
    "close everything": _close_everything,
}
WAITING_DEEDS: dict[str, Callable[[], Any]] = {
    "wait for ever": _wait_for_ever,
    "swallow": _swallow,
    "exit in task": _exit_in_task,
}
