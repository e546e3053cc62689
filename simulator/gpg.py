"""The GPG of a simulated federation: the same computation, on the same loads, every few seconds of its clock."""

from operator import is_

from controlplane.gpg.shares import Assigned, assignments, same
from controlplane.statestore.shares import Assignment
from simulator.rows import Federation


class SimulatedGpg:
    """Assigns shares while the policy does so. next_s: when it looks again. least_s: between two looks."""

    def __init__(self, rows: Federation, least_s: float = 0.0):
        self.rows, self.least_s, self.next_s = rows, least_s, 0.0
        self._before = _last_assigned(rows)
        self._seen: list[object] = []  # the policy and the loads at the last look

    def step(self) -> bool:
        """Look at every load, and assign; whether any share is another one now."""
        policy, clock = self.rows.policy, self.rows.clock
        assert policy is not None
        self.next_s = clock.now + max(self.least_s, policy.whole.components.shares.parameters.interval_s)
        seen: list[object] = [policy, *(sub.load for sub in self.rows.subs.values())]
        if len(seen) == len(self._seen) and all(map(is_, seen, self._seen)):  # what is assigned gets younger
            self._renew()
            return False
        self._seen = seen
        tables = assignments(policy.whole, self.rows.loads(), self._before)
        if self._before.policy_version == policy.version and same(tables, self._before.tables):
            self._renew()
            return False
        self._before = Assigned(self._before.version + 1, policy.version, tables)
        for sub, found in tables.items():
            self.rows.subs[sub].shares = Assignment(self._before.version, clock.now_us(), policy.version, found)
        return True

    def _renew(self) -> None:
        now_us = self.rows.clock.now_us()
        for sub in self.rows.subs.values():
            if sub.shares is not None:
                of = sub.shares
                sub.shares = Assignment(of.version, now_us, of.policy_version, of.tables)


def _last_assigned(rows: Federation) -> Assigned:
    """What an earlier one has assigned."""
    found = {sub: own.shares for sub, own in rows.subs.items() if own.shares is not None}
    if not found:
        return Assigned()
    latest = max(found.values(), key=lambda a: a.version)
    return Assigned(latest.version, latest.policy_version, {sub: a.tables or {} for sub, a in found.items()})
