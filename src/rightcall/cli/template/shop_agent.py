"""A shopping assistant, small enough to read in one go. A model would decide what to call; here, rules do."""

from __future__ import annotations

import re
from typing import Any

from rightcall import tool

PRODUCTS: dict[str, dict[str, Any]] = {
    "P001": {"name": "Pro Laptop", "price": 1299, "quantity": 5},
    "P002": {"name": "Budget Laptop", "price": 499, "quantity": 0},
    "P003": {"name": "Phone X", "price": 899, "quantity": 12},
}
NUMBERS = {"one": 1, "two": 2, "three": 3}


@tool
def search_products(query: str) -> list[str]:
    """The ids of the products with this word in their name."""
    return [product_id for product_id, product in PRODUCTS.items() if query in product["name"].lower()]


@tool
def check_inventory(product_id: str) -> dict[str, Any]:
    """Whether a product is in stock."""
    quantity = PRODUCTS[product_id]["quantity"]
    return {"in_stock": quantity > 0, "quantity": quantity}


@tool
def reserve_item(product_id: str, quantity: int) -> dict[str, Any]:
    """Put something aside for the customer."""
    return {"reserved": product_id, "quantity": quantity}


def answer(question: str) -> str:
    """Answer a customer. The eval set is about the calls that this makes."""
    text = question.lower()
    kind = next((word for word in ("laptop", "phone") if word in text), None)
    if kind is None:
        return "Hello! What can I find for you?"
    for product_id in search_products(query=kind):
        if check_inventory(product_id=product_id)["in_stock"]:
            return _offer(product_id, text)
    return f"There is no {kind} in stock."


def _offer(product_id: str, text: str) -> str:
    name, price = PRODUCTS[product_id]["name"], PRODUCTS[product_id]["price"]
    if "reserve" not in text:
        return f"The {name} is in stock, for ${price}."
    quantity = 1  # the mistake: it reserves one, however many were asked for. To fix it: quantity = _wanted(text)
    reserve_item(product_id=product_id, quantity=quantity)
    return f"I reserved {quantity} × {name} for you."


def _wanted(text: str) -> int:
    return next((NUMBERS[word] for word in re.findall(r"\w+", text) if word in NUMBERS), 1)
