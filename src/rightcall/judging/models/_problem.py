"""Why there is no judgement."""

from __future__ import annotations


class JudgeError(Exception):
    """A judge gave no judgement; `code` is the code of the finding. It never leaves the evaluator."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code = code
