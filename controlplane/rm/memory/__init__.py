"""The leader's warm memory: nodes, containers and asks, the ledger, the admission queue, and a plan's view of them."""
