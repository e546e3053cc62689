"""Stand-ins for machines around the real code, for measurement and for what-if questions."""
