"""Values that everything else passes around: trajectories, results, decoded data, redacted text."""
