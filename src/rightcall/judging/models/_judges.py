"""The two LLM judges, of what the agent did and of its answer, and the agreement of a judge with human labels.

Both judges turn a run into a question, ask it, and turn the answers into a result.
"""

from __future__ import annotations

import csv
import io
from abc import abstractmethod
from collections import Counter
from collections.abc import Awaitable, Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import msgspec

from rightcall.errors import ConfigurationError, DocumentError, InputError, nearest, shown
from rightcall.judging.answers import Target, expected_part, part_of
from rightcall.judging.core import (
    FINITE,
    After,
    AsyncConfig,
    AsyncEvaluator,
    Before,
    Bounds,
    Criteria,
    Execution,
    Length,
    NoPlan,
    NotDumped,
    Shorthand,
    UserModel,
    in_thread,
    number_in_text,
    split_code,
)
from rightcall.limits import DEFAULT_LIMITS, Limits
from rightcall.values.decoding import admit, decode_document, decode_json
from rightcall.values.results import EvaluationResult, Finding, JudgeJustification, Verdict

from . import (
    JudgeError,
    Question,
    QuestionBlock,
    Rubric,
    Ruling,
    Sampling,
    Settings,
    ask_callable,
    ask_endpoint,
    calls_of,
    prompt_text,
)
from ._ask import findings_of, justification_of

_PASSING_GRADE = 0.5
_MARGIN = 0.5
"""Seconds before the timeout at which a judge stops trying, so that the error names the cause and not the timeout."""
_CASES = ("case", "case_id", "id")
_LABELS = ("label", "verdict", "passed")
_PASSED = ("passed", "pass", "true", "yes", "good", "1", "1.0")
_FAILED = ("failed", "fail", "false", "no", "bad", "0", "0.0")


class WrittenRubric(UserModel):
    """One criterion that is either met or not."""

    id: Annotated[str, Length(1, 200)]
    text: Annotated[str, Length(1, 10_000)]


def _rubrics(value: Any) -> Any:
    """Accept rubrics that are plain strings. Their ids are their numbers."""
    if not isinstance(value, (list, tuple)):
        raise ValueError(f"a list of rubrics is expected, not {shown(value)}")
    return [{"id": f"{n}", "text": one} if isinstance(one, str) else one for n, one in enumerate(value, 1)]


Rubrics = Annotated[tuple[WrittenRubric, ...], Before(_rubrics)]


def _is_odd(value: int) -> int:
    if value % 2 == 0:
        raise ValueError(f"an odd number is expected, so that there is a majority, not {value}")
    return value


def _can_be_called(value: Any) -> Any:
    is_named = isinstance(value, str) and split_code(value) is not None
    if value is not None and not callable(value) and not is_named:
        raise ValueError(f"a function is expected, or its name as file.py:function, not {shown(value)}")
    return value


def _has_known_placeholders(value: str) -> str:
    try:
        prompt_text(value)
    except ConfigurationError as problem:
        raise ValueError(str(problem)) from None
    return value


class JudgeConfig(AsyncConfig):
    """How a judge is asked. Its address and its key come from the environment only."""

    timeout: Annotated[float, Before(number_in_text), Bounds(above=0, most=FINITE)] = 120.0
    """Seconds that one evaluation may take, including all samples and retries."""
    model: str = ""
    """The model; if empty, the one from the environment."""
    prompt: Annotated[str, After(_has_known_placeholders)] = ""
    """The instruction for the judge, in the user's words."""
    rubrics: Rubrics = ()
    """Rubrics for every case."""
    samples: Annotated[int, Bounds(least=1, most=31), After(_is_odd)] = 1
    """The number of answers to ask for. It is odd, because the majority decides."""
    temperature: Annotated[float, Before(number_in_text), Bounds(least=0, most=2)] | None = 0.0
    """The sampling temperature; null for the model's default."""
    max_tokens: Annotated[int, Bounds(least=1)] | None = None
    judge: Annotated[Any, After(_can_be_called), NotDumped()] = None
    """A function to ask instead of an endpoint; in an eval set, its name `file.py:function`."""


class JudgeCriteria(Criteria):
    """Rubrics of one case, in addition to those of the configuration."""

    rubrics: Rubrics = ()


