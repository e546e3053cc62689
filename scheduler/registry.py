"""The strategies of each stage by the names that operators write: what is not here, no document can choose.

Names come from the code itself; ``tests/tidy/test_strategies.py`` holds documents, jobs and both halves of a pair to
them. What others need to know of a strategy is a field of what is registered, so nobody compares names.
"""

from scheduler.core.snapshot import Backfill, Ordering
from scheduler.federation import divide, routing, split
from scheduler.placement.fills import Fill
from scheduler.preemption import policy as preemption

PLACEMENT = {fill.name.lower(): fill for fill in Fill}
ORDERING = {ordering.name.lower(): ordering for ordering in Ordering}
BACKFILL = {rule.name.lower(): rule for rule in Backfill}
ROUTING = routing.POLICIES
SPLITTING = split.POLICIES
SHARES = divide.POLICIES
PREEMPTION = preemption.POLICIES
