"""What every stage shares: the snapshot, the plan, label expressions, invariants."""
