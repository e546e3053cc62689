"""Many sub-clusters as one: homes, splits, shares."""
