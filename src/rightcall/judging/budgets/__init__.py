"""Evaluators of what a run took: steps, time, tokens, errors."""
