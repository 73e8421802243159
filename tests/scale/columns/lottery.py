"""Expectations and rows by chance, odd ones among them."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa

NAMES = ("a", "b", "c", "d", "e", "f", "g", "x", "y", "z")
MATCH_TYPES = ("EXACT", "IN_ORDER", "ANY_ORDER", "UNORDERED", "SUBSET")
VALUES = (0, 1, True, "1", "x", None, [1], {"k": 1}, 2.5)
CALL = pa.struct(
    [
        ("name", pa.string()),
        ("args", pa.string()),
        ("output", pa.string()),
        ("error", pa.string()),
        ("group", pa.string()),
        ("internal", pa.bool_()),
    ]
)
ROWS = pa.schema([("id", pa.string()), ("calls", pa.list_(CALL)), ("calls_recorded", pa.bool_())])
NAMED_ROWS = pa.schema([("id", pa.string()), ("calls", pa.list_(pa.string()))])


class Lottery:
    """What chance makes of a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def _is(self, share: float) -> bool:
        return self._chance.random() < share

    def names(self, least: int = 1, most: int = 5) -> list[str]:
        return self._chance.choices(NAMES[:7], k=self._chance.randint(least, most))

    def expectation(self) -> dict[str, Any]:
        """An `expect` with one or more of the evaluators of calls."""
        made = self._chance.choice(
            (
                *(self._order, self._path, self._path_with_args, self._counts, self._args, self._outputs),
                *(
                    self._never,
                    self._rules,
                    self._groups,
                    self._actions,
                    self._quality,
                    self._steps,
                    self._narrowed,
                    self._several,
                    self._long,
                ),
            )
        )
        return made()

    def batch(self, size: int) -> pa.RecordBatch:
        """Rows, as a slice of a larger batch."""
        before, after = self._chance.randint(0, 9), self._chance.randint(0, 9)
        rows = [self._row(number) for number in range(before + size + after)]
        if self._is(0.2):
            for row in rows:
                row["calls"] = None if row["calls"] is None else [call["name"] for call in row["calls"]]
            return pa.RecordBatch.from_pylist(rows, schema=NAMED_ROWS).slice(before, size)
        return pa.RecordBatch.from_pylist(rows, schema=ROWS).slice(before, size)

    def _row(self, number: int) -> dict[str, Any]:
        size = self._chance.choice((0, 1, 2, 3, 4, 5, 6, 8, 34)) if self._is(0.2) else self._chance.randint(0, 5)
        calls = None if self._is(0.01) else [self._call() for _ in range(size)]
        return {"id": str(number), "calls": calls, "calls_recorded": not self._is(0.01)}

    def _call(self) -> dict[str, Any]:
        name = self._chance.choice(("", "q(r)", "n" * 70)) if self._is(0.002) else self._chance.choice(NAMES)
        bad = self._chance.choice(("{bad", "[1]", "null", '"t"')) if self._is(0.01) else None
        return {
            "name": name,
            "args": bad or (json.dumps(self._some_args()) if self._is(0.8) else None),
            "output": self._some_output() if self._is(0.7) else None,
            "error": "boom" if self._is(0.1) else None,
            "group": "together" if self._is(0.05) else None,
            "internal": self._is(0.003),
        }

    def _some_args(self) -> dict[str, Any]:
        return {key: self._chance.choice(VALUES) for key in self._chance.sample("pqr", self._chance.randint(0, 2))}

    def _some_output(self) -> str:
        return json.dumps(self._chance.choice(VALUES)) if self._is(0.8) else "plain text"

    def _calls(self, least: int, most: int) -> list[Any]:
        return [
            {"name": name, "args": self._some_args()} if self._is(0.7) else name for name in self.names(least, most)
        ]

    def _spelt(self, criteria: dict[str, Any], **config: Any) -> dict[str, Any]:
        threshold = {"threshold": self._chance.choice((0.5, 0.0))} if self._is(0.4) else {}
        return {"criteria": criteria, **config, **threshold}

    def _order(self) -> dict[str, Any]:
        return {"order": self._spelt({"tool_calls_order": self.names()}, strict=self._is(0.3))}

    def _path(self, calls: Callable[[], list[Any]] | None = None) -> dict[str, Any]:
        expected = self.names(0) if calls is None else calls()
        match_type, partial = self._chance.choice(MATCH_TYPES), self._is(0.3)
        return {"calls": self._spelt({"expected": expected}, match_type=match_type, partial_credit=partial)}

    def _path_with_args(self) -> dict[str, Any]:
        return self._path(lambda: self._calls(0, 4))

    def _counts(self) -> dict[str, Any]:
        bounds = ("<= 1", "= 0", "> 0", "!= 2")
        return {"counts": {name: self._chance.choice(bounds) for name in self._chance.sample(NAMES, 2)}}

    def _args(self) -> dict[str, Any]:
        return {"args": self._spelt({"tool_calls": self._calls(1, 3)}, strict=self._is(0.3))}

    def _outputs(self) -> dict[str, Any]:
        expected = [{"name": name, "output": self._chance.choice(VALUES)} for name in self.names(1, 3)]
        return {"outputs": self._spelt({"tool_outputs": expected})}

    def _groups(self) -> dict[str, Any]:
        return self._path(lambda: [self._group(2) for _ in range(self._chance.randint(1, 3))])

    def _group(self, depth: int) -> Any:
        word = self._chance.choice(("any_order", "one_of", "steps", "at_once", "optional", "repeat"))
        if depth == 0 or self._is(0.3):
            return self._chance.choice((*NAMES[:4], "a*", {"name": "b", "status": "ok"}))
        if word in ("optional", "repeat"):
            return {word: self._group(depth - 1)}
        inner = 0 if word == "at_once" else depth - 1
        return {word: [self._group(inner) for _ in range(self._chance.randint(1, 3))]}

    def _rules(self) -> dict[str, Any]:
        relation = self._chance.choice(("only_after", "never_after", "followed_by", "only_with", "never_with"))
        one, other, third = self._chance.choices((*NAMES[:4], "*", ["a", {"b": self._some_args()}]), k=3)
        rules: list[dict[str, Any]] = [
            {"call": one, relation: other},
            {"call": third, "at_most": self._chance.randint(0, 2)},
        ]
        rules.append({"call": other, "only_after": one, "since": third} if self._is(0.5) else {"first": one})
        same = {"same": "p"} if self._is(0.3) else {}
        return {"rules": [{**rules[0], **same}, *rules[1:]]}

    def _never(self) -> dict[str, Any]:
        return {"never": self._calls(1, 2)}

    def _actions(self) -> dict[str, Any]:
        mode = self._chance.choice(({}, {"should_exact_match": True}, {"should_consider_ordering": True}))
        return {"execution-order": self._spelt({"expected_output": self.names()}, **mode)}

    def _quality(self) -> dict[str, Any]:
        kind = self._chance.choice(("tool-precision", "tool-recall", "tool-f1"))
        return {kind: self._spelt({"expected": self._calls(1, 3)})}

    def _steps(self) -> dict[str, Any]:
        return {"steps": self._chance.randint(0, 8)}

    def _narrowed(self) -> dict[str, Any]:
        narrowing = self._chance.choice(({"ignore_tools": ["x"]}, {"parallel": "any_order"}, {"top_level": True}))
        return {"order": self._spelt({"tool_calls_order": self.names(), **narrowing})}

    def _several(self) -> dict[str, Any]:
        return self._order() | self._counts() | self._never()

    def _long(self) -> dict[str, Any]:
        return {"order": self.names(20, 40)}


def cut(batch: pa.RecordBatch, sizes: Iterator[int]) -> Iterator[pa.RecordBatch]:
    """A batch in parts of these sizes."""
    place = 0
    while place < batch.num_rows:
        size = next(sizes)
        yield batch.slice(place, size)
        place += size
