"""Spans of other instrumentations, whatever provider they use. One is set once a process, so each test has its own."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap

import pytest
from tests.waiting import PATIENCE

from rightcall.errors import install_command

BEGINNING = """
import sys
from rightcall import capture, tool, traced

@tool
def look(case="x"):
    return case

def names(captured):
    return list(captured.trajectory().names)
"""

WITH_SDK = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased

def tell(tracer, name):
    with tracer.start_as_current_span(name, attributes={"tool.name": name}):
        pass

def exporting(**options):
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False, **options)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    return provider, lambda: [span.name for span in exporter.get_finished_spans()]
"""


def run(code: str, beginning: str = BEGINNING + WITH_SDK, **environment: str) -> str:
    """What a program prints; it prints nothing on standard error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", beginning + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        env={**os.environ, **environment},
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.strip()


def test_spans_through_the_api_are_captured_where_no_provider_is_set() -> None:
    code = """
        early = trace.get_tracer("early")
        tell(early, "before")
        with capture() as captured:
            tell(early, "one")
            tell(trace.get_tracer("late"), "two")
            late = trace.get_tracer("late")
        tell(early, "after"); tell(late, "after")
        print(names(captured), type(trace.get_tracer_provider()).__name__)
    """

    assert run(code) == "['one', 'two'] ProxyTracerProvider"


def test_a_provider_that_is_set_keeps_its_exporters_and_its_spans_are_captured() -> None:
    code = """
        provider, exported = exporting()
        trace.set_tracer_provider(provider)
        look("before")
        with capture() as captured:
            with trace.get_tracer("agent").start_as_current_span("agent"):
                look("during")
        look("after")
        print(names(captured), exported())
    """

    assert run(code) == "['look'] ['look', 'look', 'agent', 'look']"


@pytest.mark.parametrize("is_set", [True, False])
def test_a_provider_that_an_agent_makes_in_each_run_is_captured_without_a_warning(is_set: bool) -> None:
    code = f"""
        def agent():
            provider, exported = exporting()
            if {is_set}:
                trace.set_tracer_provider(provider)
            tell(provider.get_tracer("agent"), "own")
            tell(trace.get_tracer("agent"), "global")
            look()
            return exported()

        for _ in range(3):
            with capture() as captured:
                exported = agent()
            print(names(captured), "own" in exported)
    """

    assert run(code).splitlines() == ["['own', 'global', 'look'] True"] * 3


def test_a_provider_made_before_the_capture_and_never_set_is_captured() -> None:
    code = """
        provider, exported = exporting()
        tracer = provider.get_tracer("agent")
        with capture() as captured:
            tell(tracer, "search")
        print(names(captured), exported())
    """

    assert run(code) == "['search'] ['search']"


@pytest.mark.parametrize("sampler", ["ALWAYS_OFF", "ParentBased(ALWAYS_OFF)"])
def test_what_a_sampler_would_drop_is_captured_and_still_not_exported(sampler: str) -> None:
    code = f"""
        provider, exported = exporting(sampler={sampler})
        trace.set_tracer_provider(provider)
        tracer = provider.get_tracer("agent")
        with capture() as captured:
            with tracer.start_as_current_span("outer", attributes={{"tool.name": "outer"}}):
                look()
        with tracer.start_as_current_span("outside") as span:
            print(names(captured), exported(), span.is_recording())
    """

    assert run(code) == "['outer', 'look'] [] False"


def test_limits_of_a_provider_cut_off_what_it_exports_and_not_what_a_capture_judges() -> None:
    code = """
        import logging
        from opentelemetry.sdk.trace import SpanLimits

        logging.disable()  # the SDK warns that it cuts off
        kept = InMemorySpanExporter()
        limits = SpanLimits(max_span_attribute_length=40, max_span_attributes=2)
        provider = TracerProvider(shutdown_on_exit=False, span_limits=limits)
        provider.add_span_processor(SimpleSpanProcessor(kept))
        trace.set_tracer_provider(provider)
        for _ in range(2):
            look("abc" * 30)
            with capture() as captured:
                look("abc" * 30)
            call = captured.trajectory().calls[0]
            print(len(call.args["case"]), len(call.output))
        outside = kept.get_finished_spans()[2].attributes
        print(len(outside), max([len(value) for value in outside.values()]))
    """

    assert run(code).splitlines() == ["90 90", "90 90", "2 40"]


def test_a_provider_that_does_not_use_the_sdk_does_not_hide_tools() -> None:
    code = """
        class Foreign(trace.TracerProvider):
            def get_tracer(self, *args, **kwargs):
                return trace.NoOpTracer()

        trace.set_tracer_provider(Foreign())
        with capture() as captured:
            look()
        print(names(captured))
    """

    assert run(code) == "['look']"


def test_tools_are_captured_where_the_sdk_is_disabled() -> None:
    code = """
        with capture() as captured:
            look()
            tell(trace.get_tracer("agent"), "search")
        print(names(captured))
    """

    assert run(code, OTEL_SDK_DISABLED="true") == "['look', 'search']"


def test_the_warning_about_a_second_provider_is_only_kept_back_inside_a_capture() -> None:
    code = """
        import logging
        logging.basicConfig(stream=sys.stdout, format="%(message)s")
        with capture():
            trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
            trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
        print("outside")
        trace.set_tracer_provider(TracerProvider(shutdown_on_exit=False))
    """

    assert run(code) == "outside\nOverriding of current TracerProvider is not allowed"


WITHOUT_SDK = """
import sys
sys.modules["{name}"] = None
"""


@pytest.mark.parametrize("missing", ["opentelemetry", "opentelemetry.sdk"])
def test_without_the_sdk_tools_work_and_a_capture_says_what_to_install(missing: str) -> None:
    code = """
        from rightcall.errors import MissingExtraError
        from rightcall.running.mocking import Mocks, use_mocks

        @traced()
        @tool
        def twice(number):
            return 2 * number

        print(twice(2))
        with use_mocks(Mocks.of({"twice": {"returns": 5}})):
            print(twice(2))
        try:
            with capture():
                pass
        except MissingExtraError as problem:
            print(problem)
    """

    assert run(code, beginning=WITHOUT_SDK.format(name=missing) + BEGINNING).splitlines() == [
        "4",
        "5",
        f"capturing spans needs opentelemetry-sdk: {install_command()}",
    ]


def test_decorators_import_no_telemetry_before_somebody_wants_a_span() -> None:
    code = """
        look()
        print([name for name in ("opentelemetry", "msgspec", "asyncio", "rightcall.reading") if name in sys.modules])
    """

    assert run(code, beginning=BEGINNING) == "[]"


def test_capturing_and_mocking_load_neither_pydantic_nor_rich() -> None:
    code = """
        from rightcall.running.mocking import Mocks, use_mocks
        with capture() as captured, use_mocks(Mocks.of({"look": {"returns": 1}})):
            look()
        captured.trajectory()
        print([name for name in ("pydantic", "rich", "click", "yaml") if name in sys.modules])
    """

    assert run(code, beginning=BEGINNING) == "[]"


def test_a_coroutine_that_is_thrown_away_prints_nothing() -> None:
    code = """
        import contextvars

        @tool
        async def wait():
            class Never:
                def __await__(self):
                    yield
            await Never()

        with capture() as captured:
            coroutine = wait()
            contextvars.copy_context().run(coroutine.send, None)
            coroutine.close()
        print(names(captured))
    """

    assert run(code) == "['wait']"
