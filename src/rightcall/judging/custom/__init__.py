"""Custom evaluators: classes and functions that users write."""