ConfigT = TypeVar("ConfigT", bound=JudgeConfig)
CriteriaT = TypeVar("CriteriaT", bound=JudgeCriteria)


class JudgeEvaluator(AsyncEvaluator[ConfigT, CriteriaT]):
    """Ask a judge about a run. A subclass makes the question.

    The score is the judge's score, from 0 to 100, divided by 100; with rubrics, the share of rubrics that are met. Of
    several answers the median counts and, for each rubric, the majority. Anything that is not a judgement is an error,
    never a score.
    """

    task: ClassVar[str]
    justification_type = JudgeJustification
    code_settings = ("judge",)
    # Without criteria, the configuration and the case say what is expected.
    default_criteria: ClassVar[Mapping[str, Any]] = {}

    def __init__(
        self,
        id: str | None = None,
        config: Mapping[str, Any] | ConfigT | None = None,
        *,
        limits: Limits = DEFAULT_LIMITS,
    ) -> None:
        super().__init__(id, config, limits=limits)
        self.fingerprint = _fingerprint(self.config.judge)

    @abstractmethod
    def question(self, execution: Execution, criteria: CriteriaT, rubrics: tuple[Rubric, ...]) -> Question:
        """Make the question about an execution. Raises `JudgeError` if there is nothing to ask."""

    @property
    def lane(self) -> tuple[str, int] | None:
        """A name and the most evaluations at once under that name, shared by all judges that ask an endpoint."""
        try:
            settings = Settings.of_environment()
        except ConfigurationError:  # it is reported when the judge is asked
            return None
        return None if self.config.judge is not None else ("judge", settings.concurrency)

    async def assess(self, execution: Execution, criteria: CriteriaT) -> EvaluationResult:
        """Ask the judge, and return its judgement or the error."""
        try:
            rubrics = _joined(self.config.rubrics, criteria.rubrics)
            question = self.question(execution, criteria, rubrics)
            settings, ruling = await self._ask(question)
        except JudgeError as problem:
            return self.broken(execution, problem.code, str(problem))
        except ConfigurationError as problem:
            return self.broken(execution, "RC601", str(problem))
        threshold = self._threshold_of(rubrics)
        details = justification_of(ruling, self._model(settings), execution, rubrics, settings, threshold)
        findings = findings_of(ruling, details, rubrics, len(self.config.rubrics), threshold)
        result = self.scored(execution, ruling.score, details, findings, ruling.warnings)
        verdict: Verdict = "passed" if ruling.score >= threshold else "failed"
        return msgspec.structs.replace(result, verdict=verdict, threshold=threshold)

    def _threshold_of(self, rubrics: tuple[Rubric, ...]) -> float:
        """Return the score from which a run passes; without rubrics, one half by default.

        All rubrics have to be met, but no judge gives every good run the highest score.
        """
        if rubrics or "threshold" in self.config.model_fields_set:
            return self.config.threshold
        return _PASSING_GRADE

    def asked(self) -> str:
        """Return the instruction for the judge."""
        return prompt_text(self.config.prompt) if self.config.prompt else self.task

    async def _ask(self, question: Question) -> tuple[Settings, Ruling]:
        import asyncio

        settings, config = Settings.of_environment(), self.config
        if isinstance(config.judge, str):
            raise JudgeError("RC601", f"the judge {shown(config.judge)} is custom code, which is not imported here")
        if config.judge is not None:
            return settings, await ask_callable(self._answer_of, question, config.samples)
        settings = _with_model(settings, config.model)
        sampling = Sampling(settings.model, config.temperature, config.max_tokens)
        deadline = asyncio.get_running_loop().time() + max(config.timeout - _MARGIN, config.timeout / 2)
        return settings, await ask_endpoint(question, settings, sampling, config.samples, deadline)

    async def _answer_of(self, question: Question) -> Any:
        """Return the answer of the user's function, which may be asynchronous."""
        given = await in_thread(lambda: self.config.judge(question))
        return await given if isinstance(given, Awaitable) else given

    def _model(self, settings: Settings) -> str:
        judge = self.config.judge
        return settings.model if judge is None else str(getattr(judge, "__qualname__", type(judge).__name__))


