"""The version of Rightcall."""

__version__ = "0.1.0"
