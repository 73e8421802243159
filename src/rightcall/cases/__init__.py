"""Cases of an eval set: loaded from disk, judged, updated from accepted runs."""
