"""Nodes: what they are, what is wanted of them, what they hold, and the whole fleet for screens."""
