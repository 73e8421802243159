"""Quantiles of the normal and of Student's t distribution, without scipy (which takes longer to import than to use)."""

from __future__ import annotations

from functools import cache
from math import exp, lgamma, log, log1p
from statistics import NormalDist

_SMALLEST = 1e-300
"""Keeps the continued fraction from dividing by zero."""


@cache
def normal_quantile(probability: float) -> float:
    """The value that a standard normal variable stays below with this probability."""
    return NormalDist().inv_cdf(probability)


def normal_tail(z: float) -> float:
    """The probability that a standard normal variable is further from 0 than `z`, on either side."""
    return 2.0 * NormalDist().cdf(-abs(z))


@cache
def t_quantile(probability: float, freedom: int) -> float:
    """The value that Student's t with so many degrees of freedom stays below with this probability."""
    if probability < 0.5:
        return -t_quantile(1.0 - probability, freedom)
    # With x = freedom / (freedom + t²), the chance of being further out than t on either side is I_x(freedom/2, 1/2).
    outside, low, high = 2.0 * (1.0 - probability), 0.0, 1.0
    for _ in range(200):
        middle = (low + high) / 2.0
        if middle in (low, high):
            break
        low, high = (middle, high) if incomplete_beta(middle, freedom / 2.0, 0.5) < outside else (low, middle)
    share = (low + high) / 2.0
    return float((freedom * (1.0 - share) / share) ** 0.5)


def incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularized incomplete beta function I_x(a, b)."""
    if x <= 0.0 or x >= 1.0:
        return 0.0 if x <= 0.0 else 1.0
    # The fraction converges quickly on one side of the mean; the other side is its mirror image.
    if x > (a + 1.0) / (a + b + 2.0):
        return 1.0 - incomplete_beta(1.0 - x, b, a)
    front = lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x)
    return exp(front) * _beta_fraction(x, a, b) / a


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, by Lentz's method (DLMF 8.17.22)."""
    above, below = 1.0, 1.0 / _away_from_zero(1.0 - (a + b) * x / (a + 1.0))
    value = below
    for step in range(1, 400):
        even = step * (b - step) * x / ((a + 2 * step - 1) * (a + 2 * step))
        odd = -(a + step) * (a + b + step) * x / ((a + 2 * step) * (a + 2 * step + 1))
        change = 1.0
        for term in (even, odd):
            below = 1.0 / _away_from_zero(1.0 + term * below)
            above = _away_from_zero(1.0 + term / above)
            change = above * below
            value *= change
        if abs(change - 1.0) < 1e-16:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > _SMALLEST else _SMALLEST
