"""`rightcall score`: check recorded traces against expectations."""

from ._command import command as command
