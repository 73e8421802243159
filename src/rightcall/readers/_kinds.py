"""What a span stands for: a tool call by some convention, a model, an agent, or nothing of interest."""

from __future__ import annotations

from typing import Literal

from ._conventions import Convention, convention_of
from ._roles import Role, role_of
from ._span import Span

Kind = Convention | Role | Literal[""]


def kind_of(span: Span) -> Kind:
    """What a span stands for; found out once, however often it is asked."""
    kind: Kind | None = span.kind
    if kind is None:
        kind = span.kind = convention_of(span) or role_of(span) or ""
    return kind
