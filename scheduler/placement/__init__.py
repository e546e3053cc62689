"""Which node each container goes to."""
