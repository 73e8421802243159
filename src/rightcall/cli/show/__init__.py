"""`rightcall show`: show which calls are in traces."""

from ._command import command as command
