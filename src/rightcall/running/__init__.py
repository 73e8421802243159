"""Run agents, case by case, in separate processes."""
