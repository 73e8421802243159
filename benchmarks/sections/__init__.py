"""The sections of the table: each gives a few related figures, every one of which can fail by itself."""

from benchmarks.figures import Section

from .growth import growth
from .long_orders import hundred_thousand, long_orders
from .pairing import pairing
from .reading import reading
from .running import runner
from .startup import startup
from .ten_calls import agentevals, deepeval, google_adk, uipath

__all__ = ["SECTIONS"]

SECTIONS: dict[str, Section] = {
    "uipath": uipath,
    "google-adk": google_adk,
    "agentevals": agentevals,
    "deepeval": deepeval,
    "order": long_orders,
    "order-100000": hundred_thousand,
    "pairing": pairing,
    "growth": growth,
    "reading": reading,
    "runner": runner,
    "startup": startup,
}
