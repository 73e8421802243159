"""The judging core, as one table: which modules are changed, and which tests have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/rightcall"
EVERY = ("*",)


@dataclass(frozen=True)
class Area:
    """Modules of a package below `src/rightcall`, and the tests that go through them."""

    package: str
    modules: tuple[str, ...]
    """Patterns of their names, without `.py`."""
    own: str
    """The folder below `tests` that mirrors the package, or the room that it is in."""
    wider: tuple[str, ...]
    """Files and folders below `tests` that also go through these modules."""
    processes: tuple[str, ...] = ()
    """The same, where the tests start processes: tried last."""

    @property
    def tests(self) -> str:
        return f"tests/{self.own}"

    def files(self, project: Path) -> list[str]:
        """Its modules, as paths below the project.

        Raises:
            LookupError: no module fits one of the patterns.
        """
        found: set[str] = set()
        for pattern in self.modules:
            paths = [path.relative_to(project).as_posix() for path in (project / SOURCE).glob(self._below(pattern))]
            if not paths:
                raise LookupError(f"no module {SOURCE}/{self._below(pattern)}; has it another name now?")
            found.update(paths)
        return sorted(found)

    def _below(self, pattern: str) -> str:
        return f"{self.package}/{pattern}.py"


_JUDGED = ("testing/assertions", "cases/verdicts", "cases/evalsets")
_READ = ("cases/verdicts", "running/tracing", "values/trajectory", "scale/local")

CORE = (
    Area("matching/matchers", EVERY, "matching/matchers", ("judging", *_JUDGED)),
    Area("matching/alignment", EVERY, "matching/alignment", ("judging", "testing/assertions", "reporting/changes")),
    Area(
        "cases/verdicts",
        EVERY,
        "cases/verdicts",
        ("cases/evalsets", "testing/assertions", "cases/accepting", "judging/models"),
        ("end_to_end/test_score.py",),
    ),
    # How calls are selected and paired, and what is open about them: what the evaluators share.
    Area("judging/core", ("_expected_calls", "_selection"), "judging", (*_JUDGED, "reporting/changes")),
    Area(
        "judging/calls",
        (
            "_comparison",
            "_group*",
            "_lines",
            "_match_types",
            "_pairs",
            "_steps",
            "_trajectory",
        ),
        "judging",
        (*_JUDGED, "reporting/changes"),
    ),
    Area("judging/rules", EVERY, "judging/rules", ("judging", *_JUDGED)),
    # Intervals and tests, by which a difference between runs is told from chance.
    Area("values/statistics", EVERY, "values/statistics", ("reporting/changes", "reporting/reports")),
    Area("reporting/changes", ("_gate",), "reporting/changes", ("values/statistics", "testing/assertions")),
    # From spans and messages to the calls of a run, each once, in its turn.
    Area("reading/runs", EVERY, "reading", _READ),
    Area("reading/messages", EVERY, "reading", _READ),
    Area("reading/formats", ("_exports", "_platforms", "_rows"), "reading", _READ),
)


def core_files(project: Path) -> list[str]:
    """All modules of the core, as paths below the project."""
    return [file for area in CORE for file in area.files(project)]


def area_of(file: str) -> Area:
    """The area of a module, by its path below the project."""
    package = Path(file).relative_to(SOURCE).parent.as_posix()
    return next(area for area in CORE if area.package == package)


def mirror_of(file: str) -> str:
    """The file of tests that mirrors a module, whether or not there is one."""
    return f"{area_of(file).tests}/test_{Path(file).stem.lstrip('_')}.py"
