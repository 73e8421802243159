"""Agents, run case by case in processes of their own."""
