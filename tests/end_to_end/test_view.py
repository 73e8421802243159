"""`rightcall view` as a real process on a real port."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path

import pytest
from tests.processes import rightcall
from tests.reporting.viewer.viewing import RIGHT, new_run, results_of
from tests.waiting import PATIENCE

from rightcall.errors import install_command

SECRET = "a-token-that-is-long-enough"


class Server:
    """A viewer in a process of its own."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdout is not None
        self.process = process
        self.line = process.stdout.readline()
        found = re.match(r"http://([^/]*):(\d+)/ ", self.line)
        assert found is not None, self.line
        self.host, self.port = found[1], int(found[2])

    def get(self, path: str, method: str = "GET", **headers: str) -> tuple[HTTPResponse, str]:
        connection = HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        given = {key.replace("_", "-"): value for key, value in headers.items()}
        connection.request(method, path, headers=given)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def raw(self, data: bytes) -> bytes:
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(data)
            connection.shutdown(socket.SHUT_WR)
            return b"".join(iter(lambda: connection.recv(65536), b""))

    def end(self) -> tuple[int, str]:
        """Interrupt it; its exit code, and everything else that it printed."""
        self.process.send_signal(signal.SIGINT)
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, out + err


@contextmanager
def viewer(*arguments: str, cwd: Path | None = None, **environment: str) -> Iterator[Server]:
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", "view", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, **environment},
    )
    try:
        yield Server(process)
    finally:
        process.kill()
        process.communicate()


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    new_run(tmp_path / "runs", *results_of(tmp_path, laptop_search=RIGHT))
    return tmp_path / "runs"


def test_it_says_where_it_is_shows_runs_keeps_no_log_and_ends_well(runs: Path) -> None:
    with viewer(str(runs), "--port", "0") as server:
        answer, page = server.get("/")
        missing, _ = server.get("/nothing")
        code, rest = server.end()

    assert server.line == f"http://127.0.0.1:{server.port}/  shows {runs}; Ctrl-C stops it\n"
    assert (answer.status, missing.status) == (200, 404)
    assert "shop.yaml" in page
    assert "server" not in answer.headers
    assert (code, rest) == (0, "")


def link(path: str) -> str:
    """Where a link leads to; nowhere, if it was closed in the meantime."""
    try:
        return os.readlink(path)
    except FileNotFoundError:
        return ""


