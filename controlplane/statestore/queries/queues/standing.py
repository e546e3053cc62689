"""What every queue uses, wants and was given in every sub-cluster: load rows and share assignments as arrays.

One read serves all sockets of a process for half a second. Bodies of rows
that have not changed are not read again, so at rest it costs a few short queries.
"""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from django.db import connection

from controlplane import clock
from controlplane.statestore.capacities import DEFAULT, Limits, R, by_size, resolve
from controlplane.statestore.limited import NONE_LIMITED, Limited, unpacked
from controlplane.statestore.loads import GONE, PartitionLoad, counts, gathered, startable
from controlplane.statestore.models import Starvation
from controlplane.statestore.packed import Table, unpack
from controlplane.statestore.shares import UNLIMITED
from scheduler.federation.divide import SharesPolicy

from .jobcounts import job_counts
from .tree import PolicyTree, in_force

FRESH_S = 0.5
PART_OF_TIME = 0.1  # at most this part of a thread's time is spent reading it
SEEN_S = 30.0  # nobody says any more whether a queue starves

_PLACES = """
SELECT s.id, s.name, s.state, coalesce(e.expires_at > clock_timestamp() AND e.holder <> '', false) AS led,
       extract(epoch FROM clock_timestamp() - l.at)::float8 AS age_s,
       (extract(epoch FROM l.at) * 1e6)::bigint AS load_at,
       l.shares_version AS goes_by, a.version, extract(epoch FROM clock_timestamp() - a.at)::float8 AS shares_age_s,
       a.policy_version AS shares_policy, extract(epoch FROM clock_timestamp())::float8 AS now
  FROM statestore_subcluster s LEFT JOIN statestore_lease e ON e.sub_cluster_id = s.id
  LEFT JOIN statestore_load l ON l.sub_cluster_id = s.id
  LEFT JOIN statestore_shareassignment a ON a.sub_cluster_id = s.id
 WHERE s.state <> ALL(%s) ORDER BY s.id
"""
_LOADS = "SELECT sub_cluster_id, body, limited FROM statestore_load WHERE sub_cluster_id = ANY(%s::smallint[])"
_SHARES = """
SELECT sub_cluster_id, body, NULL::bytea FROM statestore_shareassignment WHERE sub_cluster_id = ANY(%s::smallint[])
"""


@dataclass(frozen=True, slots=True)
class SubClusterStanding:
    """A sub-cluster. age_s, shares_age_s: of its load and its shares, None without. version: of its shares, 0 without.

    counts: whether what it has is shared out; where nobody leads, only what is used there is.
    """

    id: int
    name: str
    state: str
    led: bool
    age_s: float | None
    version: int
    shares_age_s: float | None
    shares_policy: int
    goes_by: int

    @property
    def counts(self) -> bool:
        return counts(self.led, self.age_s)


@dataclass(slots=True)
class PartitionStanding:
    """One partition over s places and q queues, whole subtrees, in units: (s, q, R) int64 unless said otherwise.

    capacity: (s, R). guaranteed, maximum: (q, R), of the whole. pending: beyond
    used, as far as nodes there could hold it; vain: what none could. own_pending:
    of the queue itself. share: what the queue was given there, guaranteed_part: of
    it, ceiling: at most, ``UNLIMITED`` without. Zero where nothing was assigned.
    """

    capacity: np.ndarray
    used: np.ndarray
    pending: np.ndarray
    vain: np.ndarray
    own_pending: np.ndarray
    share: np.ndarray
    guaranteed_part: np.ndarray
    ceiling: np.ndarray
    guaranteed: np.ndarray
    maximum: np.ndarray
    _by_size: Limits | None = None
    _weight: np.ndarray | None = None

    @property
    def asked(self) -> np.ndarray:
        """All that waits."""
        return self.pending + self.vain

    def weight(self, tree: PolicyTree, name: str) -> np.ndarray:
        """(q,) float64, also where the policy leaves it to the guarantee."""
        if self._weight is None:
            self._weight = tree.weights(name, self.guaranteed)
        return self._weight

    def by_size(self, tree: PolicyTree, name: str) -> Limits:
        """As they are split by the places' sizes."""
        if self._by_size is None:
            self._by_size = by_size(tree.hierarchy, tree.limits[name], self.capacity)
        return self._by_size


@dataclass(frozen=True, slots=True)
class FederationStanding:
    """All of it at one moment. now: seconds since 1970 on the database's clock.

    jobs: (q, 2) int64, columns as ``JobCounts``, whole subtrees. starving: (position, partition) -> since, as ``now``.
    """

    tree: PolicyTree
    now: float
    places: list[SubClusterStanding]
    parts: dict[str, PartitionStanding]
    jobs: np.ndarray
    starving: dict[tuple[int, str], float]

    @property
    def policy(self) -> str:
        return str(self.tree.shares["policy"])

    @property
    def sharing(self) -> SharesPolicy:
        return self.tree.sharing

    def stale(self, place: SubClusterStanding) -> bool:
        """Whether its shares are too old, or of another policy version, to preempt for."""
        limit = float(self.tree.shares["parameters"]["stale_s"])
        old = place.shares_age_s is None or place.shares_age_s > limit
        return old or place.shares_policy != self.tree.version

    def place(self, name: str) -> int | None:
        return next((at for at, p in enumerate(self.places) if p.name == name), None)