def _fingerprint(judge: Any) -> str:
    """Return a string that changes with the source file of a function, if that is known."""
    if judge is None:
        return ""
    import inspect

    try:
        file = inspect.getsourcefile(inspect.unwrap(judge)) if callable(judge) else None
    except TypeError:
        file = None
    if file is None or not Path(file).is_file():
        return str(judge or "")
    return f"{getattr(judge, '__qualname__', '')} {sha256(Path(file).read_bytes()).hexdigest()[:32]}"


def _with_model(settings: Settings, model: str) -> Settings:
    return msgspec.structs.replace(settings, model=model) if model else settings


def _joined(first: tuple[WrittenRubric, ...], second: tuple[WrittenRubric, ...]) -> tuple[Rubric, ...]:
    """Return all rubrics. Numbered ones are numbered consecutively. Raises `JudgeError`."""
    names: dict[str, Rubric] = {}
    for number, rubric in enumerate((*first, *second), 1):
        name = f"{number}" if rubric.id.isdecimal() else rubric.id
        if name in names:
            raise JudgeError("RC601", f"two rubrics are called {shown(name)}")
        names[name] = Rubric(name, rubric.text)
    return tuple(names.values())


class JudgeTrajectoryConfig(JudgeConfig):
    """How a judge of trajectories is asked."""

    name: str = "LlmJudgeTrajectory"


class JudgeTrajectoryCriteria(JudgeCriteria):
    """The expected behaviour in words; if empty, the `expected_behavior` of the case."""

    expected_agent_behavior: Annotated[str, Before(lambda value: "" if value is None else value)] = ""


class LlmJudgeTrajectory(JudgeEvaluator[JudgeTrajectoryConfig, JudgeTrajectoryCriteria]):
    """The score that a language model gives to the calls of a run, divided by 100, or the share of rubrics met.

    The model is shown the input, the expected behaviour, every call with its arguments, output, error and parallel
    calls, and the final answer. Nothing expected, neither behaviour nor rubrics nor a prompt, is an error. A run
    without calls is judged like any other, but a trace without tool data is not measured.
    """

    type_id = "llm-judge-trajectory"
    shorthand = Shorthand("llm-judge-trajectory", "expected_agent_behavior", schema={"type": ["string", "null"]})
    config_type = JudgeTrajectoryConfig
    criteria_type = JudgeTrajectoryCriteria
    task = (
        "Judge whether the agent did what it should. The block input has what it was given, expected_behavior what it "
        "should do, calls the tools it called, in order, and output its final answer. Judge the path: whether the "
        "right tools were called, with the right arguments, in a sensible order, and whether errors were dealt with. "
        "A call that nothing asked for, or that is missing, counts against it."
    )

    def question(
        self, execution: Execution, criteria: JudgeTrajectoryCriteria, rubrics: tuple[Rubric, ...]
    ) -> Question:
        """Return a question with everything that is known about the run."""
        expected = criteria.expected_agent_behavior or execution.expected_behavior
        if not (expected or rubrics or self.config.prompt):
            reason = "nothing says what is expected: give expected_behavior, rubrics or a prompt"
            raise JudgeError("RC601", reason)
        blocks = [QuestionBlock("input", execution.input)]
        blocks += [QuestionBlock("expected_behavior", expected)] if expected else []
        blocks += [
            QuestionBlock("calls", calls_of(execution.trajectory), lines=True),
            QuestionBlock("output", execution.output),
        ]
        return Question(task=self.asked(), blocks=tuple(blocks), rubrics=rubrics, calls=len(execution.calls))


def _is_some_key(value: Target) -> Target:
    if not value:
        raise ValueError(f"a key is expected, not {shown(value)}")
    return value


class JudgeOutputConfig(JudgeConfig):
    """How a judge of answers is asked, and which part of the answer it is shown."""

    name: str = "LlmJudgeOutput"
    target_output_key: Annotated[Target, After(_is_some_key)] = "*"


class JudgeOutputCriteria(JudgeCriteria):
    """The expected answer, or rubrics that it is to meet. In `expected_turns`, what is expected of each turn."""

    expected_output: Any = None
    expected_turns: tuple[Any, ...] | None = None

    def check(self) -> None:
        if self.expected_turns is not None and self.expected_output is not None:
            raise ValueError("give either 'expected_output' for the answer of the run or 'expected_turns'")
        try:
            admit([self.expected_output, list(self.expected_turns or ())])
        except InputError as problem:
            raise ValueError(f"expected_output: {problem}") from None