def listening(pid: int) -> list[str]:
    """The addresses that a process listens at, in the hexadecimal of the kernel."""
    descriptors = [link(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")]
    sockets = {found[1] for each in descriptors if (found := re.fullmatch(r"socket:\[(\d+)\]", each))}
    lines = [
        line.split() for file in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{file}").read_text().splitlines()
    ]
    return [line[1].partition(":")[0] for line in lines if line[3] == "0A" and line[9] in sockets]


@pytest.mark.skipif(sys.platform != "linux", reason="asks the kernel of Linux")
def test_it_listens_to_this_machine_only(runs: Path) -> None:
    with viewer(str(runs), "--port", "0") as server:
        server.get("/")

        assert listening(server.process.pid) == ["0100007F"]


def test_a_port_that_is_taken_is_told_and_another_one_found_unless_it_was_asked_for(runs: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        done = rightcall("view", str(runs), "--port", port)

    assert done.returncode == 2
    assert done.stderr == f"rightcall: --port {port}: Address already in use\n"


def test_two_viewers_without_a_port_are_at_two(runs: Path) -> None:
    with viewer(str(runs)) as first, viewer(str(runs)) as second:
        assert first.port != second.port
        assert second.get("/")[0].status == 200
        _, told = second.end()

    assert "port 8732 is taken, so another one is used" in told


WRONG = [
    (("nowhere",), r"nowhere: no such folder; runs are in \.rightcall/runs"),
    (("run.json",), r"run\.json: not a folder"),
    (("--host", "0.0.0.0"), r"--host 0\.0\.0\.0: others than you can reach this address; give --token"),
    (("--host", "::"), r"--host ::: others than you can reach"),
    (("--host", "example.invalid"), r"--host example\.invalid: others than you can reach"),
    (("--host", "203.0.113.9", "--token-file", "token"), r"--host 203\.0\.113\.9: Cannot assign requested address"),
    (("--token",), r"there is no terminal to show the new token on; use --token-file, or set RIGHTCALL_VIEW_TOKEN"),
    (("--token-file", "nothing"), r"--token-file nothing: No such file or directory"),
    (("--token-file", "run.json"), r"a token has 16 to 1,024 ASCII characters"),
    (("--port", "65536"), r"Invalid value for '--port'"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG, ids=[" ".join(arguments) for arguments, _ in WRONG])
def test_what_cannot_be_done_is_one_line_before_anything_listens(
    tmp_path: Path, arguments: tuple[str, ...], told: str
) -> None:
    (tmp_path / "run.json").write_text("short")
    (tmp_path / "token").write_text(SECRET)

    done = rightcall("view", *arguments, cwd=tmp_path)

    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(rf"rightcall: .*{told}.*\n", done.stderr)


def test_another_address_with_a_token_answers_nobody_without_it(tmp_path: Path, runs: Path) -> None:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    with viewer(str(runs), "--host", "0.0.0.0", "--port", "0", "--token-file", str(tmp_path / "token")) as server:
        without, page = server.get("/")
        known, _ = server.get("/", authorization=f"Bearer {SECRET}")
        told = Path(f"/proc/{server.process.pid}/cmdline").read_text()
        _, rest = server.end()

    assert (without.status, known.status) == (401, 200)
    assert "shop.yaml" not in page
    assert SECRET not in told + server.line + rest


def test_the_token_may_come_from_the_environment_and_holds_on_this_machine_as_well(runs: Path) -> None:
    with viewer(str(runs), "--port", "0", RIGHTCALL_VIEW_TOKEN=SECRET) as server:
        assert server.get("/style.css")[0].status == 401
        assert server.get("/style.css", authorization=f"Bearer {SECRET}")[0].status == 200


def test_a_token_that_is_made_is_shown_to_the_terminal_once_and_never_on_standard_output(runs: Path) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "rightcall", "view", str(runs), "--port", "0", "--token"],
        stdout=subprocess.PIPE,
        stderr=theirs,
        text=True,
    )
    try:
        server = Server(process)
        shown = re.fullmatch(r"token: (\S{30,})\r\n", os.read(ours, 1_000).decode())
        assert shown is not None
        assert shown[1] not in server.line
        assert server.get("/")[0].status == 401
        assert server.get("/", authorization=f"Bearer {shown[1]}")[0].status == 200
    finally:
        process.kill()
        process.communicate()
        os.close(ours)
        os.close(theirs)


def test_before_there_are_runs_a_page_says_so_and_they_appear(tmp_path: Path) -> None:
    with viewer("--port", "0", cwd=tmp_path) as server:
        before = server.get("/")[1]
        run = new_run(tmp_path / ".rightcall" / "runs", *results_of(tmp_path, laptop_search=RIGHT))
        after = server.get("/")[1]

    assert "No runs yet" in before
    assert run.short_id in after


def test_a_project_is_shown_by_its_folder(tmp_path: Path) -> None:
    run = new_run(tmp_path / ".rightcall" / "runs", *results_of(tmp_path, laptop_search=RIGHT))
    with viewer(str(tmp_path), "--port", "0") as server:
        assert run.short_id in server.get("/")[1]


RAW = {
    "no host": (b"GET / HTTP/1.0\r\n\r\n", b"400"),
    "two hosts": (b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil\r\n\r\n", b"400"),
    "another host in the address": (b"GET http://evil/ HTTP/1.1\r\nHost: evil\r\n\r\n", b"400"),
    "a web socket": (
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        b"403",
    ),
    "a way out": (b"GET /runs/../../../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n", b"404"),
    "no HTTP": (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", b"400"),
    "a header without end": (b"GET / HTTP/1.1\r\nX: " + b"a" * 30_000, b"400"),
}


@pytest.mark.parametrize("name", RAW)
def test_requests_that_no_browser_makes_are_refused(runs: Path, name: str) -> None:
    request, status = RAW[name]
    with viewer(str(runs), "--port", "0") as server:
        answer = server.raw(request.replace(b"{port}", str(server.port).encode()))
        still, _ = server.get("/")

    assert answer.split(b" ")[1] == status
    assert b"access-control" not in answer.lower()
    assert b"root:" not in answer
    assert still.status == 200


@pytest.mark.parametrize("missing", ["jinja2", "starlette", "uvicorn"])
def test_without_the_extra_one_line_names_it(missing: str) -> None:
    hidden = f"import sys; sys.modules[{missing!r}] = None; sys.argv = ['rightcall', 'view']"
    code = f"{hidden}\nimport rightcall.cli\nrightcall.cli.main()"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE)

    assert done.returncode == 2
    assert done.stderr == f"rightcall: web pages need {missing}: {install_command()}\n"


def test_a_browser_is_opened_if_it_is_wanted(tmp_path: Path, runs: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}.part && mv {opened}.part {opened}\n')
    browser.chmod(0o700)
    with viewer(str(runs), "--port", "0", "--open", BROWSER=f"{browser} %s") as server:
        assert server.get("/", "HEAD")[1] == ""
        server.end()

    assert opened.read_text() == f"http://127.0.0.1:{server.port}/\n"


def test_requests_that_are_never_sent_whole_lock_nobody_out(runs: Path) -> None:
    with viewer(str(runs), "--port", "0") as server, ExitStack() as opened:
        half = [
            opened.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=20)) for _ in range(150)
        ]
        for connection in half:
            with suppress(ConnectionError):
                connection.sendall(b"GET / HTTP/1.1\r\nHost: 127")

        answer, page = server.get("/")

        assert (answer.status, "shop.yaml" in page) == (200, True)
        assert has_ended(half[0])
        assert has_ended(half[-1])  # after a while, though nothing takes its place


def has_ended(connection: socket.socket) -> bool:
    """Whether the other side ends a connection, before a read of it times out."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True
