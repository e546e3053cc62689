"""The scheduler: pure functions over arrays. No clock, no I/O, no ORM.

``round.plan_round`` turns a snapshot into a plan; ``lifecycle`` is the job
master (events in, instructions out); ``registry`` names the policies.
"""
