"""Were the right classes found? Confusion matrix, accuracy, precision, recall and F1 over all cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Annotated, Any, Literal

from rightcall.errors import ConfigurationError
from rightcall.judging.core import After, Bounds, Conclusion, OverallEvaluator, Row, Threshold, UserModel, parse_model
from rightcall.limits import DEFAULT_LIMITS
from rightcall.values.decoding import dump_json
from rightcall.values.results import ClassFigures, Classification

from ._answers import readable

_MISSING = object()
_MOST_CLASSES = 200


def _pointer(value: str) -> str:
    if value and not value.startswith("/"):
        raise ValueError(f"a JSON Pointer such as /category is expected, not {value!r:.80}")
    return value


Pointer = Annotated[str, After(_pointer)]


class ClassificationConfig(UserModel):
    """Where the classes are, and which figure counts."""

    output: Pointer = ""
    """Where the class is in the answer: a JSON Pointer. Empty for the whole answer; else a string is read as JSON."""
    expected: Pointer = "/class"
    """Where the class that is expected is in the metadata of the case: a JSON Pointer."""
    classes: tuple[str, ...] = ()
    """All classes; those that are expected anywhere, unless given."""
    metric: Literal["accuracy", "precision", "recall", "f1"] = "accuracy"
    beta: Annotated[int | float, Bounds(above=0, most=1_000)] = 1.0
    """How many times as much recall counts as precision, for `f1`."""
    averaging: Literal["macro", "micro"] = "macro"
    positive_class: str | None = None
    """The class whose figure counts, instead of an average."""
    ignore_case: bool = False
    threshold: Threshold = 1.0

    def check(self) -> None:
        if self.positive_class is not None and self.metric == "accuracy":
            raise ValueError("accuracy covers all classes; with 'positive_class', use precision, recall or f1")
        if self.classes and self.positive_class is not None and self.positive_class not in self.classes:
            raise ValueError(f"'positive_class' is {self.positive_class!r}, which is not one of the classes")


class ClassificationEvaluator(OverallEvaluator):
    """Compares the class that each case expects with the one that was found, and computes one figure over all cases.

    Precision is right/found, recall right/expected, F1 2·right/(found + expected), accuracy right/cases; with another
    β than 1, F is (1 + β²)·right/(found + β²·expected). A class that was expected and never found has the precision 0;
    one that was neither does not count. An answer without a class, or with one that is none of them, is a miss. Cases
    that expect no class are left out. Where a case gave no answer at all, or no case expects a class, there is no
    score.

    Raises:
        ConfigurationError: the configuration is wrong.
    """

    type_id = "classification"

    def __init__(self, id: str, config: Mapping[str, Any]) -> None:
        self.id = id
        self.config = parse_model(ClassificationConfig, config, id, ConfigurationError)
        self.threshold = self.config.threshold

    def see(self, row: Row) -> Any:
        """The expected and the actual class: false without an answer, none where the answer has no class."""
        expected = self._label(row.metadata, self.config.expected)
        if expected is None:
            return None
        output = readable(row.output, DEFAULT_LIMITS) if self.config.output else row.output
        return expected, self._label(output, self.config.output) if row.is_measured else False

    def tally(self) -> _Tally:
        """An empty tally."""
        return _Tally(self.config)

    def _label(self, value: Any, pointer: str) -> str | None:
        found = pointed(value, pointer)
        if found is _MISSING or found is None:
            return None
        label = found.strip() if isinstance(found, str) else dump_json(found)
        return label.casefold() if self.config.ignore_case else label[:200]


def pointed(value: Any, pointer: str) -> Any:
    """Return the part of a value that a JSON Pointer (RFC 6901) leads to, or `_MISSING`."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(value, Mapping) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key[:10]) < len(value):
            value = value[int(key[:10])]
        else:
            return _MISSING
    return value


