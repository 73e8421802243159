"""Longest common subsequences of equal values."""

from __future__ import annotations

from collections.abc import Sequence

from rapidfuzz.distance import LCSseq

from ._bits import related_subsequence

_LARGEST_TABLE = 20_000 * 20_000
"""Cells rapidfuzz may keep to recover a path, a bit each: 50 MB."""


def common_length(expected: Sequence[int], actual: Sequence[int]) -> int:
    """The length of a longest common subsequence of two lists of small whole numbers."""
    # rapidfuzz compares hashes; of whole numbers that fit a word those never collide.
    return LCSseq.similarity(expected, actual)


def common_subsequence(expected: Sequence[int], actual: Sequence[int]) -> list[tuple[int, int]]:
    """The pairs of positions of one longest common subsequence of two lists of small whole numbers.

    It is always the same one for the same input.
    """
    if len(expected) * len(actual) > _LARGEST_TABLE:
        return _in_linear_memory(expected, actual)
    pairs: list[tuple[int, int]] = []
    for first, second, size in LCSseq.editops(expected, actual).as_matching_blocks():
        if size == 1:
            pairs.append((first, second))
        else:
            pairs.extend(zip(range(first, first + size), range(second, second + size), strict=True))
    return pairs


def _in_linear_memory(expected: Sequence[int], actual: Sequence[int]) -> list[tuple[int, int]]:
    positions: dict[int, list[int]] = {}
    for position, value in enumerate(actual):
        positions.setdefault(value, []).append(position)
    return related_subsequence([positions.get(value, ()) for value in expected], len(actual))
