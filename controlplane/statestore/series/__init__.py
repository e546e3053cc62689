"""History over time: what was allocated, used, wanted and decided, per window of 10 s, 1 min and 10 min.

One duty writes it from rows that are there anyway, never an RM. Every window
holds sums, counts and mergeable sketches, so three windows are one longer one
without loss. ``scopes`` are "cluster", "sub-cluster:<name>" and "queue:<path>";
"node:<id>" has a sample a minute in rows of another kind (``nodes``).
"""