class _Body(NamedTuple):
    """What a row said. mark: the moment or version that it is of. limited: of a load, what would not start."""

    mark: int
    tables: dict[str, Table]
    limited: Limited


@dataclass(slots=True)
class _Known:
    """What this process has read last; bodies by sub-cluster."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    until: float = -1e9
    standing: FederationStanding | None = None
    loads: dict[int, _Body] = field(default_factory=dict)
    shares: dict[int, _Body] = field(default_factory=dict)


_known = _Known()


def forget() -> None:
    """Read everything anew; for tests, whose databases change under the process."""
    _known.standing = None
    _known.loads.clear()
    _known.shares.clear()


def standing() -> FederationStanding | None:
    """How queues stand, at most ``FRESH_S`` old; None without any policy. Four to seven queries."""
    with _known.lock:
        tree = in_force()
        known = _known.standing
        began = time.monotonic()
        if tree is None or (known and known.tree is tree and began < _known.until):
            return known if tree is not None else None
        _known.standing = _read(tree)
        done = time.monotonic()
        _known.until = done + max(FRESH_S, (done - began) / PART_OF_TIME)
        return _known.standing


def _read(tree: PolicyTree) -> FederationStanding:
    with connection.cursor() as cursor:
        cursor.execute(_PLACES, [list(GONE)])
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
        _follow(cursor, _known.loads, {r["id"]: r["load_at"] for r in rows if r["load_at"] is not None}, _LOADS)
        _follow(cursor, _known.shares, {r["id"]: r["version"] for r in rows if r["version"] is not None}, _SHARES)
    places = [
        SubClusterStanding(r["id"], r["name"], r["state"], r["led"], r["age_s"], r["version"] or 0, r["shares_age_s"],
              r["shares_policy"] or 0, r["goes_by"] or 0)
        for r in rows
    ]  # fmt: skip
    parts = {name: _part(tree, places, name) for name in tree.limits}
    now = rows[0]["now"] if rows else clock.unix()
    return FederationStanding(tree, now, places, parts, job_counts(tree), _starving(tree, now))


def _starving(tree: PolicyTree, now: float) -> dict[tuple[int, str], float]:
    found = {}
    for path, partition, since, seen in Starvation.objects.values_list("queue", "partition", "since", "seen_at"):
        if path in tree.index and now - seen.timestamp() <= SEEN_S:
            found[tree.index[path], partition] = since.timestamp()
    return found


def _follow(cursor: Any, known: dict[int, _Body], wanted: dict[int, int], sql: str) -> None:
    """Bring ``known`` up to what is wanted: sub-cluster -> the moment or version of its body."""
    for gone in known.keys() - wanted.keys():
        del known[gone]
    changed = [sub for sub, mark in wanted.items() if sub not in known or known[sub].mark != mark]
    if changed:
        cursor.execute(sql, [changed])
        for sub, body, limited in cursor.fetchall():
            known[sub] = _Body(wanted[sub], unpack(bytes(body)), unpacked(limited))


def _part(tree: PolicyTree, places: list[SubClusterStanding], name: str) -> PartitionStanding:
    s, q = len(places), len(tree.rows)
    told = (_of(_known.loads, place.id, name) for place in places)
    loads = [None if table is None else PartitionLoad.of(table) for table in told]
    capacity, used, asked = gathered(loads, [place.counts for place in places], tree.index)
    limited = [_known.loads[place.id].limited if place.id in _known.loads else NONE_LIMITED for place in places]
    pending = startable(asked, limited, name, tree.index)
    share, guaranteed_part = np.zeros((2, s, q, R), np.int64)
    ceiling = np.full((s, q, R), UNLIMITED)
    for at, place in enumerate(places):
        table = _of(_known.shares, place.id, name)
        if table is not None:
            paths, rows = table
            given = np.array([tree.index.get(path, -1) for path in paths], np.int64)
            rows, given = rows[given >= 0], given[given >= 0]
            share[at, given], guaranteed_part[at, given], ceiling[at, given] = (
                rows[:, :R],
                rows[:, R : 2 * R],
                rows[:, 2 * R :],
            )
    guaranteed, maximum = resolve(tree.hierarchy, tree.limits[name], capacity.sum(axis=0))
    used_too, pending_too, vain = [
        np.array([tree.hierarchy.subtree_sums(x) for x in amounts]).reshape(s, q, R)
        for amounts in (used, pending, asked - pending)
    ]
    return PartitionStanding(
        capacity, used_too, pending_too, vain, pending, share, guaranteed_part, ceiling, guaranteed, maximum
    )


def _of(known: Mapping[int, _Body], sub: int, name: str) -> Table | None:
    return known[sub].tables.get(name) if sub in known else None


def total(standing_: FederationStanding, what: str) -> np.ndarray:
    """Over all partitions: ``capacity`` (s, R), ``guaranteed`` or ``maximum`` (q, R), others (s, q, R)."""
    first, *others = (getattr(part, what) for part in standing_.parts.values())
    found: np.ndarray = sum(others, first)
    return found


__all__ = ["DEFAULT", "FederationStanding", "PartitionStanding", "SubClusterStanding", "forget", "standing", "total"]
