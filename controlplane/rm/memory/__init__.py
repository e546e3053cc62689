"""The leader's warm memory: tables of nodes, containers and asks, the ledger, the line, and a plan's view of them."""
