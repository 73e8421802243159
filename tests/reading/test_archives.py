"""Logs of Inspect as archives."""

from __future__ import annotations

import io
import json
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import pytest
from tests.reading.logs import ANSWERED, ASKED
from tests.reading.test_transcripts import REFUND, sample, shown

from rightcall.errors import InputError
from rightcall.limits import Limits
from rightcall.reading import read


def archive(*samples: Any, **others: str) -> bytes:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr("_journal/start.json", "{}")
        for name, text in others.items():
            made.writestr(name, text)
        for number, each in enumerate(samples):
            made.writestr(f"samples/{number}_epoch_1.json", each if isinstance(each, str) else json.dumps(each))
    return held.getvalue()


def test_each_sample_of_an_archive_is_a_trajectory() -> None:
    made = list(read(archive(sample(1), sample(1, 2), sample(2), header="{}")))

    assert [(each.trace_id, shown(each)) for each in made] == [("u1-1", REFUND), ("u1-2", REFUND), ("u2-1", REFUND)]


def test_an_archive_is_the_same_from_a_file_a_stream_and_within_a_size(tmp_path: Path) -> None:
    data = archive(sample(1), sample(2))
    path = tmp_path / "log.eval"
    path.write_bytes(data)

    from_file = list(read(path))

    assert from_file == list(read(io.BytesIO(data))) == list(read(path, max_size=len(data))) == list(read(data))


def test_texts_kept_apart_and_events_in_place_of_messages_are_read() -> None:
    messages = sample()["messages"]
    messages[2] = {**messages[2], "content": "attachment://abc"}
    ran = {"event": "tool", "id": "c1", "function": "refund", "arguments": {"order": 7}, "result": "ok"}

    made = list(read(archive(sample(messages=messages, attachments={"abc": "ok"}), sample(messages=[], events=[ran]))))

    assert [shown(each) for each in made] == [REFUND, REFUND]


def test_a_number_that_is_not_one_of_json_costs_nothing() -> None:
    text = json.dumps(sample(scores={"accuracy": {"value": float("nan")}}))

    [made] = read(archive(text))

    assert shown(made) == REFUND


def test_a_sample_that_cannot_be_read_is_told() -> None:
    [made] = read(archive(sample(1), '{"id": 2, "epoch'))

    assert "samples/1_epoch_1.json" in " ".join(made.warnings)


@pytest.mark.parametrize("end", [10, 100, -1, -30])
def test_an_archive_that_was_cut_off_is_refused(end: int) -> None:
    with pytest.raises(InputError, match="damaged zip data"):
        list(read(archive(sample(1), sample(2))[:end]))


def test_another_archive_is_refused() -> None:
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as made:
        made.writestr("trace.json", json.dumps([ASKED, ANSWERED]))

    with pytest.raises(InputError, match="not a log of Inspect"):
        list(read(held.getvalue()))


def test_an_archive_without_a_sample_is_refused() -> None:
    with pytest.raises(InputError):
        list(read(archive()))


def test_a_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = archive(*["0" * 5_000_000] * 3)

    with pytest.raises(InputError, match="more than the limit of 10,000,000 bytes"):
        list(read(bomb, limits=Limits(archive_bytes=10_000_000)))


def test_a_sample_beyond_the_limit_costs_that_sample() -> None:
    [made] = read(archive(sample(1), " " * 200_000), limits=Limits(text_bytes=100_000))

    assert "exceeds the limit of 100,000 bytes" in " ".join(made.warnings)


def test_events_of_many_samples_are_never_in_memory_together() -> None:
    events = [{"event": "model", "input": "x" * 200_000}] * 10
    data = archive(*[sample(number, events=events) for number in range(20)])  # 40 MB, unpacked

    tracemalloc.start()
    count = sum(1 for _ in read(data))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert count == 20
    assert peak < 20_000_000
