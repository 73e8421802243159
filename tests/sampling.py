"""How much each property test tries: a fixed sample in the suite, far more with `make fuzz`.

`RIGHTCALL_FUZZ` holds the seed of a search. Without it everything drawn is the same in every run, so that a red suite
means a change in the code. CONTRIBUTING.md tells which of these to use.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from random import Random
from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings

T = TypeVar("T")

SEED = os.environ.get("RIGHTCALL_FUZZ", "")
"""The seed of a search; empty in the suite."""
_SUITE_EXAMPLES = 100
_FUZZ_EXAMPLES = int(os.environ.get("FUZZ_EXAMPLES", "1000"))


def load_profile() -> None:
    """Make Hypothesis use the one profile of the suite, or that of a search."""
    # How long an example takes to draw or to run says how busy the machine is, not whether the law holds.
    # Hypothesis may explain a failure for longer than the rest of the suite takes; what fails is enough to begin with.
    told = [phase for phase in Phase if phase is not Phase.explain]
    timeless = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], phases=told)
    settings.register_profile("suite", timeless, max_examples=_SUITE_EXAMPLES, derandomize=True)
    settings.register_profile("fuzz", timeless, max_examples=_FUZZ_EXAMPLES, derandomize=False, print_blob=True)
    # `make mutants` asks only whether a test fails, not by which smallest example.
    suite, brief = settings.get_profile("suite"), [Phase.explicit, Phase.generate]
    settings.register_profile("mutants", suite, phases=brief)
    settings.load_profile("fuzz" if SEED else "suite")


def examples(number: int) -> settings:
    """Settings for a test that needs another number of examples than 100; a search tries as many times more."""
    each = _FUZZ_EXAMPLES if SEED else _SUITE_EXAMPLES
    return settings(max_examples=max(1, number * each // _SUITE_EXAMPLES))


def sample(items: Collection[T], key: str, size: int) -> list[T]:
    """So many of these, in their order, and always the same ones for one `key`; all of them in a search."""
    chosen = list(items)
    if SEED or len(chosen) <= size:
        return chosen
    return [chosen[place] for place in sorted(Random(key).sample(range(len(chosen)), size))]


def randomness(key: str) -> Random:
    """A source of random numbers: the same in every run of the suite, another one for each seed of a search."""
    return Random(f"{key} {SEED}")
