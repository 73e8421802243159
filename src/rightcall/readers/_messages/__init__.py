"""Messages between an agent and its model: formats, logs, and where spans carry them."""

from ._carriers import Conversation, carried, carried_by_logs
from ._log import Exchange, exchanges_of, has_messages, messages_of
from ._parts import PARTS, Part
from ._requests import Requests

__all__ = [
    "PARTS",
    "Conversation",
    "Exchange",
    "Part",
    "Requests",
    "carried",
    "carried_by_logs",
    "exchanges_of",
    "has_messages",
    "messages_of",
]
