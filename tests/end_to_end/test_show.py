"""`rightcall show`, in a real process, on recordings of real frameworks."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.processes import rightcall, rightcall_bytes
from tests.reading import corpus
from tests.reading.logs import refund
from tests.reading.test_langfuse import ROOT, TOOL, trace
from tests.reading.test_transcripts import inspect_log, sample
from tests.reading.traces import call, request, span
from tests.waiting import PATIENCE

SHOWN = [
    ("pydantic-ai/trip-pkg2-fmt5", "otlp.json"),
    ("pydantic-ai/trip-pkg2-fmt5-nocontent", "otlp.json"),
    ("openai-agents-openinference/nested", "spans.jsonl"),
    ("langgraph-openllmetry/identical-parallel", "otlp.pb"),
    ("google-adk/abort-2.13.0", "otlp.json"),
    ("raw-chat-openinference/trip", "otlp.json"),
    ("smolagents-openinference/trip-codeagent", "otlp.json"),
    ("mcp-sdk/trip", "otlp.json"),
    ("uipath/trip-weather_tools-style", "otlp.json"),
    ("pydantic-ai/trip-pkg2-fmt5", "messages.json"),
]


def show(*arguments: str | Path, stdin: bytes = b"", **environment: str) -> subprocess.CompletedProcess[bytes]:
    with pytest.MonkeyPatch.context() as patch:
        for variable in ("FORCE_COLOR", "NO_COLOR"):
            patch.delenv(variable, raising=False)
        environment.setdefault("COLUMNS", "80")
        return rightcall_bytes("show", *map(str, arguments), cwd=None, stdin=stdin, **environment)


def recorded(folder: Path, run: str, name: str) -> Path:
    path = folder / name
    path.write_bytes(corpus.recordings()[run][name])
    return path


@pytest.mark.parametrize(("run", "name"), SHOWN, ids=[f"{run}/{name}" for run, name in SHOWN])
def test_recordings_are_shown_with_every_call_in_eighty_columns(tmp_path: Path, run: str, name: str) -> None:
    path = recorded(tmp_path, run, name)
    wanted = [made["name"] for made in json.loads(corpus.recordings()[run]["expected.json"])["calls"]]

    done = show(path)
    text = done.stdout.decode()

    assert (done.returncode, done.stderr) == (0, b"")
    assert all(text.count(f"{tool}(") >= wanted.count(tool) for tool in wanted)
    assert max(map(len, text.splitlines()[1:])) <= 80
    assert "\x1b" not in text


def test_ascii_is_enough(tmp_path: Path) -> None:
    done = show(recorded(tmp_path, *SHOWN[0]), PYTHONIOENCODING="ascii")

    assert done.returncode == 0
    assert done.stdout.isascii()
    assert b"/ search_flights" in done.stdout
    assert b"\\ get_weather" in done.stdout


def test_what_was_not_recorded_comes_with_the_setting_that_would_record_it(tmp_path: Path) -> None:
    text = show(recorded(tmp_path, *SHOWN[1])).stdout.decode()

    assert "get_weather(?) → ?" in text
    assert "? not recorded: the arguments of 6 and the outputs of 5 of 6 calls" in text
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=true" in text


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
@pytest.mark.parametrize("force", ["", "1"])
def test_hostile_text_is_shown_and_never_obeyed(tmp_path: Path, encoding: str, force: str) -> None:
    evil = "rm[/] [bold]:smile:\x1b]0;owned\x07\x1b[2J\x9b31m\r\b\u202egnp\n\x00"
    path = tmp_path / "evil.json"
    path.write_text(json.dumps(request(call(1, evil, json.dumps({evil: evil}), evil))))

    done = show(path, PYTHONIOENCODING=encoding, FORCE_COLOR=force)
    text = done.stdout.decode(encoding)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "rm[/] [bold]:smile:\\u001b]0;owned" in text
    assert "owned\x07" not in text
    assert "\x1b[2J" not in text
    assert not set(text) & set("\x00\x07\x08\r\x9b\u202e")


def test_json_has_everything_on_one_line_for_each_trajectory(tmp_path: Path) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(request(call(1, "lookup", '{"z": NaN, "a": 1}'))))

    done = show("--json", path, recorded(tmp_path, *SHOWN[0]))
    first, second = map(json.loads, done.stdout.splitlines())

    assert done.returncode == 0
    assert first["file"] == str(path)
    assert list(first["calls"][0]["args"].items()) == [("z", {"$float": "nan"}), ("a", 1)]
    assert [made["name"] for made in second["calls"]] == [
        "get_weather",
        "search_flights",
        "get_weather",
        "book_hotel",
        "charge_card",
        "charge_card",
    ]
    assert second["calls"][4]["error"] == "card declined"


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_shown(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.json"
    wrong.write_text('{"hello": "world"}')

    done = show(tmp_path / "missing.json", wrong, recorded(tmp_path, *SHOWN[0]))
    first, second = done.stderr.decode().splitlines()

    assert done.returncode == 2
    assert "missing.json: No such file" in first
    assert "wrong.json: neither spans nor messages of a known format; looked for OTLP" in second
    assert b"6 calls" in done.stdout


def test_nothing_to_show_is_not_a_success(tmp_path: Path) -> None:
    path = tmp_path / "empty.json"
    path.write_text('{"resourceSpans": []}')

    done = show(path)

    assert (done.returncode, done.stdout) == (2, b"")
    assert b"empty.json: no spans in it and no" in done.stderr


@pytest.mark.parametrize("name", ["last", "nowhere.json"])
def test_a_name_of_neither_a_run_nor_a_file_says_both(tmp_path: Path, name: str) -> None:
    done = rightcall("show", name, cwd=tmp_path)

    assert done.returncode == 2
    assert done.stderr == (
        f"rightcall: {name}: neither a file nor a run: .rightcall/runs: there are no runs here yet\n"
    )


def test_lines_of_trajectories_are_shown_as_they_are_scored(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_text('{"id": "r1", "calls": [{"name": "search", "args": {"q": "Oslo"}}, {"name": "book"}]}\n')

    done = show(path)

    assert done.returncode == 0
    assert 'search(q="Oslo")' in done.stdout.decode()
    assert "r1" in done.stdout.decode()


def test_a_trace_without_tool_data_is_told_from_one_without_calls(tmp_path: Path) -> None:
    silent = tmp_path / "silent.json"
    silent.write_text(json.dumps(request(span(1, name="GET /"))))
    talking = tmp_path / "talking.json"
    talking.write_text(json.dumps([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]))

    text = show(silent, talking).stdout.decode()

    assert "no tool data: cannot tell whether tools were called" in text
    assert "note: no tool data in this trace" in text
    assert text.endswith("talking.json\nno calls\ninput: Hi\noutput: Hello\n\nread as messages\n")


def test_standard_input_grouping_format_and_size_are_options(tmp_path: Path) -> None:
    data = recorded(tmp_path, *SHOWN[0]).read_bytes()

    assert (
        b"6 calls" in show("-", "--group-by", "file", "--input-format", "otlp", "--max-size", "10MB", stdin=data).stdout
    )
    assert b"more than the limit of 1,024 bytes" in show("-", "--max-size", "1k", stdin=data).stderr
    assert show("-", stdin=data).stdout.startswith(b"<stdin>")
    assert b"standard input is read by itself" in show("--together", "-", "a.json").stderr
    assert b"'lots' is not a size" in show("-", "--max-size", "lots", stdin=data).stderr
    assert show("-", "--input-format", "jaeger", stdin=data).returncode == 2


def test_a_reader_that_stops_reading_is_no_failure(tmp_path: Path) -> None:
    path = tmp_path / "many.json"
    path.write_text(json.dumps(request(*[call(number) for number in range(2000)])))

    for mode in ([], ["--json"]):
        command = [sys.executable, "-m", "rightcall", "show", *mode, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 130


def test_log_records_complete_the_spans_they_are_read_with(tmp_path: Path) -> None:
    run = "pydantic-ai/trip-pkg1-fmt1-logs"
    files = [recorded(tmp_path, run, name) for name in ("otlp.json", "otlp_logs.json")]

    done = show("--together", *files)

    assert done.returncode == 0
    assert done.stdout.count(b"trace ") == 1
    assert b"otlp.json and 1 more" in done.stdout


def test_a_table_whose_column_names_are_not_text_costs_that_file(tmp_path: Path) -> None:
    spans = [{"context.span_id": "1", "context.trace_id": "2", "name": "a", "start_time": 1, "end_time": 2}]
    parquet.write_table(pa.Table.from_pylist(spans), tmp_path / "bad.parquet")
    data = (tmp_path / "bad.parquet").read_bytes()
    for place in [found.start() + 3 for found in re.finditer(b"end_time", data)]:
        (tmp_path / "bad.parquet").write_bytes(data[:place] + b"\xf7" + data[place + 1 :])
        for command in (
            ("show",),
            ("score", "--expect", "calls: []"),
            ("score", "--expect", "calls: []", "--out", "o"),
        ):
            done = rightcall(*command, "bad.parquet", cwd=tmp_path)

            assert done.returncode in (0, 2), (done.stderr, place)
            assert "Traceback" not in done.stderr


BREAKING = """\
import sys
from rightcall.cli import main
from rightcall.cli import _show

