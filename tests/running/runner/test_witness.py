"""What is told of a job while it runs is found in its page, as far as it is whole."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from mmap import mmap

import pytest

from rightcall.running.runner._case_record import PAGE_BYTES, Outbox, Page, Seen, map_pages, read_page
from rightcall.running.runner._process_state import shared_memory
from rightcall.values.trajectory import RawSpan


@pytest.fixture
def memory() -> Iterator[int]:
    descriptor = shared_memory(2 * PAGE_BYTES)
    yield descriptor
    os.close(descriptor)


@pytest.fixture
def pages(memory: int) -> mmap:
    return map_pages(os.dup(memory))


def span(name: str) -> RawSpan:
    return RawSpan(name=name, span_id="a")


def names_of(seen: list[Seen]) -> list[str]:
    return [each.span["name"] for each in seen]


@pytest.mark.parametrize("name", ["", "ü", "\ud800", "\r\n\0"], ids=ascii)
def test_what_is_told_is_found_as_it_was(memory: int, pages: mmap, name: str) -> None:
    page = Page(pages, PAGE_BYTES, 1, 7)

    page.add(0, span(name))
    page.add(1, span(name))

    found = read_page(memory, PAGE_BYTES, 1, 7)
    assert [each.turn for each in found] == [0, 1]
    assert names_of(found) == [name, name]
    assert read_page(memory, PAGE_BYTES, 0, 7) == []


def test_a_span_that_cannot_be_written_is_known_to_be_missing(memory: int, pages: mmap) -> None:
    Page(pages, PAGE_BYTES, 0, 1).add(0, RawSpan(name="odd", span_id="a", attributes={"odd": object()}))

    assert read_page(memory, PAGE_BYTES, 0, 1) == [Seen(1, 0, None)]


def test_what_an_earlier_job_left_in_a_page_is_not_of_this_one(memory: int, pages: mmap) -> None:
    earlier = Page(pages, PAGE_BYTES, 0, 1)
    for _ in range(3):
        earlier.add(0, span("earlier"))

    assert read_page(memory, PAGE_BYTES, 0, 2) == []
    Page(pages, PAGE_BYTES, 0, 2).add(0, span("x"))
    assert names_of(read_page(memory, PAGE_BYTES, 0, 2)) == ["x"]
    assert read_page(memory, PAGE_BYTES, 0, 1) == []


def test_a_line_whose_first_byte_is_not_there_yet_is_not_read(memory: int, pages: mmap) -> None:
    pages[:11] = b"[1,0,[1]]\n\0"

    pages[11:22] = b"1,0,[2]]\n\0\0"

    assert [seen.span for seen in read_page(memory, PAGE_BYTES, 0, 1)] == [[1]]


def test_a_full_page_takes_no_more_and_keeps_what_it_has(memory: int, pages: mmap) -> None:
    page = Page(pages, PAGE_BYTES, 0, 1)

    for number in range(100):
        page.add(0, RawSpan(name=f"{number}", span_id="a", attributes={"text": "x" * 60_000}))

    assert names_of(read_page(memory, PAGE_BYTES, 0, 1)) == [f"{number}" for number in range(69)]
    assert pages[PAGE_BYTES] == 0


@pytest.mark.parametrize(
    "line",
    [
        b"garbage",
        b"{}",
        b"[1]",
        b'["1",0,{}]',
        b"[1,-1,{}]",
        b"[1,0,{},0]",
        b"[1,0,\xff]",
    ],
)
def test_a_line_that_is_none_says_nothing(memory: int, pages: mmap, line: bytes) -> None:
    pages[: len(line) + 9] = line + b"\n[1,0,3]\n"

    assert read_page(memory, PAGE_BYTES, 0, 1) == [Seen(1, 0, 3)]


def test_a_page_without_an_end_ends_with_its_memory(memory: int, pages: mmap) -> None:
    pages[:PAGE_BYTES] = b"[" * PAGE_BYTES

    assert read_page(memory, PAGE_BYTES, 0, 1) == []


def test_a_fork_tells_nothing(memory: int, pages: mmap) -> None:
    page = Page(pages, PAGE_BYTES, 0, 1)

    child = os.fork()
    if child == 0:
        page.add(0, span("x"))
        os._exit(0)
    os.waitpid(child, 0)

    assert read_page(memory, PAGE_BYTES, 0, 1) == []


def test_an_item_that_comes_while_another_is_handed_over_comes_after_it() -> None:
    handed: list[str] = []

    def hand_over(item: str) -> None:
        if item == "first":
            outbox.put("second")  # as garbage collection may, in the middle of the first
        handed.append(item)

    outbox = Outbox(hand_over)
    outbox.put("first")

    assert handed == ["first", "second"]


def test_where_files_have_to_be_small_so_is_the_memory() -> None:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        descriptor = shared_memory(PAGE_BYTES)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    assert os.fstat(descriptor).st_size == 10_000
    Page(map_pages(os.dup(descriptor)), 5_000, 1, 7).add(0, span("x"))
    assert names_of(read_page(descriptor, 5_000, 1, 7)) == ["x"]
    os.close(descriptor)


def test_as_many_lines_are_read_as_a_page_has_room_for_spans(memory: int, pages: mmap) -> None:
    line = b"[7,0,null]\n"
    pages[: PAGE_BYTES // len(line) * len(line)] = line * (PAGE_BYTES // len(line))

    assert len(read_page(memory, PAGE_BYTES, 0, 7)) == PAGE_BYTES // 64


def test_a_span_in_a_fork_is_noted_and_a_fork_without_spans_is_not(pages: mmap) -> None:
    page = Page(pages, PAGE_BYTES, 0, 1)

    for seen in (False, True):
        child = os.fork()
        if not child:
            if seen:
                page.add(0, span("x"))
            os._exit(0)
        os.waitpid(child, 0)

        assert page.has_forks == seen
