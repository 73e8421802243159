"""Files and streams of spans and messages: open them, within limits, and collect their runs."""
