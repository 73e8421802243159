"""What a model would decide, decided by a table: which tools to call for a request, and what to say in the end.

Five rows are the five situations in which match types differ: a path as expected (`laptop`), with one call more
(`gaming`), in the wrong order (`quick`), with a call missing (`in stock`), and with a wrong argument (`phone`).
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

Call = tuple[str, dict[str, Any]]


class Plan(NamedTuple):
    """Rounds of calls, those of one round at the same time, and what to say after the last."""

    rounds: tuple[tuple[Call, ...], ...]
    reply: str


_LAPTOP = "I found the Pro Laptop for $1299; it is in stock."
_SEARCH: Call = ("search_products", {"query": "laptop"})
_DETAILS: Call = ("get_product_details", {"product_id": "P001"})
_STOCK: Call = ("check_inventory", {"product_id": "P001"})

_PLANS: dict[str, Plan] = {
    "gaming": Plan(((_SEARCH,), (("search_products", {"query": "gaming laptop"}),), (_DETAILS,), (_STOCK,)), _LAPTOP),
    "quick": Plan(((_SEARCH,), (_STOCK,), (_DETAILS,)), _LAPTOP),
    "in stock": Plan(((_SEARCH,), (_STOCK,)), _LAPTOP),
    "phone x": Plan(
        (
            (("search_products", {"query": "phone x", "category": "phones"}),),
            (("check_inventory", {"product_id": "P003"}),),
        ),
        "Yes, the Phone X is available for $899.",
    ),
    "phone": Plan(((("search_products", {"query": "phone"}),), (_DETAILS,), (_STOCK,)), _LAPTOP),
    "laptop": Plan(((_SEARCH,), (_DETAILS,), (_STOCK,)), _LAPTOP),
    "compare": Plan(
        (
            (_DETAILS, ("get_product_details", {"product_id": "P002"})),
            (("check_inventory", {"product_id": "P002"}), _STOCK),
        ),
        "The Pro Laptop is $1299 and in stock, the Budget Laptop is $499 and sold out.",
    ),
}
"""By a word in the request; the first that occurs counts."""

_NUMBERS = {"a": 1, "one": 1, "two": 2, "three": 3}


def plan(requests: list[str]) -> Plan:
    """What to do about the last of a customer's requests; the earlier ones say what it is about."""
    request = requests[-1].lower()
    if "cart" in request:
        return _purchase(request, " ".join(requests[:-1]).lower())
    for word, made in _PLANS.items():
        if word in request:
            return made
    return Plan((), "Hello! What can I help you shop for today?")


def _purchase(request: str, before: str) -> Plan:
    product_id, name = ("P003", "Phone X") if "phone x" in before else ("P001", "Pro Laptop")
    quantity = next((_NUMBERS[word] for word in re.findall(r"\w+", request) if word in _NUMBERS), 1)
    bought = {"product_id": product_id, "quantity": quantity}
    rounds = ((("check_inventory", {"product_id": product_id}),), (("add_to_cart", bought),))
    return Plan(rounds, f"I added {quantity} {name} to your cart.")
