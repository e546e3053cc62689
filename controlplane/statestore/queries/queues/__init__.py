"""Queues of the policy in force: their tree, how they stand, who sees what of them."""
