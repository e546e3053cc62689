"""The GPG's first duty: what each queue gets in each sub-cluster, worked out anew every few seconds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import psycopg

from controlplane import kernels
from controlplane.gpg import ceilings
from controlplane.sharing.problem import problem
from controlplane.sharing.queues import FederationQueues, in_force
from controlplane.statestore import bus, loads, shares
from controlplane.statestore.loads import GONE, Load
from controlplane.statestore.membership import Post
from controlplane.statestore.packed import Table
from scheduler.federation.divide import SharingProblem
from scheduler.registry import SHARES
from wire import keys

_FIRST_S = 2.0  # between two looks before any policy is in force
_INTERPRETED = 300  # sub-clusters times queues that are worked out in a second before kernels are compiled


Tables = dict[int, dict[str, Table]]  # sub-cluster -> partition -> queues


@dataclass(frozen=True, slots=True)
class Assigned:
    """What stands in the rows."""

    version: int = 0
    policy_version: int = 0
    tables: Mapping[int, Mapping[str, Table]] = field(default_factory=dict)


class ShareDuty:
    """Reads every load row and the policy, and writes the assignments: all in one transaction, or none."""

    def __init__(self, lease_s: float):
        self._lease_s = lease_s
        self._queues: FederationQueues | None = None
        self._assigned: Assigned | None = None
        self._own = False  # this leader has written what is assigned

    def every_s(self) -> float:
        """Between two computations."""
        return self._queues.components.shares.parameters.interval_s if self._queues else _FIRST_S

    def run(self, post: Post) -> None:
        """Work the shares out and write them; those that have not changed only get younger."""
        session = post.connection
        self._queues = queues = in_force(session, self._queues)
        if queues is None:
            return
        before, found = self._assigned or _last_assigned(session), loads.read(session)
        if len(found) * len(queues.paths) > _INTERPRETED and not kernels.compiled():
            kernels.compile_in_background()
            return
        tables = assignments(queues, found, before)
        unchanged = self._own and before.policy_version == queues.version and same(tables, before.tables)
        if unchanged and self._renewed(post, before.version, len(tables)):
            return
        self._own, self._assigned = False, None
        version = max(before.version, shares.last_version(session)) + 1
        with session.transaction():
            shares.put(session, post.epoch, version, queues.version, tables)
            post.fence(self._lease_s)
        self._own, self._assigned = True, Assigned(version, queues.version, tables)
        bus.wake(tables, keys.SHARES)

    def _renewed(self, post: Post, version: int, rows: int) -> bool:
        """Whether all the rows still stand, which are younger now."""
        with post.connection.transaction():
            renewed = shares.renew(post.connection, post.epoch, version)
            post.fence(self._lease_s)
        return renewed == rows


def _last_assigned(session: psycopg.Connection) -> Assigned:
    """What an earlier leader has assigned."""
    found = shares.read_all(session)
    if not found:
        return Assigned()
    latest = max(found.values(), key=lambda a: a.version)
    return Assigned(latest.version, latest.policy_version, {sub: a.tables or {} for sub, a in found.items()})


def assignments(queues: FederationQueues, found: Sequence[Load], before: Assigned) -> Tables:
    """Every sub-cluster's assignment, by its number; none where the policy assigns nothing."""
    policy = SHARES[queues.components.shares.policy]
    if policy.assigns is None:
        return {}
    known = [load for load in found if load.state not in GONE]
    tables: Tables = {load.sub_cluster: {} for load in known}
    settled = ceilings.settled(known, before.version, queues.version)
    old = before.tables if before.policy_version == queues.version else {}
    for partition in queues.partitions:
        p = problem(queues, partition, known)
        if not p.capacity.any():
            continue
        due, share = policy.assigns(p)
        owed = guaranteed_part(due, p.guaranteed)
        most = np.full_like(due, shares.UNLIMITED)
        if policy.follows_demand:
            last = [old.get(sub, {}).get(partition) for sub in tables]
            most = _ceilings(queues, p, due, last, settled)
        for at, table in enumerate(tables.values()):
            table[partition] = shares.table(queues.paths, share[at], owed[at], most[at])
    return tables


def _ceilings(
    queues: FederationQueues, p: SharingProblem, due: np.ndarray, last: Sequence[Table | None], settled: bool
) -> np.ndarray:
    """What queues may use in each sub-cluster: (s, q, R) int64."""
    found = np.full_like(due, shares.UNLIMITED)
    at = np.flatnonzero(ceilings.limited(p.maximum))
    if len(at):
        before = ceilings.assigned_before(queues.index, p.most, last)[:, at]
        used = np.array([queues.hierarchy.subtree_sums(of_one) for of_one in p.used])[:, at]
        found[:, at] = ceilings.ceilings(p.maximum[at], due[:, at], before, used, p.capacity, settled)
    return found


def guaranteed_part(due: np.ndarray, guaranteed: np.ndarray) -> np.ndarray:
    """Of what queues are due in each sub-cluster, (s, q, R) int64, the part within their guarantee (q, R).

    Whole units, whose sum over the sub-clusters is the guarantee, or all that
    is due where that is less.
    """
    total = due.sum(axis=0)
    part = np.minimum(1.0, guaranteed / np.maximum(total, 1))
    upto = np.floor(np.cumsum(due, axis=0) * part + 1e-6).astype(np.int64)
    whole = np.diff(upto, axis=0, prepend=0)
    found: np.ndarray = np.where(total <= guaranteed, due, np.minimum(whole, due))
    return found


def same(tables: Tables, before: Mapping[int, Mapping[str, Table]]) -> bool:
    """Whether two assignments say the same."""
    if tables.keys() != before.keys():
        return False
    for sub, of_one in tables.items():
        old = before[sub]
        if of_one.keys() != old.keys():
            return False
        for name, (paths, rows) in of_one.items():
            if paths != old[name][0] or not np.array_equal(rows, old[name][1]):
                return False
    return True
