"""History over time."""
