"""Why an ask waits, where it stands, when it can start, and what would start it."""