class _Tally:
    """How often each class was expected and found."""

    def __init__(self, config: ClassificationConfig) -> None:
        self._config = config
        self._pairs: Counter[tuple[str, str | None]] = Counter()
        self._left_out = self._unmeasured = 0

    def add(self, seen: Any) -> None:
        if seen is None:
            self._left_out += 1
        elif seen[1] is False:
            self._unmeasured += 1
        else:
            self._pairs[seen[0], seen[1]] += 1

    def conclude(self) -> Conclusion:
        cases = sum(self._pairs.values())
        if self._unmeasured:
            return Conclusion(reason=f"{self._unmeasured:,} of {cases + self._unmeasured:,} cases gave no answer")
        if not cases:
            return Conclusion(reason=f"no case says at {self._config.expected} of its metadata which class is expected")
        classes = self._classes()
        unknown = sorted({expected for expected, _ in self._pairs} - set(classes))
        if unknown:
            return Conclusion(
                reason=f"a case expects {unknown[0]!r:.80}, which is not one of the classes", is_error=True
            )
        if len(classes) > _MOST_CLASSES:
            reason = f"{len(classes):,} classes; the limit is {_MOST_CLASSES}"
            return Conclusion(reason=reason, is_error=True)
        found = self._classification(classes, cases)
        score, named = self._figure(found)
        if score is None:
            return Conclusion(reason=f"{self._config.positive_class!r} was neither expected nor found")
        reason = f"{named} {score:.4g} over {cases:,} cases, and {self._config.threshold:.4g} is needed"
        return Conclusion(score=score, reason=reason, classification=found)

    def _classes(self) -> list[str]:
        given = [each.casefold() if self._config.ignore_case else each for each in self._config.classes]
        return given or sorted({expected for expected, _ in self._pairs})

    def _classification(self, classes: list[str], cases: int) -> Classification:
        matrix = []
        for name in classes:
            row = [self._pairs[name, each] for each in classes]
            every = sum(count for (expected, _), count in self._pairs.items() if expected == name)
            matrix.append((*row, every - sum(row)))
        columns = [sum(row[index] for row in matrix) for index in range(len(classes))]
        figures = [
            _figures(name, sum(row), columns[index], row[index])
            for index, (name, row) in enumerate(zip(classes, matrix, strict=True))
        ]
        accuracy = sum(each.right for each in figures) / cases
        return Classification(tuple(classes), tuple(matrix), tuple(figures), accuracy, cases, self._left_out)

    def _figure(self, found: Classification) -> tuple[float | None, str]:
        """The figure that counts, and what it is called."""
        config = self._config
        if config.metric == "accuracy":
            return found.accuracy, "accuracy"
        counting = [each for each in found.figures if each.expected or each.found]
        if config.positive_class is not None:
            wanted = config.positive_class.casefold() if config.ignore_case else config.positive_class
            [*of_class] = [self._of(each) for each in counting if each.name == wanted]
            return (of_class[0] if of_class else None), f"{self._name()} of {wanted!r}"
        if config.averaging == "micro":
            together = _figures(
                "",
                sum(each.expected for each in counting),
                sum(each.found for each in counting),
                sum(each.right for each in counting),
            )
            return self._of(together), f"micro {self._name()}"
        return sum(map(self._of, counting)) / len(counting), f"macro {self._name()}"

    def _of(self, figures: ClassFigures) -> float:
        """The figure that is asked for, of a class or of all decisions together."""
        if not self._weighs_recall():
            return float(getattr(figures, self._config.metric))
        square = self._config.beta**2
        return (1 + square) * figures.right / (figures.found + square * figures.expected)

    def _name(self) -> str:
        return f"f{self._config.beta:g}" if self._weighs_recall() else self._config.metric

    def _weighs_recall(self) -> bool:
        return self._config.metric == "f1" and self._config.beta != 1


def _figures(name: str, expected: int, found: int, right: int) -> ClassFigures:
    return ClassFigures(
        name,
        expected,
        found,
        right,
        precision=right / found if found else 0.0,
        recall=right / expected if expected else 0.0,
        f1=2 * right / (found + expected) if found + expected else 0.0,
    )
