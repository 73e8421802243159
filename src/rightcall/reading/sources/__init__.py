"""Files and streams: opened, bounded, and sorted into runs."""
