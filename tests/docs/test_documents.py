"""The documents tell the truth: their code runs, their reference is complete, their links lead somewhere."""

from __future__ import annotations

import ast
import asyncio
import contextlib
import inspect
import io
import json
import re
import tempfile
import tomllib
from pathlib import Path
from typing import Any, get_args

import pytest
from tests.docs.colours import COLOURS, PAGES, Block, blocks_of, screens_of
from tests.processes import rightcall
from tools import api_pages

from rightcall import CaseResult, EvaluationResult, ToolCall, Trajectory, errors
from rightcall.cases.evalsets import _eval_set_file, load_eval_set, load_expectation
from rightcall.cases.verdicts import JOINS
from rightcall.judging import EVALUATORS, SHORTHANDS, UserModel, camel
from rightcall.limits import Limits
from rightcall.matching.matchers import MATCHERS, CallMoment, call_pattern, compile_value
from rightcall.testing.assertions import Calls
from rightcall.values import redaction
from rightcall.values.redaction import SHAPES
from rightcall.values.results import (
    CODES,
    Alignment,
    ExpectationSources,
    Finding,
    Justification,
    PlacedFinding,
    Source,
    Step,
    Totals,
)

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
DOCUMENTS = sorted({*PAGES, *ROOT.glob("*.md")})
EXAMPLES = ROOT / "docs" / "examples"
WRITTEN = {
    "WrittenEvalSet": "Top level",
    "WrittenDefaults": "Defaults",
    "WrittenEvaluator": "Custom evaluators",
    "WrittenOverall": "All cases together",
    "WrittenCase": "Cases",
    "WrittenQuarantine": "Quarantine",
    "WrittenTurn": "Turns",
    "WrittenWhen": "When",
    "WrittenError": "Mocks",
    "WrittenMock": "Mocks",
    "WrittenAnswer": "Mocks",
}
"""The section of the reference about each part of an eval set."""
EXIT_CODES = (0, 1, 2, 3, 130)

_BLOCK = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_SECONDS = re.compile(r" in \d+\.\d\ds(  run [0-9a-f]{4})?$", re.MULTILINE)
_TEMPORARY = re.compile(r"\S+/rightcall-demo-\w+")
_HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def pages_with(*languages: str) -> list[Path]:
    return [page for page in PAGES if any(block.language in languages for block in blocks_of(page))]


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def printed_by(block: Block, page: Path, names: dict[str, Any]) -> str:
    """What a block prints; it may wait for something at its top level."""
    source = "\n" * (block.line - 1) + block.text
    code = compile(source, name_of(page), "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        waiting = eval(code, names)
        if inspect.iscoroutine(waiting):
            asyncio.run(waiting)
    return printed.getvalue()


def run_rightcall(arguments: list[str], cwd: Path = ROOT) -> str:
    """What the command line prints, on either stream."""
    with tempfile.TemporaryDirectory() as temporary:
        done = rightcall(*arguments, cwd=cwd, NO_COLOR="1", COLUMNS="80", TMPDIR=temporary)
    return done.stdout + done.stderr


def comparable(text: str) -> list[str]:
    """The lines of a screen without what differs from run to run: trailing spaces, times, ids, temporary folders."""
    text = _TEMPORARY.sub("/tmp/rightcall-demo", _SECONDS.sub(" in 0.00s", text.rstrip()))
    return [line.rstrip() for line in text.splitlines()]


def reference(name: str) -> str:
    return (REFERENCE / name).read_text(encoding="utf-8")


def sections_of(text: str, level: str = "##") -> dict[str, str]:
    """The text below each heading of a level, the second unless told otherwise, by heading."""
    parts = re.split(rf"^{level} (.*)$", text, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def names_in_code(text: str) -> set[str]:
    """Everything that stands in backticks."""
    return set(re.findall(r"`([^`\n]+)`", text))


def models_of_eval_sets() -> list[type[UserModel]]:
    return [
        kind for name, kind in vars(_eval_set_file).items() if name.startswith("Written") and name != "WrittenError"
    ]  # in the row of `raises`


def anchors_of(page: Path) -> set[str]:
    """The anchors of a page's headings, made the way mkdocs makes them."""
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))
    plain = [re.sub(r"[^\w\s-]", "", heading).strip().lower() for heading in _HEADING.findall(text)]
    return {re.sub(r"[-\s]+", "-", heading) for heading in plain}


