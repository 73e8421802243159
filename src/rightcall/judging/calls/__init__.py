"""Evaluators of the calls an agent made."""