def break_with(*_):
    raise ZeroDivisionError("a trace said \\x1b]0;owned\\x07")

_show.found_files = break_with
sys.argv = ["rightcall", "show", sys.executable]
main()
"""


def test_a_defect_is_told_without_anything_that_a_terminal_obeys() -> None:
    done = subprocess.run([sys.executable, "-c", BREAKING], capture_output=True, text=True, timeout=PATIENCE)

    assert done.returncode == 3
    assert "ZeroDivisionError: a trace said" in done.stderr
    assert "this is a defect in Rightcall" in done.stderr
    assert "\x1b" not in done.stderr
    assert "\x07" not in done.stderr


@pytest.mark.parametrize(
    ("document", "line"),
    [
        (request(call(1)), "read as otlp; calls by tool.name"),
        (refund(), "read as messages; calls by OpenAI chat"),
        ({"messages": refund(), "notes": "…", "task_id": 7}, "read as messages; calls by OpenAI chat; not used: notes"),
        (inspect_log(sample()), "read as Inspect; not used: version, status, eval"),
        (trace(ROOT, TOOL), "read as langfuse; calls by langfuse"),
    ],
    ids=["spans", "messages", "messages beside other keys", "transcript", "export"],
)
def test_what_a_file_was_taken_for_is_told(document: object, line: str) -> None:
    done = show("-", stdin=json.dumps(document).encode())

    assert done.stdout.decode().rstrip().splitlines()[-1] == line


def test_a_key_that_would_do_harm_is_shown_as_an_escape() -> None:
    done = show("-", stdin=json.dumps({"messages": refund(), "\x1b[31mred": "x"}).encode())

    assert b"not used" in done.stdout
    assert b"\x1b" not in done.stdout


def test_what_a_command_wrote_to_standard_error_is_shown_where_it_did_well_too(tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(
        "import sys\nprint('first', *range(30), sep='\\n', file=sys.stderr)\nprint('ok')"
    )
    (tmp_path / "e.yaml").write_text("cases: [{id: a, input: hi, expect: {output: ok}}]")
    ran = rightcall("run", "cmd:python3 agent.py", "e.yaml", cwd=tmp_path)

    told = rightcall("show", "last", cwd=tmp_path).stdout

    assert ran.returncode == 0, ran.stdout
    assert "standard error, the last 20 of 31 lines:\n  10\n  11\n" in told
    assert "first" not in told
