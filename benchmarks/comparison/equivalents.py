"""Which mode of ours answers the question of which mode of a peer."""

_MATCH_TYPES = {"strict": "EXACT", "unordered": "UNORDERED", "superset": "ANY_ORDER", "subset": "SUBSET"}
# AgentEvals says what the made call is of the expected one; our policies say what the expectation is of the call.
_POLICIES = {"exact": "exact", "superset": "subset", "subset": "superset", "ignore": "ignore"}

EQUIVALENTS: dict[str, dict[str, str]] = {
    "uipath": {
        **{f"ToolCall{kind.title()}": f"tool-call-{kind}" for kind in ("order", "count", "output")},
        **{f"ToolCall{kind.title()}, strict": f"tool-call-{kind}, strict" for kind in ("order", "count", "output")},
        "ToolCallArgs, subset": "tool-call-args, subset",
        "ToolCallArgs, subset, strict": "tool-call-args, subset, strict",
        "ToolCallArgs": "tool-call-args, exact",
        "ToolCallArgs, strict": "tool-call-args, exact, strict",
    },
    "google-adk": {
        f"{match_type}{ending}": f"{match_type}, {policy}"
        for ending, policy in (("", "exact"), (", ignore_args", "ignore"))
        for match_type in ("EXACT", "IN_ORDER", "ANY_ORDER")
    },
    "agentevals": {
        f"{mode}, {args_mode} args": f"{match_type}, {policy}"
        for args_mode, policy in _POLICIES.items()
        for mode, match_type in _MATCH_TYPES.items()
    },
    "deepeval": {
        "default, names": "tool-recall, ignore",
        "ordering, names": "tool-call-order",
        "exact match, names": "EXACT, ignore",
        "default, arguments": "tool-recall, exact",
        "ordering, arguments": "IN_ORDER, exact, partial credit",
        "exact match, arguments": "EXACT, exact",
    },
}
"""For each peer, the name of each of its modes and the name of ours."""
