"""The table of transcripts: logs in which messages lie inside envelopes of their own, and how each is read.

A reader takes the envelopes off and writes calls and results as messages. What it does not know it passes on as it is,
so that the reading of messages says that it was not understood.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from ._atif import atif_logs, is_atif
from ._benchmarks import (
    inspect_logs,
    is_inspect_log,
    is_tau2_results,
    is_toolbench_answer,
    tau2_logs,
    toolbench_logs,
)
from ._codex import event_logs, is_event, is_session_line, session_logs
from ._gemini_cli import chat_logs, is_chat_message, is_stream_event, stream_logs
from ._log import Log
from ._openhands import is_openhands, openhands_logs

_LOOKED_AT = 1_000  # a log of a million lines is recognised by its first thousand


class Transcript(msgspec.Struct, frozen=True):
    """One format of transcripts."""

    name: str
    recognises: Callable[[Any], bool]
    """Whether a line, or an item of a list, is of this format."""
    logs: Callable[[list[Any]], list[Log]]
    """The logs in all lines or items of a source."""
    told_by: str
    """The marks, for people."""


TRANSCRIPTS = (
    Transcript("Codex CLI, session", is_session_line, session_logs, "lines with `type` and `payload`"),
    Transcript("Codex CLI, `exec --json`", is_event, event_logs, "`thread.started`, `item.completed`"),
    Transcript("Gemini CLI, chat", is_chat_message, chat_logs, "`projectHash` and `messages`; `type` = `gemini`"),
    Transcript("Gemini CLI, `stream-json`", is_stream_event, stream_logs, "`type` = `tool_use` and `tool_id`"),
    Transcript("Inspect", is_inspect_log, inspect_logs, "`eval` and `samples`; `id`, `epoch`, `target`, `messages`"),
    Transcript(
        "OpenHands",
        is_openhands,
        openhands_logs,
        "`source` beside `action`, `observation` or `kind`; `instance_id` and `history`",
    ),
    Transcript("ATIF", is_atif, atif_logs, "`schema_version` and `steps`"),
    Transcript("τ²-bench", is_tau2_results, tau2_logs, "`simulations`"),
    Transcript("ToolBench", is_toolbench_answer, toolbench_logs, "`answer_generation`"),
)


def transcript_logs(documents: list[Any]) -> list[Log] | None:
    """Return the logs in the documents of a source; None if they are not a transcript."""
    for lines in _lines_in(documents):
        for transcript in TRANSCRIPTS:
            if any([transcript.recognises(line) for line in lines[:_LOOKED_AT]]):
                found = transcript.logs(lines)
                return [msgspec.structs.replace(log, format=transcript.name) for log in found]
    return None


def _lines_in(documents: list[Any]) -> list[list[Any]]:
    """Return the lists that may be the lines of a transcript: the documents, the only one, or a list that it holds."""
    only = documents[0] if len(documents) == 1 else None
    if isinstance(only, list):
        return [only]
    held = only.values() if isinstance(only, dict) else ()
    return [documents, *[each for each in held if isinstance(each, list)]]
