"""Every way a command can end, in every format: what decides the exit code decides all of them."""

import json
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import pytest
from tests.processes import rightcall
from tests.reading.traces import call, line, span

CHECKS = """
def whole(calls):
    if any(call.name == "boom" for call in calls):
        raise ConnectionError("no answer")
    return True
"""
FILES = {"junit": "j.xml", "github": "g.txt", "markdown": "m.md", "html": "h.html", "json": "o.json", "full": "f.txt"}
REPORTED = tuple([name for name in FILES if name != "full"])
QUARANTINE = "quarantine: {reason: the stock is unreliable, until: 2999-12-31}"
ENDED = "quarantine: {reason: the stock is unreliable, until: 2020-12-31}"


class Outcome(NamedTuple):
    """Recorded trials of cases, a letter each (`p f ? !`), the exit code that comes of them, and what is asked."""

    trials: dict[str, str]
    code: int
    options: tuple[str, ...] = ()
    cases: dict[str, str] = {}
    """Other keys of single cases."""
    base: tuple[str, ...] = ("a", "b")
    """The cases of the baseline, five trials each, all passed."""
    overall: str = ""


OUTCOMES = {
    "passed": Outcome({"a": "p", "b": "p"}, 0),
    "failed": Outcome({"a": "f", "b": "p"}, 1),
    "error": Outcome({"a": "!", "b": "p"}, 2),
    "not measured": Outcome({"a": "?", "b": "p"}, 2),
    "failed beside an error": Outcome({"a": "f", "b": "!"}, 1),
    "flaky": Outcome({"a": "pfp", "b": "ppp"}, 1),
    "flaky, and enough passed": Outcome({"a": "pfp", "b": "ppp"}, 0, cases={"a": "min_repeat_pass: 2"}),
    "flaky beside an error": Outcome({"a": "pf!", "b": "ppp"}, 2, cases={"a": "min_repeat_pass: 2"}),
    "quarantined": Outcome({"a": "f", "b": "p"}, 0, cases={"a": QUARANTINE}),
    "quarantined, and broken": Outcome({"a": "!", "b": "p"}, 0, cases={"a": QUARANTINE}),
    "quarantined, and flaky": Outcome({"a": "pfp", "b": "ppp"}, 0, cases={"a": QUARANTINE}),
    "quarantine ended": Outcome({"a": "f", "b": "p"}, 1, cases={"a": ENDED}),
    "only quarantined": Outcome({"a": "f"}, 2, cases={"a": QUARANTINE}),
    "overall failed": Outcome({"a": "p", "b": "p"}, 1, overall='{type: "checks.py:never"}'),
    "gate worse": Outcome({"a": "fffff", "b": "ppppp"}, 1, ("--gate", "base.json")),
    "gate no worse": Outcome({"a": "fpppp", "b": "ppppp"}, 0, ("--gate", "base.json", "--rule-out", "1")),
    "gate inconclusive": Outcome({"a": "fpppp", "b": "ppppp"}, 0, ("--gate", "base.json")),
    "gate inconclusive, and that fails": Outcome(
        {"a": "fpppp", "b": "ppppp"}, 2, ("--gate", "base.json", "--inconclusive", "fail")
    ),
    "gate, errors decide": Outcome({"a": "!!!!f", "b": "ppppp"}, 2, ("--gate", "base.json")),
    "gate, a new case fails": Outcome(
        {"a": "ppppp", "b": "fffff"}, 1, ("--gate", "base.json", "--rule-out", "1"), base=("a",)
    ),
    "gate, the worse case is in quarantine": Outcome(
        {"a": "fffff", "b": "ppppp"}, 0, ("--gate", "base.json"), cases={"a": QUARANTINE}
    ),
    "must failed": Outcome({"a": "pfp", "b": "ppp"}, 1, ("--must", "safety"), cases={"a": "tags: [safety]"}),
    "must passed": Outcome({"a": "ppp", "b": "ppp"}, 0, ("--must", "safety"), cases={"a": "tags: [safety]"}),
    "min-rate missed": Outcome({"a": "ffffffff", "b": "ffffffff"}, 1, ("--min-rate", "0.9")),
    "min-rate not told": Outcome({"a": "ppp", "b": "ppp"}, 2, ("--min-rate", "0.9")),
    "min-rate reached": Outcome({"a": "p" * 8, "b": "p" * 8}, 0, ("--min-rate", "0.2")),
}


