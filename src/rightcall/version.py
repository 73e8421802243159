"""The version of Rightcall, and the name under which it records."""

__version__ = "0.1.0"

SCOPE = "rightcall"
"""The scope of spans and log records that Rightcall makes itself (OpenTelemetry, "Instrumentation Scope")."""
