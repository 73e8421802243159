"""Agents that are Python functions."""

from __future__ import annotations

from typing import Any

import pytest
from tests.running.agents.workshop import Workshop, ask

from rightcall.errors import AgentError

KINDS = {
    "function": "def answer(question): return question + '!'",
    "coroutine": "async def answer(question): return question + '!'",
    "generator": "def answer(question):\n    yield 'thinking'\n    yield question + '!'",
    "asynchronous generator": "async def answer(question):\n    yield 'thinking'\n    yield question + '!'",
    "callable object": "class Agent:\n    def __call__(self, question): return question + '!'\nanswer = Agent()",
    "asynchronous callable": "class A:\n    async def __call__(self, question): return question + '!'\nanswer = A()",
    "bound method": "class Agent:\n    def ask(self, question): return question + '!'\nanswer = Agent().ask",
    "partial": "import functools\nasync def ask(mark, question): return question + mark\n"
    "answer = functools.partial(ask, '!')",
    "function that returns a coroutine": "async def ask(question): return question + '!'\n"
    "answer = lambda question: ask(question)",
    "class without arguments": "class answer:\n    def __call__(self, question): return question + '!'",
}


@pytest.mark.parametrize("text", KINDS.values(), ids=KINDS)
def test_every_kind_of_function_answers(workshop: Workshop, text: str) -> None:
    workshop.write("agent.py", text)

    assert workshop.output("agent.py:answer", "why") == "why!"


@pytest.mark.parametrize(
    ("parameters", "given", "seen"),
    [
        ("question", "why", {"question": "why"}),
        ("question", {"city": "Paris"}, {"question": {"city": "Paris"}}),
        ("question", {}, {"question": {}}),
        ("question", None, {"question": None}),
        ("question", {"question": "why"}, {"question": "why"}),
        ("city, action='now'", {"city": "Paris"}, {"city": "Paris", "action": "now"}),
        ("city, action", {"city": "Paris", "action": "x"}, {"city": "Paris", "action": "x"}),
        ("city, action='now'", "Paris", {"city": "Paris", "action": "now"}),
        ("city='Rome'", {"town": 1}, {"city": {"town": 1}}),
        ("*, city", "Paris", {"city": "Paris"}),
        ("city, /", {"city": "Paris"}, {"city": "Paris"}),
        ("**rest", {"a": 1, "b": 2}, {"rest": {"a": 1, "b": 2}}),
        ("city, **rest", {"city": "Paris", "b": 2}, {"city": "Paris", "rest": {"b": 2}}),
        ("*all", "Paris", {"all": ["Paris"]}),
        ("", None, {}),
        ("", {}, {}),
        ("question, session", "why", {"question": "why", "session": {"user": 1}}),
        ("question, context=None", "why", {"question": "why", "context": {"user": 1}}),
        ("a, b, *, session", {"a": 1, "b": 2}, {"a": 1, "b": 2, "session": {"user": 1}}),
        ("question, session", {"question": "why", "session": 5}, {"question": "why", "session": 5}),
        ("session", "why", {"session": "why"}),
    ],
)
def test_an_input_becomes_the_arguments_of_a_function(
    workshop: Workshop, parameters: str, given: Any, seen: dict[str, Any]
) -> None:
    workshop.write("agent.py", f"def answer({parameters}): return locals()")

    assert workshop.output("agent.py:answer", given, session={"user": 1}) == seen


@pytest.mark.parametrize(
    ("parameters", "given", "complaint"),
    [
        ("city, action", {"city": "Paris"}, "it has no 'action'"),
        ("city, action", {"city": "P", "action": 1, "towm": 2}, "no parameter 'towm'"),
        ("city, action", "Paris", "needs 2 arguments"),
        ("", "Paris", "takes no parameters, but the input is 'Paris'"),
    ],
)
def test_an_input_that_does_not_fit_is_an_error_that_says_why(
    workshop: Workshop, parameters: str, given: Any, complaint: str
) -> None:
    workshop.write("agent.py", f"def answer({parameters}): return 1")

    with pytest.raises(AgentError, match=complaint):
        workshop.output("agent.py:answer", given)


