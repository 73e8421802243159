"""Stand-ins for tools while an agent runs: mocks as eval sets have them, and recordings that are replayed."""

from rightcall.places import recording_path

from ._mocks import Mocks
from ._recording import Entry, RaisedEntry, Recorder, Recording
from ._replaying import Replay
from ._standing import Answering, recording_to, standing_in

__all__ = [
    "Answering",
    "Entry",
    "Mocks",
    "RaisedEntry",
    "Recorder",
    "Recording",
    "Replay",
    "recording_path",
    "recording_to",
    "standing_in",
]
