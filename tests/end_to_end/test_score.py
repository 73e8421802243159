"""`rightcall score` and `rightcall check`, in a real process, on recorded traces."""

import gzip
import json
import shutil
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pyarrow as pa
import pytest
from pyarrow import parquet
from tests.processes import rightcall

CORPUS = Path(__file__).parents[1] / "data" / "corpus.tar.xz"
TRIP = "langgraph-openinference/trip-react/otlp.json"
BLIND = "google-adk/trip-2.13.0/otlp.json"

EVALSET = """\
defaults: {match: in_order}
cases:
  - id: trip
    tags: [smoke]
    expect:
      calls:
        - get_weather: {city: Tokyo}
        - charge_card: {amount: 1}
      counts: {charge_card: "<= 1"}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("traces")
    with tarfile.open(CORPUS) as corpus:
        for name in (TRIP, BLIND):
            member = corpus.extractfile(name)
            assert member is not None
            (path / Path(name).parts[0]).with_suffix(".json").write_bytes(member.read())
    (path / "shop.yaml").write_text(EVALSET)
    return path


def test_a_recorded_trace_fails_with_file_line_and_argument(folder: Path) -> None:
    done = rightcall("score", "langgraph-openinference.json", "--evalset", "shop.yaml", cwd=folder)

    assert done.returncode == 1
    assert done.stdout.splitlines()[:-1] == [
        "shop.yaml:8:11: RC104 trip: `charge_card` was called with amount 540.0, expected 1",
        "shop.yaml:9:16: RC105 trip: `charge_card` was called 2 times, expected <= 1",
    ]
    assert done.stdout.splitlines()[-1].startswith("1 failed in ")


def test_a_rule_against_a_tool_that_no_trace_has_passes_with_a_note(folder: Path) -> None:
    expected = "never: [Charge_Card]"
    done = rightcall("score", "langgraph-openinference.json", "--expect", expected, cwd=folder)
    written = rightcall("score", "langgraph-openinference.json", "--expect", expected, "--format", "json", cwd=folder)

    note = "note: no trace shows a tool `Charge_Card`, which `never` names; did you mean `charge_card`?"
    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == note
    assert json.loads(written.stdout)["notes"] == [note]


def test_a_rule_that_applies_to_no_trace_is_noted_once(folder: Path, tmp_path: Path) -> None:
    for name in ("langgraph-openinference.json", "google-adk.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    expected = "rules: [{call: '*', at_most: 99}, {call: 'refund*', only_after: verify}]"
    note = "note: the rule `refund*` only after `verify` never applied in 2 cases: no `refund*` was called"

    done = rightcall("score", ".", "--expect", expected, cwd=tmp_path)
    written = rightcall("score", ".", "--expect", expected, "--format", "json", cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout.splitlines().count(note) == 1
    assert note in json.loads(written.stdout)["notes"]


def test_one_expectation_is_held_against_all_traces_of_a_folder(folder: Path, tmp_path: Path) -> None:
    for name in ("langgraph-openinference.json", "google-adk.json"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())

    done = rightcall("score", ".", "--expect", "counts: {charge_card: 2}", cwd=tmp_path)

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("2 passed in ")


def test_a_file_that_is_no_trace_costs_that_file(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "google-adk.json").write_bytes((folder / "google-adk.json").read_bytes())
    (tmp_path / "notes.txt").write_text("remember the milk")

    done = rightcall("score", ".", "--expect", "counts: {charge_card: 2}", cwd=tmp_path)

    assert done.returncode == 2
    assert done.stdout.splitlines()[-1].startswith("1 passed, 1 file not read in ")
    assert "rightcall: notes.txt" in done.stderr


def test_what_was_not_recorded_is_not_measured_and_the_setting_is_named(folder: Path) -> None:
    done = rightcall("score", "google-adk.json", "--expect", "args: [{get_weather: {city: Tokyo}}]", cwd=folder)

    assert done.returncode == 2
    assert "RC301" in done.stdout
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in done.stdout
    assert done.stdout.splitlines()[-1].startswith("1 not measured")


def test_passing_is_quiet_and_exits_with_0(folder: Path) -> None:
    done = rightcall(
        "score", "google-adk.json", "--expect", "calls: {criteria: [get_weather], match: any-order}", cwd=folder
    )

    assert done.returncode == 0
    assert done.stdout.splitlines()[-1].startswith("1 passed in ")


def test_json_has_everything(folder: Path) -> None:
    arguments = ("score", "langgraph-openinference.json", "--evalset", "shop.yaml")
    done = rightcall(*arguments, "--format", "json", "--output-file", "out.json", cwd=folder)

    document = json.loads(done.stdout)
    assert document == json.loads((folder / "out.json").read_text())
    assert document["totals"]["failed"] == 1
    [case] = document["cases"]
    assert case["verdict"] == "failed"
    assert case["findings"][0]["source"]["line"] == 8
    assert len(case["trajectory"]["calls"]) == 6
    assert [each["evaluator"] for each in case["evaluations"]] == ["calls", "counts"]


def test_a_case_without_a_trace_is_not_measured(folder: Path) -> None:
    (folder / "two.yaml").write_text(EVALSET + "  - id: other\n    expect: {calls: []}\n")

    done = rightcall("score", "google-adk.json", "--evalset", "two.yaml", "--join", "order", cwd=folder)

    assert "two.yaml:10:5: RC303 other: no trace belongs to this case" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere.json", "--evalset", "shop.yaml"], "nowhere.json: No such file or directory"),
        (["shop.yaml", "--evalset", "shop.yaml"], "shop.yaml"),
        (["google-adk.json", "--evalset", "google-adk.json"], "google-adk.json:2:2: unknown key 'resourceSpans'"),
        (["google-adk.json"], "--evalset"),
        (
            ["google-adk.json", "--expect", "cals.yaml"],
            "cals.yaml: no such file, and --expect takes a file or an expectation",
        ),
        (["google-adk.json", "--expect", "cals: []"], "--expect:1:1: 'cals' names no evaluator; did you mean 'calls'?"),
        (["google-adk.json", "--evalset", "shop.yaml", "--case", "trp"], "no case matches 'trp'; did you mean 'trip'?"),
        (["google-adk.json", "--evalset", "shop.yaml", "--output-file", "no/such/folder"], "no/such/folder"),
    ],
)
def test_a_wrong_request_says_what_is_wrong_and_exits_with_2(folder: Path, arguments: list[str], message: str) -> None:
    done = rightcall("score", *arguments, cwd=folder)

    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_check_counts_what_is_right_and_places_what_is_wrong(folder: Path) -> None:
    (folder / "wrong.yaml").write_text(EVALSET.replace("counts", "cuonts"))

    done = rightcall("check", "shop.yaml", "wrong.yaml", cwd=folder)

    assert done.returncode == 2
    assert done.stdout == "shop.yaml: 1 case, 2 expectations\n"
    assert done.stderr == "rightcall: wrong.yaml:9:7: 'cuonts' names no evaluator; did you mean 'counts'?\n"


def test_what_is_piped_in_is_scored_as_a_file_is(folder: Path, tmp_path: Path) -> None:
    name, command = "langgraph-openinference.json", ("--evalset", "shop.yaml")
    written = (folder / name).read_text()

    piped = rightcall("score", "-", *command, cwd=folder, stdin=written, TMPDIR=str(tmp_path))
    read = rightcall("score", name, *command, cwd=folder)

    assert piped.returncode == 1
    assert piped.stdout.splitlines()[:-1] == read.stdout.splitlines()[:-1]
    assert [*tmp_path.iterdir()] == []


def test_piped_traces_without_an_id_and_mistakes_in_them_name_standard_input(tmp_path: Path) -> None:
    log = json.dumps([{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}])

    done = rightcall("score", "-", "--expect", "calls: [search]", cwd=tmp_path, stdin=log)
    wrong = rightcall("score", "-", "--expect", "calls: [search]", cwd=tmp_path, stdin="no trace")

    assert "<stdin>#1: `search` was never called" in done.stdout
    assert (wrong.returncode, wrong.stderr.startswith("rightcall: <stdin>: not JSON")) == (2, True)


@pytest.mark.parametrize("more", [("-",), ("--watch",), ("--out", "scores")], ids=["twice", "watched", "into a folder"])
def test_standard_input_is_refused_where_it_would_be_read_again(more: tuple[str, ...], tmp_path: Path) -> None:
    done = rightcall("score", "-", *more, "--expect", "calls: [search]", cwd=tmp_path, stdin="{}")

    assert done.returncode == 2
    assert "standard input (-)" in done.stderr


@pytest.mark.parametrize("command", [("show",), ("score", "--expect", "calls: []")], ids=["show", "score"])
def test_the_address_of_a_server_is_refused_with_what_to_do(command: tuple[str, ...]) -> None:
    done = rightcall(*command, "http://127.0.0.1:9/spans?api_key=abc123")

    assert done.returncode == 2
    assert "http://127.0.0.1:9/spans: this is the address of a server" in done.stderr
    assert "curl … | rightcall" in done.stderr
    assert "abc123" not in done.stderr


@pytest.mark.parametrize("name", ["one.parquet", "one.jsonl", "one.jsonl.gz"])
@pytest.mark.parametrize("out", [(), ("--out", "scores")], ids=["printed", "into a folder"])
def test_tables_and_lines_larger_than_the_limit_are_refused(name: str, out: tuple[str, ...], tmp_path: Path) -> None:
    line = json.dumps({"id": "a", "calls": ["search"]}) + "\n"
    (tmp_path / "one.jsonl").write_text(line)
    (tmp_path / "one.jsonl.gz").write_bytes(gzip.compress(line.encode()))
    parquet.write_table(pa.Table.from_pylist([json.loads(line)]), tmp_path / "one.parquet")

    done = rightcall("score", name, "--expect", "calls: [search]", "--max-size", "10B", *out, cwd=tmp_path)

    assert done.returncode == 2
    assert f"{name}: more than the limit of 10 bytes (max_size)" in done.stderr
    assert "passed" not in done.stdout


def test_files_that_are_not_read_are_counted_and_what_they_have_in_common_is_said_once(
    folder: Path, tmp_path: Path
) -> None:
    shutil.copy(folder / "google-adk.json", tmp_path / "a.json")
    for name in ("b.json", "c.json", "d.json"):
        (tmp_path / name).write_text("no trace")

    done = rightcall("score", ".", "--expect", "counts: {charge_card: 2}", "--format", "junit=out.xml", cwd=tmp_path)
    shown = rightcall("show", ".", cwd=tmp_path)

    for each in (done, shown):
        assert each.returncode == 2
        assert each.stderr.count("looked for OTLP") == 1
        assert "rightcall: c.json: not JSON (line 1, column 1: expecting value)\n" in each.stderr
    assert done.stdout.splitlines()[-1].startswith("1 passed, 3 files not read in ")
    suite = ElementTree.parse(tmp_path / "out.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("errors")) == ("2", "1")
    message = "3 files could not be read, and what is in them was not judged"
    assert [error.get("message") for error in suite.iter("error")] == [message]


@pytest.mark.parametrize("command", [("score", ".", "--expect", "never: [pay]"), ("show", ".")], ids=str)
def test_a_folder_without_files_is_an_error(command: tuple[str, ...], tmp_path: Path) -> None:
    done = rightcall(*command, cwd=tmp_path)

    assert (done.returncode, done.stdout, done.stderr) == (2, "", "rightcall: no files in .\n")
