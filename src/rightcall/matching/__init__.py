"""One call against one expectation, and which call is paired with which expectation."""
