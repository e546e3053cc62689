"""Random lives of a small federation under faults: seeded, checked after every step, and replayed from the seed.

What decides is the product's own: leader, round, job master, the node
manager's core, signed documents and statuses. What is simulated lies around
it: Postgres (``session``), Redis and the network (``faultyredis``), machines and
their processes (``machine``), and time. A life is ``life.run(seed)``.
"""
