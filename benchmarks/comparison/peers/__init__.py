"""One module for each peer: its modes over the inputs, run in the peer's own environment."""