class LlmJudgeOutput(JudgeEvaluator[JudgeOutputConfig, JudgeOutputCriteria]):
    """The score that a language model gives to the final answer, divided by 100, or the share of rubrics met.

    The model is shown the input, the expected answer if there is one, and the answer; with `expected_turns`, the lists
    of them, turn by turn. Nothing expected, neither an answer nor rubrics nor a prompt, is an error; no answer, or
    null, is not measured; an answer without the part that is judged is 0.0.
    """

    type_id = "llm-judge-output"
    shorthand = Shorthand("llm-judge-output", "expected_output")
    reads_calls = False
    config_type = JudgeOutputConfig
    criteria_type = JudgeOutputCriteria
    task = (
        "Judge the final answer of the agent. The block input has what it was given, expected_output the answer that "
        "was expected, if any, and output the answer it gave. Judge the meaning: other words, another order or another "
        "form are fine, but every fact counts, and so does one that is missing, wrong or made up."
    )

    def compile(self, criteria: JudgeOutputCriteria) -> NoPlan:
        """Check that the expected answer has the part that is judged."""
        if criteria.expected_output is not None:
            self._expected(criteria)
        return NoPlan()

    async def assess(self, execution: Execution, criteria: JudgeOutputCriteria) -> EvaluationResult:
        """Ask the judge, unless the answer was not recorded."""
        if execution.output is None:
            return self.unmeasured(execution, "the final output was not recorded")
        if criteria.expected_turns is not None:
            run = execution.trajectory
            if not run.turn_outputs and (len(criteria.expected_turns) > 1 or run.has_turns_after(0)):
                return self.unmeasured(execution, "the answers of the turns were not recorded")
            return await super().assess(execution, criteria)
        try:
            part_of(execution.output, self.config.target_output_key, self.limits)
        except InputError as problem:
            finding = Finding("RC110", f"the final output lacks the part that is judged: {problem}")
            return self.scored(execution, 0.0, findings=(finding,))
        return await super().assess(execution, criteria)

    def question(self, execution: Execution, criteria: JudgeOutputCriteria, rubrics: tuple[Rubric, ...]) -> Question:
        """Return a question with the input and both answers."""
        expected, output = self._expected(criteria), execution.output
        if criteria.expected_turns is not None:
            expected, output = list(criteria.expected_turns), list(execution.trajectory.turn_outputs) or [output]
        else:
            output = part_of(output, self.config.target_output_key, self.limits)
        if expected is None and not rubrics and not self.config.prompt:
            raise JudgeError("RC601", "nothing says what is expected: give expected_output, rubrics or a prompt")
        blocks = [QuestionBlock("input", execution.input)]
        blocks += [QuestionBlock("expected_output", expected)] if expected is not None else []
        return Question(task=self.asked(), blocks=(*blocks, QuestionBlock("output", output)), rubrics=rubrics)

    def _expected(self, criteria: JudgeOutputCriteria) -> Any:
        if criteria.expected_output is None:
            return None
        return expected_part(criteria.expected_output, self.config.target_output_key, "expected_output", self.limits)


def read_labels(path: str | Path) -> dict[str, bool]:
    """Read human labels: whether each case passes, by its id.

    The file is CSV with a header line, JSON Lines, or YAML or JSON: a list of objects, or an object keyed by id. A case
    is under `case`, `case_id` or `id`; its label, under `label`, `verdict` or `passed`, is passed or failed, true or
    false, yes or no, good or bad, 1 or 0.

    Raises:
        InputError: the file cannot be read, has no labels, a label that is none of these, or two for one case.
    """
    try:
        data = Path(path).read_bytes()
    except OSError as problem:
        raise InputError(f"{path}: {problem.strerror or problem}") from None
    labels: dict[str, bool] = {}
    try:
        for place, case_id, label in _entries(data, Path(path).suffix.lower(), str(path)):
            if case_id in labels:
                raise InputError(f"{place}: the case {shown(case_id)} has a label already")
            labels[case_id] = _label(label, place)
    except DocumentError as problem:
        raise InputError(f"{path}:{problem.line}:{problem.column}: {problem}") from None
    except (csv.Error, UnicodeDecodeError) as problem:
        raise InputError(f"{path}: {problem}") from None
    if not labels:
        raise InputError(f"{path}: no labels in it")
    return labels


