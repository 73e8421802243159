"""The names under which sources say which case a run is of, which repeat it is, and how it was scored there."""

from __future__ import annotations

CASE = "rightcall.case.id"
"""The attribute, and the key of the metadata, with the id of a case."""
REPEAT = "rightcall.repeat"
"""The attribute with the number of a repeat."""
CASES = ("case_id", "task_id", "eval_id", "instance_id")
"""Other names for the id of a case."""
REPEATS = ("repeat", "trial", "epoch")
"""Other names for the number of a repeat, which is `repeat` in the metadata."""
SCORES = ("reward", "score", "scores", "success")
"""What sources call their own verdict. Each is kept under its name."""
TOLD = (CASE, *CASES, REPEAT, *REPEATS, *SCORES)
"""All of these names."""
