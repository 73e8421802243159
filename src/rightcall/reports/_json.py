"""Everything, for machines."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

import rightcall
from rightcall.decoding import dump_json
from rightcall.results import CaseResult, Totals


def json_report(results: Sequence[CaseResult], totals: Totals, subject: str) -> str:
    """The results as one JSON document.

    `rightcall` is the version that wrote it, `evalset` what was expected, `totals` the cases by verdict, `cases` each
    result with its evaluations, findings and the trajectory that was judged.
    """
    cases = ",\n".join(result.to_json() for result in results)
    head = dump_json({"rightcall": rightcall.__version__, "evalset": subject, "totals": msgspec.to_builtins(totals)})
    return f'{head[:-1]}, "cases": [\n{cases}\n]}}'