@pytest.mark.parametrize("page", pages_with("python"), ids=name_of)
def test_every_python_block_runs_and_prints_what_the_page_says(page: Path) -> None:
    names: dict[str, Any] = {"__name__": "__main__"}

    for block in blocks_of(page):
        if block.language == "python":
            printed = printed_by(block, page, names)

            assert printed == (block.output or ""), f"{name_of(page)}:{block.line} prints something else"


@pytest.mark.parametrize("page", pages_with("console", "terminal"), ids=name_of)
def test_every_command_shown_prints_what_the_page_says(page: Path, tmp_path: Path) -> None:
    colours = json.loads(COLOURS.read_text(encoding="utf-8"))
    for screen in screens_of(page, tmp_path):
        command, _, shown = screen.block.text.partition("\n")
        where = f"{name_of(page)}:{screen.block.line}"

        assert comparable(screen.text) == comparable(shown), f"{where} prints something else"
        assert [list(each) for each in screen.colours] == colours.get(command, []), f"{where}: run make reference"


@pytest.mark.parametrize("type_id", EVALUATORS)
def test_every_evaluator_has_a_page_that_names_all_its_keys(type_id: str) -> None:
    sections = sections_of(reference("evaluators.md"))
    kind = EVALUATORS[type_id]
    keys = {*kind.config_type.model_fields, *kind.criteria_type.model_fields}

    section = reference(f"evaluators/{type_id}.md")
    named = names_in_code(
        section + sections["Configuration of every evaluator"] + sections["Criteria of every evaluator"]
    )

    assert kind.__name__ in names_in_code(section)
    assert keys - named == set()


@pytest.mark.parametrize("type_id", EVALUATORS)
@pytest.mark.parametrize(
    "answer",
    [
        r"^Score: |\| score \||the score is",
        r"- (Nothing (expected|forbidden)|No rules)",
        r"[Nn]othing (was )?called",
        r"[Tt]he same (forbidden )?(call|tool|action|output) twice|a call was made twice",
    ],
    ids=["score", "nothing expected", "nothing called", "the same twice"],
)
def test_the_page_of_an_evaluator_has_its_score_and_answers_the_usual_questions(type_id: str, answer: str) -> None:
    assert re.search(answer, reference(f"evaluators/{type_id}.md"), re.MULTILINE)


@pytest.mark.parametrize("type_id", EVALUATORS)
def test_every_evaluator_has_the_details_that_the_reference_says(type_id: str) -> None:
    rows = re.findall(r"^\| (.*?) \| `(\w+)` \|", sections_of(reference("results.md"))["Details"], re.MULTILINE)
    named = {kind for evaluators, kind in rows if f"`{type_id}`" in evaluators}
    declared: Any = EVALUATORS[type_id].justification_type

    assert named == {kind.__name__ for kind in get_args(declared) or (declared,)}


@pytest.mark.parametrize("matcher", MATCHERS)
def test_every_matcher_has_examples_that_hold(matcher: str) -> None:
    row = re.search(rf"^\| `\{matcher}` \|(.*)\|$", reference("matchers.md"), re.MULTILINE)
    assert row is not None, f"{matcher} has no row in the table"
    cells = row[1].split(" | ")
    expected, accepted, refused = (json.loads(cell.strip().strip("`")) for cell in cells[-3:])
    holds = _holds_after_search if matcher in ("$from", "$bind", "$ref") else _holds

    assert matcher in cells[-3]
    assert holds(expected, accepted)
    assert not holds(expected, refused)


def _holds(expected: Any, actual: Any) -> bool:
    return compile_value(expected).matches(actual)


def _holds_after_search(expected: Any, args: Any) -> bool:
    """Whether a call of `book` with these arguments is as expected, after the search that the document tells of."""
    told = re.search(r"`search` returned `(\{.*?\})`\.", reference("matchers.md"), re.DOTALL)
    assert told is not None
    calls = (ToolCall("search", {}, json.loads(told[1])), ToolCall("book", args))
    pattern = call_pattern("book", expected, names=True)
    return pattern.accepts_at(calls[1], CallMoment(Trajectory(calls=calls), 1)) is True


