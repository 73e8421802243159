"""The options of the gate, which several commands have."""

from __future__ import annotations

import click

from ._options import Number, option, options

gate_options = options(
    option("Gate", "--rule-out", type=Number(0, 1), help="The drop that `no worse` has to rule out; 0.10 by default."),
    option("Gate", "--allow-drop", type=Number(0, 1), help="A drop that may be proven and still passes; 0 by default."),
    option("Gate", "--confidence", type=Number(0.5, 0.9999), help="1 minus the rate of false alarms; 0.95 by default."),
    option(
        "Gate",
        "--inconclusive",
        type=click.Choice(["pass", "fail"]),
        help="Whether what cannot be told passes with a warning, the default, or exits with 2.",
    ),
)
