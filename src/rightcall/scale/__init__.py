"""Scoring at any scale: in columns, over local files, in large datasets, on Spark and Ray."""