def _entries(data: bytes, suffix: str, name: str) -> Iterator[tuple[str, str, Any]]:
    """Yield the position of each label, its case, and the label as written."""
    if suffix == ".csv":
        rows = csv.DictReader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        for row in rows:
            yield f"{name}:{rows.line_num}", *_entry(row, f"{name}:{rows.line_num}")
    elif suffix in (".jsonl", ".ndjson"):
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield f"{name}:{number}", *_entry(_decoded(line, f"{name}:{number}"), f"{name}:{number}")
    else:
        document = decode_document(data)
        value = document.value
        if not isinstance(value, (dict, list)):
            raise InputError(f"{name}: a list of labels, or an object of them, is expected, not {shown(value)}")
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            place = f"{name}:{document.position((key,)).line}"
            yield place, *((str(key), item) if isinstance(value, dict) else _entry(item, place))


def _decoded(line: bytes, place: str) -> Any:
    try:
        return decode_json(line)
    except InputError as problem:
        raise InputError(f"{place}: {problem}") from None


def _entry(row: Any, place: str) -> tuple[str, Any]:
    if not isinstance(row, dict):
        raise InputError(f"{place}: an object with a case and its label is expected, not {shown(row)}")
    case_id, label = _one(row, _CASES, place), _one(row, _LABELS, place)
    if not isinstance(case_id, (str, int)) or isinstance(case_id, bool) or case_id == "":
        raise InputError(f"{place}: the id of a case is expected, not {shown(case_id)}")
    return str(case_id), label


def _one(row: dict[Any, Any], names: tuple[str, ...], place: str) -> Any:
    found = [name for name in names if name in row]
    if len(found) != 1:
        given = [str(key) for key in row if key is not None]
        hint = nearest(names[0], given) if not found else f"both {' and '.join(found)} are there"
        raise InputError(f"{place}: {names[0]!r} (or {', '.join(names[1:])}) is expected once; {hint}")
    return row[found[0]]


def _label(value: Any, place: str) -> bool:
    written = str(value).strip().lower() if isinstance(value, (str, bool, int, float)) else ""
    if written in _PASSED or written in _FAILED:
        return written in _PASSED
    raise InputError(f"{place}: a label is passed or failed, not {shown(value)}")


class Compared(msgspec.Struct, frozen=True):
    """The verdicts of people and of a judge on one case."""

    case_id: str
    people: bool
    judge: bool
    score: float | None = None


class Agreement(msgspec.Struct, frozen=True):
    """Counts of the four combinations of two verdicts: those of people, or of a source, and those of a judge."""

    both_passed: int = 0
    only_people: int = 0
    """Cases that pass only for people."""
    only_judge: int = 0
    both_failed: int = 0
    differing: tuple[Compared, ...] = ()
    """The cases on which they differ, or some of them."""

    @classmethod
    def of(cls, compared: Iterable[Compared]) -> Agreement:
        """Count the combinations."""
        cases = list(compared)
        counts = Counter([(one.people, one.judge) for one in cases])
        differing = tuple([one for one in cases if one.people != one.judge])
        return cls(counts[True, True], counts[True, False], counts[False, True], counts[False, False], differing)

    @property
    def total(self) -> int:
        """The number of compared cases."""
        return self.both_passed + self.only_people + self.only_judge + self.both_failed

    @property
    def agreed(self) -> int:
        """The number of cases on which they agree."""
        return self.both_passed + self.both_failed

    @property
    def share(self) -> float | None:
        """The share of cases on which they agree; `None` if there are no cases."""
        return self.agreed / self.total if self.total else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa: agreement beyond chance, 1.0 if complete and 0.0 if no more than by chance.

        `None` if both give the same verdict on every case, because chance alone would make them agree.
        """
        if self.share is None:
            return None
        people = (self.both_passed + self.only_people) / self.total
        judge = (self.both_passed + self.only_judge) / self.total
        chance = people * judge + (1 - people) * (1 - judge)
        return None if chance == 1 else (self.share - chance) / (1 - chance)

    def count(self, people: bool, judge: bool) -> int:
        """Return the number of cases with these two verdicts."""
        if people:
            return self.both_passed if judge else self.only_people
        return self.only_judge if judge else self.both_failed
