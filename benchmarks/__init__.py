"""Compares Rightcall's cost with that of its peers, and with limits set before it was written."""
