"""Which version of Rightcall this is."""

__version__ = "0.1.0"