@pytest.mark.parametrize("code", CODES)
def test_every_code_is_in_the_reference(code: str) -> None:
    assert f"{code} {CODES[code].name}" in sections_of(reference("codes.md"))


@pytest.mark.parametrize("limit", Limits.__struct_fields__)
def test_every_limit_is_in_the_reference_with_its_figure(limit: str) -> None:
    figure = getattr(Limits(), limit)

    rows = [line for line in reference("limits.md").splitlines() if line.startswith(f"| `{limit}` |")]

    assert [f"{figure:,}" in row for row in rows] == [True]


def test_every_exception_is_in_the_reference() -> None:
    kinds = {name for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)}

    assert kinds - names_in_code(reference("errors.md")) == set()


def test_every_extra_is_on_the_page_about_installing() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    page = (ROOT / "docs" / "install.md").read_text(encoding="utf-8")

    rows = set(re.findall(r"^\| `([a-z]+)` \|", sections_of(page)["Extras"], re.MULTILINE))

    assert rows == {name for name, packages in extras.items() if packages}


def test_every_kind_of_secret_is_in_the_reference() -> None:
    page = reference("redaction.md")

    assert {shape.name for shape in SHAPES} - names_in_code(page) == set()
    assert {name for name in dir(redaction) if name not in names_in_code(page.replace("(", "`("))} == set()


@pytest.mark.parametrize("code", EXIT_CODES)
def test_every_exit_code_is_in_the_reference(code: int) -> None:
    assert re.search(rf"^\| {code} \|", reference("command-line.md"), re.MULTILINE)


@pytest.mark.parametrize("kind", Justification.__subclasses__(), ids=lambda kind: kind.__name__)
def test_the_details_of_every_evaluator_are_in_the_reference(kind: type[Justification]) -> None:
    section = sections_of(reference("results.md")).get("Details", "")

    assert {kind.__name__, *kind.__struct_fields__} - names_in_code(section) == set()


@pytest.mark.parametrize("kind", [EvaluationResult, Finding, Alignment, Step], ids=lambda kind: kind.__name__)
def test_every_field_of_a_result_is_in_the_reference(kind: Any) -> None:
    fields = set(kind.__struct_fields__) - {"explanation"}

    assert fields - names_in_code(reference("results.md")) == set()


@pytest.mark.parametrize(
    "kind", [CaseResult, PlacedFinding, Source, Totals, ExpectationSources], ids=lambda kind: kind.__name__
)
def test_every_field_of_the_result_of_a_case_is_in_the_reference(kind: Any) -> None:
    sections = sections_of(reference("results.md"))

    named = names_in_code(sections["Results of cases"] + sections["Reports in JSON"])

    assert set(kind.__struct_fields__) - named == set()


def test_every_key_of_a_report_is_in_the_reference() -> None:
    examples = EXAMPLES.relative_to(ROOT)
    traces, evalset = str(examples / "trip.json"), str(examples / "trip.yaml")
    report = json.loads(run_rightcall(["score", traces, "--evalset", evalset, "--format", "json"]))

    keys = {*report, *report["totals"], *report["cases"][0]}

    assert keys - names_in_code(sections_of(reference("results.md"))["Reports in JSON"]) == set()


@pytest.mark.parametrize("key", SHORTHANDS)
def test_every_shorthand_of_an_expectation_is_in_the_reference(key: str) -> None:
    shorthand = EVALUATORS[SHORTHANDS[key]].shorthand
    row = re.search(rf"^\| `{key}` \|(.*)\|$", sections_of(reference("eval-sets.md"))["Expect"], re.MULTILINE)

    assert row is not None, f"{key} has no row in the table"
    assert shorthand is not None
    assert {SHORTHANDS[key], shorthand.criteria_key} - names_in_code(row[1]) == set()


