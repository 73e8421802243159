"""What is said of all cases together, in words and as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rightcall.values.results import OTHER, Classification, OverallResult

from ._characters import cell_count, fit

_WIDEST = 16
_MOST_CLASSES = 12


def overall_line(result: OverallResult) -> str:
    """`overall intent: failed: accuracy 0.75 over 4 cases, and 0.9 is needed`, with the place where it did not pass."""
    place = "" if result.verdict == "passed" else f"{result.source}: "
    return f"{place}overall {result}"


def matrices(results: Sequence[OverallResult]) -> Iterator[tuple[str, Classification]]:
    """Each confusion matrix once, with the names of those it belongs to; those of very many classes are left out."""
    found: dict[Classification, list[str]] = {}
    for each in results:
        if each.classification is not None and len(each.classification.classes) <= _MOST_CLASSES:
            found.setdefault(each.classification, []).append(each.evaluator)
    for classification, names in found.items():
        yield ", ".join(names), classification


def matrix_lines(found: Classification, *, plain: bool) -> Iterator[str]:
    """The confusion matrix as lines: a row for each class that was expected."""
    rows = matrix_table(found)
    cells = [[fit(cell, _WIDEST, plain=plain) for cell in row] for row in rows]
    widths = [max(cell_count(row[index]) for row in cells) for index in range(len(cells[0]))]
    for row in cells:
        padded = [" " * (width - cell_count(cell)) + cell for cell, width in zip(row[1:], widths[1:], strict=True)]
        yield "  ".join([row[0] + " " * (widths[0] - cell_count(row[0])), *padded])


def matrix_table(found: Classification) -> list[list[str]]:
    """The confusion matrix with its figures, as a table of texts: the first row and the first column are headings."""
    has_others = any(row[-1] for row in found.matrix)
    classes = [*found.classes, OTHER] if has_others else [*found.classes]
    table = [["expected", *classes, "precision", "recall", "f1"]]
    for row, figures in zip(found.matrix, found.figures, strict=True):
        counts = [f"{count:,}" for count in row[: len(classes)]]
        shares = [f"{share:.2f}" for share in (figures.precision, figures.recall, figures.f1)]
        table.append([figures.name, *counts, *shares])
    return table
