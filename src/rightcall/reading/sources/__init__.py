"""Files, streams and tables of spans: open them, bound them, and collect their runs."""
