"""The global policy generator: what only one process in the federation does, every few seconds.

It aggregates what sub-clusters use and want into what each queue gets in each
of them, and is never in the path of an allocation: while nobody has the post,
RMs go on with the last shares they had.
"""
