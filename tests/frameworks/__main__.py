"""Runs agents of real frameworks, judges them in every way, and prints the table: `python -m tests.frameworks`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.environments import EnvironmentFailedError, provide, quiet_environment
from tests.targets import show_table, within

from . import abilities, cells
from .cells import CellFailedError, carry_out
from .judging import Judged
from .keeping import keep
from .matrix import FRAMEWORKS, Framework
from .model import Model, served
from .script import QUESTIONS
from .table import HEADING, Row, render

_TRUE, _FALSE, _NOT_TRIED = 0, 1, 2
_HERE = Path(__file__).parent
_SECONDS = 3600


def main(arguments: Sequence[str] | None = None) -> int:
    """Gives 0 when every cell is true, 1 when one is not, 2 when a framework could not be tried."""
    options = _parser().parse_args(arguments)
    chosen = [framework for framework in FRAMEWORKS if not options.only or framework.key in options.only]
    rows: list[Row] = []
    found: dict[str, dict[str, bool]] = {}
    problems: list[str] = []
    with within(_SECONDS), tempfile.TemporaryDirectory(prefix="rightcall-frameworks-") as held:
        folder = Path(held)
        for framework in chosen:
            print(f"trying {framework.name} {framework.version}", file=sys.stderr)
            try:
                rows += _tried(framework, folder / framework.key)
                if framework.key in abilities.MAIN:
                    found[f"{framework.name} {framework.version}"] = _abilities(framework, folder / framework.key)
            except (CellFailedError, EnvironmentFailedError) as failure:
                problems.append(f"{framework.name}: {failure}")
        if options.keep and not problems:
            keep(folder, [framework.key for framework in chosen])
            if not options.only:
                show_table(HEADING, render(rows))
                show_table(abilities.HEADING, abilities.render(found))
    return _told(rows, found, problems)


def _told(rows: Sequence[Row], found: Mapping[str, Mapping[str, bool]], problems: Sequence[str]) -> int:
    print(render(rows))
    print(abilities.render(found))
    for problem in problems:
        print(f"NOT TRIED {problem}")
    wrong = sum([not row.judged.is_true for row in rows])
    missing = sum([not there for has in found.values() for there in has.values()])
    print(f"{missing} abilities missing")
    print(f"\n{len(rows)} cells, {wrong} wrong, {len(problems)} frameworks not tried.")
    return _NOT_TRIED if problems else _FALSE if wrong or missing else _TRUE


def _abilities(framework: Framework, folder: Path) -> dict[str, bool]:
    """What works with the framework offline, by another model than that of the cells."""
    python = provide(f"frameworks/{framework.key}", framework.requirements)
    with served() as model:
        trial = _Trial(framework, python, folder, model)
        return abilities.Trial(python, framework.key, trial._variables(False), folder / "abilities").abilities()


def _tried(framework: Framework, folder: Path) -> list[Row]:
    python = provide(f"frameworks/{framework.key}", framework.requirements)
    folder.mkdir()
    with served() as model:
        trial = _Trial(framework, python, folder, model)
        judged = dict(trial.run())
        recorded = trial.recorded()
        if model.refused:
            raise CellFailedError(f"the model was asked for {model.refused[0]}")
    judged |= {cell: judge(recorded, folder) for cell, judge in cells.RECORDED.items()}
    return [Row(framework.name, framework.version, cell, said) for cell, said in judged.items()]


@dataclass(frozen=True)
class _Trial:
    """One framework, with the model it asks."""

    framework: Framework
    python: Path
    folder: Path
    model: Model

    def run(self) -> Iterator[tuple[str, Judged]]:
        """Each cell in which Rightcall runs the agent, judged."""
        agent = str(_HERE / "agents" / self.framework.agent)
        for number, (cell, is_instrumented) in enumerate(cells.RUN.items()):
            place = self.folder / str(number)
            place.mkdir()
            yield cell, cells.run(self.python, agent, self._variables(is_instrumented), place)

    def recorded(self) -> dict[str, Path]:
        """The files that `drive.py` writes."""
        agent = str(_HERE / "agents" / self.framework.key)
        for form in cells.FORMS:
            command = [str(self.python), str(_HERE / "drive.py"), agent, form, str(self.folder), *QUESTIONS]
            carry_out(command, self._variables(form != "plain"))
        return {name: self.folder / f"{name}.json" for name in cells.FILES}

    def _variables(self, is_instrumented: bool) -> dict[str, str]:
        address = self.model.address
        endpoints = {
            "OPENAI_BASE_URL": f"{address}/v1",
            "OPENAI_API_KEY": "none",
            "GOOGLE_GEMINI_BASE_URL": address,
            "GOOGLE_API_KEY": "none",
            "NO_PROXY": "127.0.0.1",
        }
        instrumented = {**self.framework.variables, "INSTRUMENTED": "yes"} if is_instrumented else {}
        return {**quiet_environment(), **endpoints, **instrumented}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.frameworks", description=__doc__)
    keys = [framework.key for framework in FRAMEWORKS]
    parser.add_argument("--only", action="append", choices=keys, metavar="NAME", help=f"one of {', '.join(keys)}")
    parser.add_argument(
        "--keep", action="store_true", help="keep the recordings in tests/data; of all frameworks, the table in docs/"
    )
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
