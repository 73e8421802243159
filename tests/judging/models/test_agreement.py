"""How far a judge agrees with people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from rightcall import InputError
from rightcall.judging.models import Agreement, Compared, read_labels


def agreement(*pairs: tuple[bool, bool]) -> Agreement:
    return Agreement.of([Compared(str(number), *pair) for number, pair in enumerate(pairs)])


def test_agreement_and_kappa_of_the_textbook() -> None:
    # 50 cases: both yes 20, both no 15, people only 5, judge only 10. Kappa is 0.4.
    found = agreement(*[(True, True)] * 20, *[(False, False)] * 15, *[(True, False)] * 5, *[(False, True)] * 10)

    assert found.share == 0.7
    assert found.kappa == pytest.approx(0.4)
    assert [found.count(people, judge) for people in (True, False) for judge in (True, False)] == [20, 5, 10, 15]
    assert len(found.differing) == 15


@pytest.mark.parametrize(
    ("pairs", "share", "kappa"),
    [
        ([(True, True), (False, False)], 1.0, 1.0),
        ([(True, False), (False, True)], 0.0, -1.0),
        ([(True, True), (True, False), (False, True), (False, False)], 0.5, 0.0),
        ([(True, True), (True, True)], 1.0, None),
        ([(True, False), (True, False)], 0.0, 0.0),
        ([], None, None),
    ],
)
def test_the_edges(pairs: list[tuple[bool, bool]], share: float | None, kappa: float | None) -> None:
    found = agreement(*pairs)

    assert (found.share, found.kappa) == (share, kappa)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1))
def test_kappa_is_what_a_table_of_counts_gives(pairs: list[tuple[bool, bool]]) -> None:
    counts, total = Counter(pairs), len(pairs)
    rows = [sum(counts[people, judge] for judge in (True, False)) for people in (True, False)]
    columns = [sum(counts[people, judge] for people in (True, False)) for judge in (True, False)]
    observed = (counts[True, True] + counts[False, False]) / total
    chance = sum(row * column for row, column in zip(rows, columns, strict=True)) / total**2

    kappa = agreement(*pairs).kappa

    if chance == 1:
        assert kappa is None
    else:
        assert kappa == pytest.approx((observed - chance) / (1 - chance), abs=1e-9)
        assert -1 <= round(kappa or 0.0, 9) <= 1


FILES = {
    "labels.csv": "case,label,note\na,passed,fine\nb,0,no\n",
    "labels.CSV": "\ufeffid,passed\r\na,Yes\r\nb,FALSE\r\n",
    "labels.jsonl": '{"case": "a", "label": true}\n\n{"case_id": "b", "verdict": "failed"}\n',
    "labels.yaml": "- {case: a, label: good}\n- {case: b, label: bad}\n",
    "labels.yml": "a: passed\nb: failed\n",
    "labels.json": '{"a": 1, "b": 0}',
}


@pytest.mark.parametrize("name", FILES)
def test_labels_are_read_from_every_kind_of_file(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(FILES[name], encoding="utf-8")

    assert read_labels(tmp_path / name) == {"a": True, "b": False}


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("x.csv", "case,label\na,maybe\n", r"x.csv:2: a label is passed or failed, not 'maybe'"),
        ("x.csv", "case,label\na,1\na,0\n", r"x.csv:3: the case 'a' has a label already"),
        (
            "x.csv",
            "case,lable\na,1\n",
            r"x.csv:2: 'label' \(or verdict, passed\) is expected once; did you mean 'lable'",
        ),
        ("x.csv", "case,label,passed\na,1,1\n", "both label and passed are there"),
        ("x.csv", "case,label\n,1\n", "the id of a case is expected"),
        ("x.csv", "", "no labels in it"),
        ("x.jsonl", '{"case": "a", "label": 1}\n{"case"', "x.jsonl:2: "),
        ("x.jsonl", "[1]", "x.jsonl:1: an object with a case and its label is expected"),
        ("x.yaml", "a: 0.5", "x.yaml:1: a label is passed or failed, not 0.5"),
        ("x.yaml", "a: nan", "a label is passed or failed"),
        ("x.yaml", "a: [", "x.yaml:2:1: "),
        ("x.yaml", "a: 1\na: 0", "x.yaml:2:"),
        ("x.yaml", "labels", "a list of labels, or an object of them, is expected"),
        ("x.csv", "case,label\na,\0\n", "x.csv"),
    ],
)
def test_mistakes_in_labels_are_told_with_their_place(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")

    with pytest.raises(InputError, match=message):
        read_labels(tmp_path / name)


def test_labels_that_are_not_there_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="No such file"):
        read_labels(tmp_path / "nowhere.csv")
