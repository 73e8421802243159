"""Five paths that went wrong, each in another way, for texts of failures to be compared.

It imports the standard library only: every peer reads it in an environment of its own.
"""

from .inputs import Input

FAILURES = (
    Input(
        "A wrong argument",
        [
            {"name": "find_hotel", "args": {"city": "Oslo"}},
            {"name": "book_hotel", "args": {"hotel": "H7", "nights": 2}},
        ],
        [
            {"name": "find_hotel", "args": {"city": "Oslo"}},
            {"name": "book_hotel", "args": {"hotel": "H7", "nights": 3}},
        ],
    ),
    Input(
        "A call that is missing",
        [
            {"name": "find_order", "args": {"id": 7}},
            {"name": "check_policy", "args": {"id": 7}},
            {"name": "refund", "args": {"id": 7}},
        ],
        [{"name": "find_order", "args": {"id": 7}}, {"name": "refund", "args": {"id": 7}}],
    ),
    Input(
        "A call too many",
        [{"name": "find_account", "args": {"user": "ann"}}, {"name": "read_balance", "args": {"account": 1}}],
        [
            {"name": "find_account", "args": {"user": "ann"}},
            {"name": "read_balance", "args": {"account": 1}},
            {"name": "close_account", "args": {"account": 1}},
        ],
    ),
    Input(
        "Calls in the wrong order",
        [{"name": "check_stock", "args": {"sku": "P1"}}, {"name": "charge_card", "args": {"amount": 20}}],
        [{"name": "charge_card", "args": {"amount": 20}}, {"name": "check_stock", "args": {"sku": "P1"}}],
    ),
    Input(
        "Several at once",
        [
            {"name": "search_products", "args": {"query": "laptop", "limit": 5}},
            {"name": "get_details", "args": {"filter": {"id": "P001", "site": "AMS"}}},
            {"name": "check_inventory", "args": {"id": "P001"}},
            {"name": "reserve_item", "args": {"id": "P001", "ttl": 900}},
        ],
        [
            {"name": "search_products", "args": {"query": "laptop", "limit": 5}},
            {"name": "check_inventory", "args": {"id": "P001"}},
            {"name": "get_details", "args": {"filter": {"id": "P010", "site": "AMS"}}},
            {"name": "add_to_cart", "args": {"id": "P010"}},
        ],
    ),
)
