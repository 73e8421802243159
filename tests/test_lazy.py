"""Exports and regular expressions that are made when they are first used."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from tests.waiting import PATIENCE

from rightcall._lazy import lazy_pattern, light_imports
from rightcall.cases.evalsets._eval_set_file import WrittenCase, WrittenDefaults, WrittenEvalSet, WrittenWhen
from rightcall.judging import EVALUATORS, ModelError, UserModel
from rightcall.judging.core._user_model import _hints

ROOT = Path(__file__).parents[1]


def test_a_lazy_pattern_is_the_pattern_it_is_made_of() -> None:
    words = lazy_pattern(r"(?P<first>[a-z]+) [a-z]+", re.IGNORECASE)

    assert words.pattern == r"(?P<first>[a-z]+) [a-z]+"
    assert words.flags & re.IGNORECASE
    found = words.fullmatch("Book HOTEL")
    assert found is not None
    assert found["first"] == "Book"
    assert words.sub("-", "a b c d") == "- -"


def test_only_the_patterns_of_the_packages_that_are_named_are_compiled_later() -> None:
    with light_imports("tests"):
        later = re.compile("[a-z]+")
    with light_imports("yaml"):
        now = re.compile("[a-z]+")

    assert not isinstance(later, re.Pattern)
    assert isinstance(now, re.Pattern)
    assert isinstance(re.compile("[0-9]+"), re.Pattern)
    assert later.findall("to be") == now.findall("to be") == ["to", "be"]


def test_yaml_works_in_python_too_when_rightcall_has_imported_it() -> None:
    script = """
from datetime import date
from rightcall.values.decoding import decode_document
assert decode_document(b"a: 1").value == {"a": 1}
import yaml
assert type(yaml.reader.Reader.NON_PRINTABLE).__name__ == "_LazyPattern"
written = "day: 2026-11-17\\nrate: 1.5\\non: yes\\nnumber: 0x1f\\nnone: ~\\n"
slow, fast = yaml.load(written, yaml.SafeLoader), yaml.load(written, yaml.CSafeLoader)
assert slow == fast == {"day": date(2026, 11, 17), "rate": 1.5, True: True, "number": 31, "none": None}
try:
    yaml.load("a: \\x00", yaml.SafeLoader)
except yaml.reader.ReaderError:
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE)

    assert (done.stdout, done.stderr) == ("refused\n", "")


def test_annotations_of_models_are_what_python_makes_of_them() -> None:
    models: list[type[UserModel]] = [WrittenCase, WrittenDefaults, WrittenEvalSet, WrittenWhen]
    for type_id in EVALUATORS:
        models += [EVALUATORS[type_id].criteria_type, EVALUATORS[type_id].config_type]

    for model in models:
        hints = get_type_hints(model, include_extras=True)
        assert _shown(_hints(model)) == _shown({name: hints[name] for name in model.model_fields})


def _shown(hints: dict[str, Any]) -> dict[str, str]:
    # A lambda in an annotation is another one each time that it is evaluated.
    return {name: re.sub(r" at 0x\w+", "", repr(hint)) for name, hint in hints.items()}


def test_stubs_are_the_exports() -> None:
    results = import_module("rightcall.values.results")

    assert {"CaseResult", "Finding", "worst"} <= set(results.__all__)
    assert results.CaseResult.__module__ == "rightcall.values.results._case_results"


def test_commands_do_without_typing_extensions_and_leave_it_to_others() -> None:
    script = """
import sys
sys.argv = ["rightcall", "show", "docs/examples/trip.json"]
from rightcall.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
assert "msgspec" in sys.modules and "typing_extensions" not in sys.modules
import msgspec, typing, typing_extensions
assert msgspec._utils.Required is typing_extensions.Required
class Row(msgspec.Struct):
    place: typing.Annotated[int, msgspec.Meta(ge=1)]
assert msgspec.json.decode(b'{"place": 1}', type=Row).place == 1
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, "")
    assert "charge_card" in done.stdout


def test_a_late_module_is_imported_when_something_of_it_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    with light_imports(late={"colorsys": {"ONE_THIRD": "known"}}):
        import colorsys
        from colorsys import ONE_THIRD

        black = colorsys.rgb_to_hsv(0, 0, 0)
    real = import_module("colorsys")

    assert str(ONE_THIRD) == "known"
    assert black == real.rgb_to_hsv(0, 0, 0)
    assert (type(colorsys), type(real)) == (late_type(), type(sys))


def test_a_late_module_is_left_to_those_who_import_it_afterwards() -> None:
    with light_imports(late={"colorsys": {}}):
        pass
    with light_imports(late={"sys": {}}):
        import sys as loaded

    assert type(sys.modules.get("colorsys")) is not late_type()
    assert loaded is sys


def late_type() -> type:
    with light_imports(late={"no_such_module": {}}):
        return type(sys.modules["no_such_module"])


def test_commands_do_without_modules_of_which_they_need_little_and_leave_them_to_others() -> None:
    script = """
import sys
sys.argv = ["rightcall", "show", "docs/examples/trip.json"]
from rightcall.cli import main
try:
    main()
except SystemExit as ended:
    assert not ended.code
assert "pathlib" in sys.modules
assert not {"inspect", "gettext", "locale", "urllib.parse", "ntpath"} & set(sys.modules)
import click, gettext, inspect, pathlib
assert [click.core.ngettext("one", "many", count) for count in range(3)] == ["many", "one", "many"]
assert click.core._("Aborted!") == gettext.gettext("Aborted!") == "Aborted!"
assert pathlib.Path("/a b").as_uri() == "file:///a%20b"
assert str(pathlib.PureWindowsPath("C:/a") / "b") == "C:\\\\a\\\\b"
for text in ("  Which cases. ", "Which.\\n\\n    And more.\\n  ", "\\tOne", ""):
    assert click.core.inspect.cleandoc(text) == inspect.cleandoc(text)
assert click.core.inspect.isfunction is inspect.isfunction
assert "msgspec.inspect" not in sys.modules
import msgspec
assert msgspec.json.schema(int) == {"type": "integer"}
assert msgspec.inspect is sys.modules["msgspec.inspect"]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, "")


def test_a_model_has_the_fields_of_its_parent_and_its_own_whichever_is_asked_first() -> None:
    class Parent(UserModel):
        first: int = 1

    class Child(Parent):
        second: int = 2

    assert list(Parent.model_fields) == ["first"]
    assert list(Child.model_fields) == list(Child().model_fields) == ["first", "second"]
    assert Child(second=3).model_dump() == {"first": 1, "second": 3}
    with pytest.raises(ModelError, match="unknown key 'second'"):
        Parent.model_validate({"second": 3})


def test_a_simple_run_is_scored_without_what_builds_runs_and_reads_messages() -> None:
    script = """
import sys
sys.argv = ["rightcall", "score", "docs/examples/trip.json", "--evalset", "docs/examples/trip.yaml"]
from rightcall.cli import main
try:
    main()
except SystemExit as ended:
    assert ended.code == 1
late = ("runs._run_builder", "runs._own_calls", "messages._framework_states", "messages._requests", "formats._rows")
assert not ["rightcall.reading." + name for name in late if "rightcall.reading." + name in sys.modules]
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=PATIENCE, cwd=ROOT)

    assert (done.returncode, done.stderr) == (0, "")
