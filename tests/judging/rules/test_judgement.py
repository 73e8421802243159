"""The kernel of rules against the definition of each relation, tried over all pairs of calls."""

from random import Random

import pytest
from hypothesis import given, strategies as st
from tests.judging.rules.scenes import Scene, World, applies, breakers, random_form, random_scene
from tests.sampling import examples

from rightcall.judging.rules import Form, judge
from rightcall.judging.rules._timeline import _without_circles

SEEDS = st.integers(min_value=0, max_value=2**32)
BATCH = 50
"""Scenes that are made of one seed: drawing each of them takes longer than judging it."""


def says(scene: Scene) -> str:
    return judge(scene.form, scene.cast(), scene.timeline).status


@examples(240)
@given(SEEDS)
def test_exactly_the_calls_break_a_rule_that_do_by_definition(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        scene = random_scene(random, random_form(random))
        [world] = scene.worlds()
        broken = breakers(scene.form, world)
        status = "broken" if broken else "holds" if applies(scene.form, world) else "never_applied"

        ruling = judge(scene.form, scene.cast(), scene.timeline)

        assert ([breach.call for breach in ruling.breaches], ruling.status) == (broken, status), scene


@examples(160)
@given(SEEDS)
def test_what_comes_in_between_may_have_made_calls_or_been_made_by_them(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        scene = random_scene(random, random_form(random, ("only_after", "followed_by"), directly=False), nested=True)
        [world] = scene.worlds()

        ruling = judge(scene.form, scene.cast(), scene.timeline)

        assert [breach.call for breach in ruling.breaches] == breakers(scene.form, world), scene


@examples(160)
@given(SEEDS)
def test_what_is_not_known_leaves_open_exactly_what_depends_on_it(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        scene = random_scene(random, random_form(random), unknown=3, most=5)
        broken = {bool(breakers(scene.form, world)) for world in scene.worlds()}

        status = says(scene)

        assert status == "open" if len(broken) == 2 else (status == "broken") == (broken == {True}), scene


@examples(60)
@given(SEEDS)
def test_what_selection_and_order_leave_open_is_never_decided(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        which = random.randrange(3)
        scene = random_scene(random, random_form(random), members=which != 0, unordered=which != 1, most=5)
        broken = {bool(breakers(scene.form, world)) for world in scene.worlds()}

        status = says(scene)

        assert status == "open" or ((status == "broken") == (broken == {True}) and len(broken) == 1), scene


@examples(60)
@given(SEEDS)
def test_a_rule_that_must_apply_is_open_or_as_in_every_filling(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        form = random_form(random)
        scene = random_scene(
            random, Form(form.relation, form.most, form.window, form.directly, True), unknown=2, most=4
        )
        worlds = list(scene.worlds())
        holds = {not breakers(form, world) and applies(form, world) for world in worlds}

        status = says(scene)

        assert status == "open" or ((status == "holds") == (holds == {True}) and len(holds) == 1), scene
        assert status != "open" or len(holds) == 2 or form.relation not in ("always", "only_with"), scene


SIX = ("only_after", "never_after", "followed_by", "never_with", "at_most", "always")


@examples(120)
@given(SEEDS)
def test_a_rule_holds_without_the_calls_that_are_named_as_breaking_it(seed: int) -> None:
    random = Random(seed)
    for _ in range(BATCH):
        scene = random_scene(random, random_form(random, SIX, directly=False), apart=True)
        ruling = judge(scene.form, scene.cast(), scene.timeline)
        named = {call for breach in ruling.breaches for call in (breach.call, breach.partner)}
        [world] = scene.worlds()
        left = [call for call in world.calls if call not in named]
        x, y, z, spared = [part.intersection(left) for part in (world.x, world.y, world.z, world.spared)]

        assert not breakers(scene.form, World(tuple(left), x, y, z, spared, world.before, world.agree)), scene


@pytest.mark.parametrize(
    ("parents", "without"),
    [
        ([-1, 0, 1], [-1, 0, 1]),
        ([0], [-1]),
        ([1, 0], [1, -1]),
        ([1, 2, 0, 0, -1], [1, 2, -1, 0, -1]),
    ],
)
def test_calls_that_would_have_made_themselves_were_made_by_none(parents: list[int], without: list[int]) -> None:
    assert _without_circles(list(parents)) == without
