"""Pages in a real browser. A package, so that pytest ends the browser with the last of its tests."""
