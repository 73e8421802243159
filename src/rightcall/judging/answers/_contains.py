"""Is the agent's answer the expected one, does it contain a text or match a pattern, or name the right class?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import msgspec

from rightcall.errors import ConfigurationError, CriteriaError, InputError, shown
from rightcall.judging.core import (
    TEXT,
    After,
    Bounds,
    Conclusion,
    OverallEvaluator,
    Row,
    Shorthand,
    Threshold,
    UserModel,
    parse_model,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.matching.matchers import Expectation, compile_value, value_differences
from rightcall.values.decoding import dump_json
from rightcall.values.results import ClassFigures, Classification, Difference, value_text

from ._answers import (
    AnswerCriteria,
    AnswerEvaluator,
    PartConfig,
    Target,
    expected_part,
    lines_of,
    paired_lines,
    part_of,
    plain_text,
    readable,
)

_MISSING = object()
_MOST_CLASSES = 200


class TextConfig(PartConfig):
    """How text is compared. `negated` turns the score round: the answer must not be this one.

    Case does not count, unless `case_sensitive` is true or `ignore_case` false.
    """

    case_sensitive: bool = False
    ignore_case: bool | None = None
    negated: bool = False

    def check(self) -> None:
        if "case_sensitive" in self.model_fields_set and self.ignore_case == self.case_sensitive:
            raise ValueError("'case_sensitive' and 'ignore_case' say the opposite of each other; give one of them")

    @property
    def folds_case(self) -> bool:
        """Whether upper and lower case are the same."""
        return not self.case_sensitive if self.ignore_case is None else self.ignore_case


class ExactMatchCriteria(AnswerCriteria):
    """The expected answer, with any matchers in it."""

    expectation_key: ClassVar[str] = "expected_output"
    expected_output: Any = None


class ExactMatchConfig(TextConfig):
    """How the answer is compared."""

    name: str = "ExactMatchEvaluator"


class ExactMatchEvaluator(AnswerEvaluator[ExactMatchConfig, ExactMatchCriteria]):
    """Whether the answer, or a part of it, is the expected one: 1.0 if it is, else 0.0; of several turns, the mean.

    Values are compared as JSON, with any matchers in the expected one. Where either is a text, their texts are
    compared, without regard to case by default. An answer without the part that is asked for scores 0.0,
    negated or not. Nothing expected is an error; nothing recorded is not measured.
    """

    type_id = "exact-match"
    shorthand = Shorthand("exact-match", "expected_output")
    config_type = ExactMatchConfig
    criteria_type = ExactMatchCriteria

    def expect(self, value: Any, where: str) -> ExactAnswer:
        part = expected_part(value, self.config.target_output_key, where, self.limits)
        return ExactAnswer(part, compile_value(part, self.limits, where=where), self.config, self.limits)


class ExactAnswer(msgspec.Struct, frozen=True):
    """The expected part of an answer, and how it is compared."""

    expected: Any
    expectation: Expectation
    config: ExactMatchConfig
    limits: Limits

    def score(self, actual: Any) -> float:
        """1.0 or 0.0 or, line by line, the share of lines that are equal."""
        try:
            part = part_of(actual, self._target, self.limits)
        except InputError:
            return 0.0
        if not self.config.line_by_line_evaluator or isinstance(self._target, tuple):
            return self._verdict(self.expectation.matches(part) or self._same_text(self.expected, part))
        lines = paired_lines(*[lines_of(each, self.config.line_delimiter) for each in (self.expected, part)])
        scores = [self._verdict(_folded(*line, self.config)) for line in lines]
        return sum(scores) / len(scores) if scores else self._verdict(True)

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Where the answer differs from the expected one, if it should equal it."""
        try:
            part = part_of(actual, self._target, self.limits)
        except InputError:
            return ()
        return () if self.config.negated else value_differences(self.expected, part)

    def reasons(self, actual: Any) -> list[str]:
        """Return each difference, or that there is none."""
        try:
            part_of(actual, self._target, self.limits)
        except InputError as problem:
            return [f"has {problem}"]
        if self.config.negated:
            return ["is what it must not be"]
        return [each.clause("has", "has no", "is") for each in self.differences(actual)]

    @property
    def _target(self) -> Target:
        return self.config.target_output_key

    def _same_text(self, expected: Any, actual: Any) -> bool:
        if not isinstance(expected, str) and not isinstance(actual, str):
            return False
        return _folded(plain_text(expected), plain_text(actual), self.config)

    def _verdict(self, same: bool) -> float:
        return float(same != self.config.negated)


def _folded(expected: str, actual: str, config: ExactMatchConfig) -> bool:
    return expected.lower() == actual.lower() if config.folds_case else expected == actual


