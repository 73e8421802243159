"""The sections of the table: each gives a few related figures, every one of which can fail by itself."""

from benchmarks.figures import Section

from .agentevals_cli import agentevals_cli
from .bounds import bounds
from .columns import columns, columns_10m
from .eval_sets import eval_sets
from .groups import groups
from .growth import growth
from .long_orders import hundred_thousand, long_orders
from .matchers import matchers
from .pages import pages
from .pairing import pairing
from .reading import reading, reading_1gb
from .reports import reports
from .rules import rules
from .running import runner
from .similarity import similarity
from .startup import startup
from .ten_calls import agentevals, deepeval, google_adk, uipath
from .viewing import viewer
from .weather import weather

__all__ = ["ON_REQUEST", "SECTIONS"]

SECTIONS: dict[str, Section] = {
    "uipath": uipath,
    "similarity": similarity,
    "google-adk": google_adk,
    "agentevals": agentevals,
    "agentevals-cli": agentevals_cli,
    "deepeval": deepeval,
    "order": long_orders,
    "order-100000": hundred_thousand,
    "pairing": pairing,
    "growth": growth,
    "matchers": matchers,
    "bounds": bounds,
    "groups": groups,
    "rules": rules,
    "reading": reading,
    "reading-1gb": reading_1gb,
    "columns": columns,
    "columns-10m": columns_10m,
    "runner": runner,
    "viewer": viewer,
    "pages": pages,
    "reports": reports,
    "weather": weather,
    "eval-sets": eval_sets,
    "startup": startup,
}

ON_REQUEST = frozenset({"columns-10m", "reading-1gb"})
"""Sections that run only when they are named."""