MODELS = {
    "pydantic model": "from pydantic import BaseModel\nclass Question(BaseModel):\n    city: str\n    unit: Unit",
    "pydantic dataclass": "from pydantic.dataclasses import dataclass\n@dataclass\nclass Question:\n    city: str\n"
    "    unit: Unit",
    "dataclass": "from dataclasses import dataclass\n@dataclass\nclass Question:\n    city: str\n    unit: Unit",
    "struct": "import msgspec\nclass Question(msgspec.Struct):\n    city: str\n    unit: Unit",
}


@pytest.mark.parametrize("annotation", ["Question", "Question | None"])
@pytest.mark.parametrize("future", ["", "from __future__ import annotations\n"], ids=["plain", "postponed"])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_an_annotated_parameter_gets_its_model_and_a_model_comes_back_as_an_object(
    workshop: Workshop, model: str, future: str, annotation: str
) -> None:
    unit = "import enum\nclass Unit(enum.Enum):\n    CELSIUS = 'c'\n    KELVIN = 'k'\n"
    use = f"async def main(input: {annotation}):\n    assert input.unit is Unit.KELVIN\n    return [input]\n"
    workshop.write("main.py", f"{future}{unit}{model}\n{use}")

    assert workshop.output("main.py", {"city": "Paris", "unit": "k"}) == [{"city": "Paris", "unit": "k"}]
    with pytest.raises(AgentError, match="does not make a Question"):
        workshop.output("main.py", {"city": "Paris", "unit": "miles"})


def test_annotated_parameters_are_made_when_passed_by_name(workshop: Workshop) -> None:
    workshop.write(
        "main.py",
        """
        import enum
        from dataclasses import dataclass
        class City(str, enum.Enum):
            PARIS = "Paris"
        @dataclass
        class Place:
            city: City
        def main(city: City, place: Place): return [type(city).__name__, type(place.city).__name__]
        """,
    )

    assert workshop.output("main.py", {"city": "Paris", "place": {"city": "Paris"}}) == ["City", "City"]


@pytest.mark.parametrize(
    "annotation",
    ["'Missing'", "Any", "dict", "dict[str, int]", "str | int", "Row", "list[Row]", "Literal['x']", "Walks"],
)
def test_any_other_annotation_leaves_the_input_as_it_is(workshop: Workshop, annotation: str) -> None:
    workshop.write(
        "main.py",
        f"""
        from typing import Any, Literal, Protocol, TypedDict
        class Row(TypedDict):
            a: int
        class Walks(Protocol):
            def walk(self): ...
        def main(question: {annotation}): return question
        """,
    )

    assert workshop.output("main.py", {"a": 1}) == {"a": 1}


def test_a_model_with_something_that_is_no_json_in_it_is_handed_on(workshop: Workshop) -> None:
    workshop.write(
        "agent.py",
        """
        from typing import Any
        from pydantic import BaseModel
        class Inner(BaseModel):
            number: int
        class Reply(BaseModel):
            held: Any
            inner: Inner
        def answer(question): return Reply(held=object, inner=Inner(number=5))
        """,
    )

    assert workshop.output("agent.py", "why") == {"held": object, "inner": {"number": 5}}


def test_what_an_agent_raises_comes_through(workshop: Workshop) -> None:
    workshop.write("agent.py", "class Tired(BaseException): pass\ndef answer(question): raise Tired('so')")

    with pytest.raises(BaseException, match="so") as caught:
        workshop.output("agent.py:answer", "why")

    assert type(caught.value).__name__ == "Tired"


def test_an_endless_value_is_handed_on_as_far_as_values_may_be_deep(workshop: Workshop) -> None:
    workshop.write("agent.py", "def answer(question):\n    loop = []\n    loop.append(loop)\n    return loop")

    assert isinstance(workshop.output("agent.py:answer", "why"), list)


def test_a_function_without_a_known_signature_is_refused(workshop: Workshop) -> None:
    workshop.write("agent.py", "class A:\n    __signature__ = 5\n    def __call__(self): pass\nanswer = A()")

    with pytest.raises(AgentError, match="its parameters are not known"):
        ask(workshop.load("agent.py:answer"), "why")