class ContainsCriteria(AnswerCriteria):
    """The text to be found in the answer."""

    expectation_key: ClassVar[str] = "search_text"
    search_text: Any = None


class ContainsConfig(TextConfig):
    """How the text is searched."""

    name: str = "ContainsEvaluator"


class RegexMatchCriteria(AnswerCriteria):
    """The pattern to be found in the answer."""

    expectation_key: ClassVar[str] = "pattern"
    pattern: Any = None


class RegexMatchConfig(TextConfig):
    """How the pattern is searched."""

    name: str = "RegexMatch"
    case_sensitive: bool = True


class ContainsEvaluator(AnswerEvaluator[ContainsConfig, ContainsCriteria]):
    """Whether the answer, or a part of it, contains a text: 1.0 if it does, else 0.0; of several turns, the mean.

    Case does not count unless `case_sensitive` is set. An answer that is not a text is searched in what Python
    prints of it. An answer without the part that is asked for scores 0.0, negated or not. The empty text is in every
    answer. Nothing expected is an error; nothing recorded is not measured.
    """

    type_id = "contains"
    shorthand = Shorthand("contains", "search_text", schema=TEXT)
    config_type = ContainsConfig
    criteria_type = ContainsCriteria

    def expect(self, value: Any, where: str) -> SearchedAnswer:
        wanted = _text(value, self.id, where)
        folded = wanted.lower() if self.config.folds_case else wanted
        test = (lambda text: folded in text.lower()) if self.config.folds_case else (lambda text: folded in text)
        return SearchedAnswer(wanted, f"contain {value_text(wanted)}", test, self.config, self.limits)


class RegexMatch(AnswerEvaluator[RegexMatchConfig, RegexMatchCriteria]):
    """Whether a pattern is found in the answer, or a part of it: 1.0 if it is, else 0.0; of several turns, the mean.

    The pattern is that of the matcher `$regex`, found anywhere unless it is anchored, and case counts unless
    `ignore_case` is set. An answer without the part that is asked for scores 0.0, negated or not. Nothing expected is
    an error; nothing recorded is not measured.
    """

    type_id = "regex-match"
    shorthand = Shorthand("regex-match", "pattern", schema=TEXT)
    config_type = RegexMatchConfig
    criteria_type = RegexMatchCriteria

    def expect(self, value: Any, where: str) -> SearchedAnswer:
        written = _text(value, self.id, where)
        pattern = f"(?i){written}" if self.config.folds_case else written
        test = compile_value({"$regex": pattern}, self.limits, where=where).matches
        return SearchedAnswer(written, f"match {value_text(written)}", test, self.config, self.limits)


class SearchedAnswer(msgspec.Struct, frozen=True):
    """A search in an answer."""

    expected: str
    wanted: str
    """What the answer should do, as a verb: `contain "laptop"`."""
    test: Callable[[str], bool]
    config: TextConfig
    limits: Limits

    def score(self, actual: Any) -> float:
        """1.0 or 0.0 or, line by line, the share of lines in which it is found."""
        try:
            part = part_of(actual, self.config.target_output_key, self.limits)
        except InputError:
            return 0.0
        texts = [plain_text(part)]
        if self.config.line_by_line_evaluator and isinstance(self.config.target_output_key, str):
            texts = lines_of(part, self.config.line_delimiter) or texts
        return sum(self.test(text) != self.config.negated for text in texts) / len(texts)

    def differences(self, actual: Any) -> tuple[Difference, ...]:
        """Return nothing: a text that is not found has no path."""
        return ()

    def reasons(self, actual: Any) -> list[str]:
        """Return what the answer should contain, or should not."""
        try:
            part = part_of(actual, self.config.target_output_key, self.limits)
        except InputError as problem:
            return [f"has {problem}"]
        verb = "must not" if self.config.negated else "should"
        return [f"{verb} {self.wanted}: {value_text(part)}"]


def _text(value: Any, evaluator: str, where: str) -> str:
    if not isinstance(value, str):
        raise CriteriaError(f"criteria of {evaluator!r}: {where}: a text is expected, not {shown(value)}")
    return value


def _pointer(value: str) -> str:
    if value and not value.startswith("/"):
        raise ValueError(f"a JSON Pointer such as /category is expected, not {value!r:.80}")
    return value


Pointer = Annotated[str, After(_pointer)]


class ClassificationConfig(UserModel):
    """Where the classes are, and which figure counts."""

    output: Pointer = ""
    """Where the class is in the answer: a JSON Pointer. Empty for the whole answer; else a text is read as JSON."""
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