@pytest.mark.parametrize("kind", models_of_eval_sets(), ids=lambda kind: kind.__name__)
def test_every_key_of_an_eval_set_is_in_the_reference(kind: type[UserModel]) -> None:
    section = sections_of(reference("eval-sets.md"), level="##+")[WRITTEN[kind.__name__]]
    keys = {name if field.alias in (None, camel(name)) else field.alias for name, field in kind.model_fields.items()}

    assert keys - set(re.findall(r"^\| `([^`]+)` \|", section, re.MULTILINE)) == set()


@pytest.mark.parametrize("join", [way.partition("{case}")[0] for way in JOINS])
def test_every_way_to_join_is_in_the_reference(join: str) -> None:
    section = sections_of(reference("commands/score.md"))["Joining traces to cases"]

    assert re.search(rf"^\| `{join}[A-Z]*` \|", section, re.MULTILINE)


@pytest.mark.parametrize("page", pages_with("yaml"), ids=name_of)
def test_every_yaml_block_is_an_eval_set_or_an_expectation_that_holds_together(page: Path, tmp_path: Path) -> None:
    for block in blocks_of(page):
        if block.language == "yaml" and "\ncases:" in f"\n{block.text}":
            (tmp_path / "evalset.yaml").write_text(block.text, encoding="utf-8")
            load_eval_set(tmp_path / "evalset.yaml")
        elif block.language == "yaml":
            load_expectation(block.text, f"{name_of(page)}:{block.line}")


@pytest.mark.parametrize("example", sorted([*EXAMPLES.glob("*.yaml"), *EXAMPLES.glob("*.py")]), ids=name_of)
def test_a_page_that_announces_an_example_shows_it_as_it_is(example: Path) -> None:
    announcing = [page for page in PAGES if f"`{name_of(example)}`:" in page.read_text(encoding="utf-8")]

    assert announcing, f"no page shows {name_of(example)}"
    for page in announcing:
        assert example.read_text(encoding="utf-8") in {block.text for block in blocks_of(page)}, name_of(page)


@pytest.mark.parametrize("kind", [ToolCall, Trajectory], ids=lambda kind: kind.__name__)
def test_every_field_of_a_trajectory_is_in_the_reference(kind: Any) -> None:
    assert set(kind.__struct_fields__) - names_in_code(reference("trajectory.md")) == set()


def test_every_rule_of_an_assertion_is_in_the_reference() -> None:
    rules = {name for name in vars(Calls) if not name.startswith("_")}

    assert rules - set(re.findall(r"`(\w+)\(", sections_of(reference("assertions.md"))["calls"])) == set()


def test_every_option_of_the_pytest_plugin_is_in_the_reference() -> None:
    source = (ROOT / "src" / "rightcall" / "testing" / "pytest_plugin" / "__init__.py").read_text(encoding="utf-8")
    options = set(re.findall(r"(?:addoption|addini)\(\s*\"([\w-]+)\"", source))

    assert len(options) >= 8
    assert options - names_in_code(sections_of(reference("pytest-plugin.md"))["Options"]) == set()


@pytest.mark.parametrize("page", DOCUMENTS, ids=name_of)
def test_every_relative_link_leads_to_a_file_and_a_heading(page: Path) -> None:
    text = _BLOCK.sub("", page.read_text(encoding="utf-8"))

    for link in _LINK.findall(text):
        if not link.startswith(("http://", "https://", "mailto:")):
            target, _, anchor = link.partition("#")
            file = (page.parent / target).resolve() if target else page
            assert file.is_file(), f"{link} leads nowhere"
            assert not anchor or anchor in anchors_of(file), f"{link} leads to no heading"


@pytest.mark.parametrize("picture", sorted((ROOT / "docs" / "images").iterdir()), ids=name_of)
def test_every_picture_is_shown_somewhere_and_small(picture: Path) -> None:
    shown = {link for page in PAGES for link in _LINK.findall(page.read_text(encoding="utf-8"))}

    assert [link for link in shown if link.endswith(f"images/{picture.name}")]
    assert picture.stat().st_size <= 150_000


def test_every_page_is_in_the_navigation() -> None:
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")

    listed = {ROOT / "docs" / path for path in re.findall(r"[\w./-]+\.md", navigation)}

    made = {REFERENCE / "api" / name for name in api_pages.pages()}  # while the site is built

    assert listed == {page for page in PAGES if page.is_relative_to(ROOT / "docs")} | made
