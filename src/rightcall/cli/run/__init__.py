"""`rightcall run`: run an agent over an eval set, and judge what it calls."""

from ._command import command as command
