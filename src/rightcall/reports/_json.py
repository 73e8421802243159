"""Everything, for machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import msgspec

import rightcall
from rightcall.decoding import dump_json
from rightcall.results import CaseResult, Totals


def json_report(cases: Iterable[str], totals: Callable[[], Totals], subject: str) -> Iterator[str]:
    """The results as one JSON document, piece by piece; `cases` are the results, each as JSON.

    `rightcall` is the version that wrote it, `evalset` what was expected, `cases` each result with its evaluations,
    findings and the trajectory that was judged, and `totals`, asked for at the end, the cases by verdict.
    """
    yield dump_json({"rightcall": rightcall.__version__, "evalset": subject})[:-1] + ', "cases": ['
    separator = "\n"
    for case in cases:
        yield separator + case
        separator = ",\n"
    yield f'\n], "totals": {dump_json(msgspec.to_builtins(totals()))}}}\n'


def json_case(result: CaseResult, evidence: str) -> str:
    """A result as `to_json` writes it, of which `json_evidence` has written all but what it is known by."""
    return f"{dump_json({'case_id': result.case_id, 'repeat': result.repeat})[:-1]}, {evidence[1:]}"


def json_evidence(result: CaseResult) -> str:
    """All of a result but what it is known by, its case and repeat, as a JSON object."""
    plain = result.to_plain()
    del plain["case_id"], plain["repeat"]
    return dump_json(plain)
