"""Results kept, compared and shown."""