def eval_set(folder: Path, outcome: Outcome) -> None:
    overall = f"overall: {{all: {outcome.overall}}}\n" if outcome.overall else ""
    lines = [
        f"  - {{id: {case}, {f'{more}, ' if (more := outcome.cases.get(case, '')) else ''}"
        "expect: {calls: {match: in_order, expected: [search, {reserve: {item: x}}]}, whole: true}}"
        for case in outcome.trials
    ]
    evaluators = 'evaluators: {whole: {type: "checks.py:whole"}}\n'
    (folder / "shop.yaml").write_text(f"{evaluators}{overall}cases:\n" + "\n".join(lines) + "\n")
    (folder / "rightcall.toml").touch()
    (folder / "checks.py").write_text(CHECKS + "\ndef never(rows):\n    return 0.0\n")


def traces(folder: Path, name: str, trials: dict[str, str]) -> str:
    with (folder / name).open("wb") as file:
        for number, (case, letter) in enumerate((case, each) for case, letters in trials.items() for each in letters):
            trace = f"{number + 1:032x}"
            made = [call(2, "search", traceId=trace, parent=1)]
            if letter == "p":
                made.append(call(3, "reserve", '{"item": "x"}', traceId=trace, parent=1))
            elif letter == "?":
                made.append(span(3, {"tool.name": "reserve", "output.value": "ok"}, traceId=trace, parent=1))
            elif letter == "!":
                made += [call(3, "reserve", '{"item": "x"}', traceId=trace, parent=1)]
                made += [call(4, "boom", traceId=trace, parent=1)]
            file.write(line(span(1, {"rightcall.case.id": case}, traceId=trace), *made))
    return name


def written(folder: Path, *command: str, formats: tuple[str, ...]) -> tuple[int, str, dict[str, str]]:
    """What a command gives back and prints, and the files of all formats."""
    asked = [f"--format={name}={FILES[name]}" for name in formats]
    done = rightcall(*command, *asked, cwd=folder)
    assert not done.stderr or "not complete" in done.stderr, done.stderr
    return done.returncode, done.stdout, {name: (folder / FILES[name]).read_text() for name in formats}


def check(code: int, texts: dict[str, str]) -> None:
    """Every format says what the exit code says."""
    suites = ElementTree.fromstring(texts["junit"].encode())
    assert (int(suites.attrib["failures"]) > 0) == (code == 1), texts["junit"]
    assert (int(suites.attrib["errors"]) > 0) >= (code == 2), texts["junit"]
    assert code != 0 or suites.attrib["errors"] == "0", texts["junit"]
    heading = texts["markdown"].splitlines()[0]
    assert ("❌" in heading) == (code == 1), heading
    assert ("✅" in heading) <= (code == 0), heading
    assert ("::error" in texts["github"]) >= (code == 1), texts["github"]
    assert code != 0 or "::error" not in texts["github"], texts["github"]
    assert ("::warning" in texts["github"] or "::error" in texts["github"]) >= (code == 2), texts["github"]
    assert f'data-exit="{code}"' in texts["html"]
    assert json.loads(texts["json"])["exit_code"] == code


@pytest.fixture(scope="module")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A baseline file of two cases that passed five times each."""
    folder = tmp_path_factory.mktemp("base")
    trials = {"a": "ppppp", "b": "ppppp"}
    eval_set(folder, Outcome(trials, 0))
    recorded = traces(folder, "base.jsonl", trials)
    assert rightcall("score", recorded, "--evalset", "shop.yaml", "--keep", cwd=folder).returncode == 0
    assert rightcall("baseline", "last", "--to", "base.json", cwd=folder).returncode == 0
    return (folder / "base.json").read_text()


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_format_says_what_the_exit_code_says(name: str, tmp_path: Path, baseline: str) -> None:
    outcome = OUTCOMES[name]
    eval_set(tmp_path, outcome)
    base = json.loads(baseline)
    base["cases"] = {case: base["cases"][case] for case in outcome.base}
    (tmp_path / "base.json").write_text(json.dumps(base))
    recorded = traces(tmp_path, "new.jsonl", outcome.trials)

    code, printed, texts = written(
        tmp_path, "score", recorded, "--evalset", "shop.yaml", "--keep", *outcome.options, formats=tuple(FILES)
    )
    _, _, again = written(tmp_path, "report", "last", formats=REPORTED)

    assert code == outcome.code, printed
    check(code, texts)
    check(code, again)
    assert again["junit"].count("<testcase") == texts["junit"].count("<testcase")
    assert printed.splitlines()[-1].endswith(texts["full"].splitlines()[-1])
