"""UiPath's evaluators: one file each, in a folder beside that of the eval sets."""

from __future__ import annotations

import os
from pathlib import Path as FilePath
from typing import Any

import msgspec

from rightcall.errors import UnknownNameError, shown
from rightcall.judging import EVALUATORS, evaluator_type, unavailable
from rightcall.limits import Limits
from rightcall.values.decoding import Path

from ._foreign import Part
from ._pages import Draft, Page, camel

_CODE = "file://"
_DEFAULT = "default_evaluation_criteria"


class UiPathEvaluator(msgspec.Struct, frozen=True):
    """An evaluator: its type by our ids, its configuration, and whatever else its file says."""

    id: str
    name: str
    type_id: str
    config: dict[str, Any]
    rest: dict[str, Any]
    page: Page
    type_place: Path
    weight: float = 1.0

    def weighing(self, weight: float) -> UiPathEvaluator:
        """The same evaluator with another weight."""
        return msgspec.structs.replace(self, weight=weight)

    def written(self) -> dict[str, Any]:
        """The evaluator as the native grammar has it."""
        written: dict[str, Any] = {"type": self.type_id}
        written |= {"config": self.config} if self.config else {}
        return written | ({"weight": self.weight} if self.weight != 1.0 else {})

    def trace(self, draft: Draft) -> None:
        """Tell a draft where the parts of the evaluator are written."""
        draft.trace(("evaluators", self.id), self.page, ())
        draft.trace(("evaluators", self.id, "type"), self.page, self.type_place)
        draft.trace(("evaluators", self.id, "config"), self.page, ("evaluatorConfig",))


def read_evaluators(folder: FilePath, limits: Limits) -> dict[str, UiPathEvaluator]:
    """The evaluators in a folder, by id.

    Raises:
        DocumentError: a file is wrong, or has the id of another.
        InputError: a file cannot be read.
    """
    found: dict[str, UiPathEvaluator] = {}
    for path in sorted(folder.glob("*.json")):
        page = Page.read(path, limits)
        evaluator = _evaluator(Part(page, page.value), folder)
        if evaluator.id in found:
            other = found[evaluator.id].page.name
            raise page.problem(f"the id {evaluator.id!r} is that of the evaluator in {other}", ("id",))
        found[evaluator.id] = evaluator
    return found


def _evaluator(part: Part, folder: FilePath) -> UiPathEvaluator:
    named, given = part.text("id"), part.object("evaluator_config")
    config = dict(given.value) if given is not None else {}
    for key in ("name", "description"):
        if part.has(key):
            config[key] = part.text(key)
    if "version" not in part.value:
        name = str(config.get("name") or "")
        return UiPathEvaluator(named, name, "legacy-evaluator", {}, dict(part.value), part.page, ())
    type_id, place = _type_of(part, folder)
    config, left_out = _known_config(config, type_id, part)
    rest = part.rest(("version", "evaluator_type_id", "evaluator_schema"))
    rest |= {"evaluatorConfig": left_out} if left_out else {}
    rest |= {"evaluatorSchema": part.text("evaluator_schema")} if part.has("evaluator_schema") else {}
    return UiPathEvaluator(named, str(config.get("name") or ""), type_id, config, rest, part.page, place)


def _type_of(part: Part, folder: FilePath) -> tuple[str, Path]:
    schema = part.text("evaluator_schema", "")
    if schema.startswith(_CODE):
        return _code(schema, part, folder), part.place("evaluator_schema")
    written = part.text("evaluator_type_id")
    if unavailable(written):
        return written.removeprefix("uipath-"), part.place("evaluator_type_id")
    try:
        return evaluator_type(written).type_id, part.place("evaluator_type_id")
    except UnknownNameError as problem:
        raise part.problem(str(problem), "evaluator_type_id") from None


def _code(schema: str, part: Part, folder: FilePath) -> str:
    """The file and the class of an evaluator that is code, with the file as seen from the folder of eval sets."""
    file, _, name = schema.removeprefix(_CODE).rpartition(":")
    if not file or not name.isidentifier():
        raise part.problem(f"code is named as file://x.py:Class, not {shown(schema)}", "evaluator_schema")
    for candidate in (folder / file, folder / "custom" / file):
        if candidate.is_file():
            return f"{_CODE}{FilePath(os.path.relpath(candidate, folder.parent / 'eval-sets')).as_posix()}:{name}"
    raise part.problem(f"no file {shown(file)} in {folder} or in its folder custom", "evaluator_schema")


def _known_config(config: dict[str, Any], type_id: str, part: Part) -> tuple[dict[str, Any], dict[str, Any]]:
    """The configuration, and what of it has no counterpart: keys of other tools, and a default that expects nothing."""
    if type_id not in EVALUATORS:
        return config, {}
    fields = EVALUATORS[type_id].config_type.model_fields
    inner = Part(part.page, config, part.place("evaluatorConfig"))
    for name in fields:
        inner.any(name)
    left_out = {**inner.rest(), **_empty_default(config)}
    kept = {key: value for key, value in config.items() if key not in left_out}
    if "tool_names" in fields:
        kept["tool_names"] = "uipath"
    return kept, left_out


def _empty_default(config: dict[str, Any]) -> dict[str, Any]:
    """The default criteria, where they are there only to be filled in."""
    for key in (_DEFAULT, camel(_DEFAULT)):
        criteria = config.get(key)
        if isinstance(criteria, dict) and not any(criteria.values()):
            return {key: criteria}
    return {}
