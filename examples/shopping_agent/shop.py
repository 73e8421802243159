"""The shop: what it sells, and the four tools an assistant may use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

PRODUCTS: dict[str, dict[str, Any]] = {
    "P001": {"name": "Pro Laptop", "category": "computers", "price": 1299.0, "quantity": 5},
    "P002": {"name": "Budget Laptop", "category": "computers", "price": 499.0, "quantity": 0},
    "P003": {"name": "Phone X", "category": "phones", "price": 899.0, "quantity": 12},
}


def search_products(query: str, category: str | None = None) -> dict[str, Any]:
    """Search the shop.

    Args:
        query: Words to look for in the names of products.
        category: Only products of this category, such as computers or phones.
    """
    words = query.lower().split()
    found = [
        {"product_id": product_id, "name": product["name"], "price": product["price"]}
        for product_id, product in PRODUCTS.items()
        if any(word in product["name"].lower().split() for word in words) and category in (None, product["category"])
    ]
    return {"results": found, "count": len(found)}


def get_product_details(product_id: str) -> dict[str, Any]:
    """Everything about one product.

    Args:
        product_id: The id of the product, such as P001.
    """
    product = PRODUCTS.get(product_id)
    if product is None:
        return {"error": f"there is no product {product_id}"}
    return {
        "product_id": product_id,
        "name": product["name"],
        "category": product["category"],
        "price": product["price"],
    }


def check_inventory(product_id: str) -> dict[str, Any]:
    """Whether a product is in stock.

    Args:
        product_id: The id of the product, such as P001.
    """
    quantity = PRODUCTS.get(product_id, {"quantity": 0})["quantity"]
    return {"product_id": product_id, "in_stock": quantity > 0, "quantity": quantity}


def add_to_cart(product_id: str, quantity: int = 1) -> dict[str, Any]:
    """Put a product into the customer's cart.

    Args:
        product_id: The id of the product, such as P001.
        quantity: How many of it.
    """
    return {"success": product_id in PRODUCTS, "product_id": product_id, "quantity": quantity}


TOOLS: dict[str, Callable[..., dict[str, Any]]] = {
    "search_products": search_products,
    "get_product_details": get_product_details,
    "check_inventory": check_inventory,
    "add_to_cart": add_to_cart,
}
