"""One module for each peer: what it prints of paths that went wrong, run in an environment of its own."""
