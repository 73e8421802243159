"""The judging core, as one table: which modules are changed, and which tests have to notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

SOURCE = "src/rightcall"
EVERY = ("*",)


@dataclass(frozen=True)
class Area:
    """Modules of a package below `src/rightcall`, whose own tests are in the folder of the same path below `tests`."""

    package: str
    modules: tuple[str, ...]
    """Patterns of their names, without `.py`."""
    wider: tuple[str, ...]
    """Files and folders below `tests` that also go through these modules."""
    processes: tuple[str, ...] = ()
    """The same, where the tests start processes: tried last."""

    @property
    def tests(self) -> str:
        return f"tests/{self.package}"

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


CORE = (
    Area("matchers", EVERY, ("evaluators", "assertions", "verdicts", "evalsets")),
    Area("alignment", EVERY, ("evaluators", "assertions", "changes")),
    Area("verdicts", EVERY, ("evalsets", "assertions", "accepting", "judges"), ("end_to_end/test_score.py",)),
    Area(
        "evaluators",
        # How calls are selected and paired, and what is open about them: what the evaluators share.
        ("_aligning", "_bounding", "_doubts", "_matching", "_naming", "_pairs", "_selection", "_sequences", "_turns"),
        ("assertions", "verdicts", "evalsets", "changes"),
    ),
    Area(
        "readers",
        # From spans and messages to the calls of a run, each once, in its turn: all that is no format of a file.
        (
            *("_answers", "_conversations", "_duplicates", "_exchanges", "_grouping", "_joining", "_log_turns"),
            *("_nesting", "_order", "_requests", "_rooms", "_run", "_sorting", "_talks", "_threads", "_tree"),
            *("_turns", "_withheld"),
        ),
        ("verdicts", "tracing", "trajectory", "batch/test_uniting.py", "batch/test_span_buckets.py"),
    ),
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
