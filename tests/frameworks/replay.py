"""An agent that gives back, turn by turn, what a framework recorded: the answer, its messages, its spans.

    rightcall run "cmd:python replay.py" EVALSET

The session of the case names the folder of the recording, and whether the spans are given back as well.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main() -> None:
    """Answer the request on standard input."""
    request = json.load(sys.stdin)
    folder, turn = Path(request["session"]["recording"]), request["turn"]
    is_instrumented = request["session"]["instrumented"]
    given = folder / ("instrumented.json" if is_instrumented else "plain.json")
    held = json.loads(given.read_text("utf-8"))[turn]
    answer = {"output": held["output"], "messages": held["messages"]}
    if is_instrumented:
        answer["spans"] = _of_traces(json.loads((folder / "turns.json").read_text("utf-8")), held["traces"])
    json.dump(answer, sys.stdout)


def _of_traces(document: Any, traces: list[str]) -> Any:
    """The spans of one turn."""
    for resource in document["resourceSpans"]:
        for scope in resource["scopeSpans"]:
            scope["spans"] = [span for span in scope["spans"] if span["traceId"] in traces]
    return document


if __name__ == "__main__":
    main()
