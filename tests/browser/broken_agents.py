"""Three agents as a new user would expect them to work, each broken in three ways."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

FLIGHT = """\
rules:
  - {call: book_flight, only_after: confirm, why: the customer must have said yes}
cases:
  - id: CASE
    input: Book me a flight to Lisbon.
    expect:
      calls:
        - search_flights: {to: LIS}
        - any_order: [check_seats, check_price]
        - confirm
        - book_flight: {id: {$from: {call: search_flights, output: "$.flights[*].id"}}}
        - optional: send_receipt
"""
REFUND = """\
rules:
  - {call: issue_refund, only_after: verify_identity, same: customer_id, why: money moves only for a known customer}
  - {call: issue_refund, never_after: cancel_account}
  - {call: {name: issue_refund, args: {amount: {$gt: 100}}}, only_after: manager_approval}
cases:
  - id: CASE
    input: The headphones arrived broken. Please refund me.
    expect:
      calls: {expected: [{repeat: look_up}, issue_refund], match: in_order}
"""
CODING = """\
cases:
  - id: CASE
    input: Fix the failing test.
    expect:
      calls: [read_file, {repeat: [edit_file, run_tests], at_most: 3}, commit]
      rules:
        - {call: commit, only_after: {name: run_tests, output: {$contains: passed}}, since: edit_file}
"""


def made(name: str, output: Any = "ok", **args: Any) -> dict[str, Any]:
    return {"name": name, "args": args, "output": output}


SEARCH = made("search_flights", {"flights": [{"id": "TP204"}, {"id": "LH117"}]}, to="LIS")
SEATS, PRICE, CONFIRM = made("check_seats"), made("check_price", {"price": 189}), made("confirm")
BOOK = made("book_flight", id="TP204")
LOOK = [made("look_up", {"page": page}, order=f"O-{page}") for page in range(1000, 1014)]
VERIFY = made("verify_identity", customer_id="C-700")
EDIT, FAILED, PASSED = made("edit_file"), made("run_tests", "1 failed"), made("run_tests", "12 passed")

BROKEN: dict[str, tuple[str, list[dict[str, Any]], str]] = {
    "flight-no-seats": (FLIGHT, [SEARCH, PRICE, CONFIRM, BOOK], "missing-1"),
    "flight-made-up": (FLIGHT, [SEARCH, SEATS, PRICE, CONFIRM, made("book_flight", id="TP999")], "call-5"),
    "flight-unconfirmed": (FLIGHT, [SEARCH, PRICE, SEATS, BOOK, CONFIRM], "call-4"),
    "refund-other-customer": (
        REFUND,
        [*LOOK, VERIFY, made("issue_refund", customer_id="C-800", amount=20)],
        "call-16",
    ),
    "refund-after-cancel": (
        REFUND,
        [*LOOK, VERIFY, made("cancel_account"), made("issue_refund", customer_id="C-700", amount=20)],
        "call-17",
    ),
    "refund-too-large": (REFUND, [*LOOK, VERIFY, made("issue_refund", customer_id="C-700", amount=250)], "call-16"),
    "coding-untested": (CODING, [made("read_file"), EDIT, PASSED, EDIT, made("commit")], "missing-2"),
    "coding-red": (CODING, [made("read_file"), EDIT, FAILED, made("commit")], "call-4"),
    "coding-too-often": (CODING, [made("read_file"), *[EDIT, FAILED] * 3, EDIT, PASSED, made("commit")], "call-8"),
}
"""By case: what is expected, what was called, and the row of the page that has the broken call."""


def write_broken_agents(folder: Path) -> dict[str, tuple[Path, Path]]:
    """Write the eval set and the trace of each agent, and return both by case."""
    folder.mkdir(parents=True, exist_ok=True)
    written = {}
    for case, (expected, calls, _) in BROKEN.items():
        eval_set, trace = folder / f"{case}.yaml", folder / f"{case}.jsonl"
        eval_set.write_text(expected.replace("CASE", case), encoding="utf-8")
        document = {"calls": calls, "input": "Do it, please.", "output": "Done."}
        trace.write_text(json.dumps(document) + "\n", encoding="utf-8")
        written[case] = (eval_set, trace)
    return written
