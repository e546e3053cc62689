"""The queue tree in columns, for screens and programs: its layout, which changes with the policy, and how it stands.

Thousands of queues as objects would be megabytes a second. So names and limits
are told apart from what moves, and of that only the queues that have any.
"""

import hashlib
from typing import Any

import numpy as np

from controlplane.accounts.models import QueueAccess, User
from controlplane.accounts.rights import level_in
from controlplane.statestore import starving
from controlplane.statestore.capacities import ROOT, R
from controlplane.statestore.queries.ownuse import OwnUse, own_use

from .sight import STEP, See, Sight, coarsened, enough_others, sight
from .standing import FederationStanding, standing, total

Json = dict[str, Any]
LEAF, STOPPED, OPEN, MAY_SUBMIT, FIXED, MAY_ADMINISTER = 1, 2, 4, 8, 16, 32
_OWN, _ADMIN = int(See.OWN), QueueAccess.Level.ADMIN  # looking a member up takes a microsecond, for each of thousands


def layout(user: User) -> Json:
    """The queues the account sees: names, parents and limits, one column each, in the tree's order.

    ``see``: 1 the name only, 2 limits and the account's own part, 3 all.
    """
    now = standing()
    if now is None:
        return {"layout": "", "policy_version": None, "queues": _columns(None, None, user), "partitions": []}
    seen = sight(user, now.tree)
    return {
        "layout": mark(now, seen),
        "policy_version": now.tree.version,
        "partitions": [name for name in now.parts if name],
        "queues": _columns(now, seen, user),
    }


def layout_stamp(user: User) -> tuple[str, ...]:
    """Another one when ``layout`` has changed: queues, what is seen of them, or what limits come to."""
    now = standing()
    if now is None:
        return ()
    limits = (total(now, what).tobytes() for what in ("guaranteed", "maximum"))
    return mark(now, sight(user, now.tree)), *(hashlib.blake2b(of, digest_size=16).hexdigest() for of in limits)


def mark(now: FederationStanding, seen: Sight) -> str:
    """Names the rows of a layout: the same mark, the same positions."""
    if seen.everything:
        return str(now.tree.version)
    return f"{now.tree.version}-{hashlib.blake2b(seen.see.tobytes(), digest_size=6).hexdigest()}"


def _columns(now: FederationStanding | None, seen: Sight | None, user: User) -> Json:
    if now is None or seen is None:
        return {"name": [], "parent": [], "see": [], "flags": [], "guaranteed": [], "maximum": [], "weight": []}
    tree, rows = now.tree, seen.rows
    at = {row: i for i, row in enumerate(rows)}
    see = seen.see[rows].tolist()
    shown = (seen.see[rows] >= int(See.OWN))[:, None]
    queues = [tree.rows[row] for row in rows]
    return {
        "name": [q.path.rpartition(".")[2] for q in queues],
        "parent": [at.get(int(tree.hierarchy.parent[row]), -1) for row in rows],
        "see": see,
        "flags": [_flags(user, seen.everything, q, how) for q, how in zip(queues, see, strict=True)],
        "guaranteed": (total(now, "guaranteed")[rows] * shown).T.tolist(),
        "maximum": (total(now, "maximum")[rows] * shown).T.tolist(),
        "weight": [q.weight if how >= _OWN else None for q, how in zip(queues, see, strict=True)],
    }


def _flags(user: User, everything: bool, q: Any, see: int) -> int:
    flags = LEAF * q.leaf
    if see >= _OWN:
        level = _ADMIN if everything else level_in(user, q.path)
        takes = q.leaf and not q.stopped and (q.open_to_all or level is not None)
        flags |= STOPPED * q.stopped | OPEN * q.open_to_all | MAY_SUBMIT * takes | FIXED * (not q.preemptable)
        flags |= MAY_ADMINISTER * (level == _ADMIN)
    return int(flags)


def use(user: User, sub_cluster: str | None = None) -> Json | None:
    """What the queues of ``layout`` use, want and were given, in all sub-clusters or one; None: no such sub-cluster.

    Columns of amounts hold one list per resource. Queues with nothing to tell are left out.
    """
    now = standing()
    if now is None:
        return {"layout": "", "sub_cluster": None, "places": [], "queues": None, "starving": [], "others": None}
    where = None if sub_cluster is None else now.place(sub_cluster)
    if sub_cluster is not None and where is None:
        return None
    seen = sight(user, now.tree)
    own = None if seen.everything else own_use(user.pk)
    return {
        "at": now.now,
        "layout": mark(now, seen),
        "sub_cluster": sub_cluster,
        "shares": {"policy": now.policy, "stale_s": now.tree.shares["parameters"]["stale_s"]},
        "capacity": _at(total(now, "capacity"), where).tolist(),
        "places": [_place(now, at, seen.everything) for at in range(len(now.places))],
        "queues": _moving(now, seen, own, where),
        "starving": _starving(now, seen) if where is None else [],
        "others": None if own is None or where is not None else _others(now, own, enough_others(user)),
    }


def _at(amounts: np.ndarray, where: int | None) -> np.ndarray:
    """Of (s, ...) one sub-cluster's, or the sum."""
    found: np.ndarray = amounts.sum(axis=0) if where is None else amounts[where]
    return found


def _place(now: FederationStanding, at: int, everything: bool) -> Json:
    place = now.places[at]
    capacity = total(now, "capacity")[at].tolist()
    return {
        "name": place.name,
        "state": place.state,
        "counts": place.counts,
        "stale": now.stale(place),
        "capacity": capacity,
        "used": total(now, "used")[at, ROOT].tolist() if everything else None,
    }


def _moving(now: FederationStanding, seen: Sight, own: OwnUse | None, where: int | None) -> Json:
    amounts = [_at(total(now, what), where) for what in ("used", "asked", "share", "guaranteed_part")]
    columns = np.stack([a[seen.rows] for a in amounts], axis=1)  # (rows, 4, R)
    jobs = now.jobs[seen.rows].copy()
    see = seen.see[seen.rows]
    columns[see < int(See.WHOLE)], jobs[see < int(See.WHOLE)] = 0, 0
    if own is not None:
        position = {now.tree.rows[row].path: i for i, row in enumerate(seen.rows) if see[i] == _OWN}
        for path in own.jobs.keys() & position:
            columns[position[path]], jobs[position[path]] = _own(now, own, path, where), own.jobs[path]
    at = np.flatnonzero(columns.any(axis=(1, 2)) | jobs.any(axis=1))
    used, pending, share, guaranteed_part = (columns[at, i].T.tolist() for i in range(4))
    live, running = jobs[at].T.tolist() if len(at) else ([], [])
    return {"at": at.tolist(), "used": used, "pending": pending, "share": share, "guaranteed_part": guaranteed_part,
            "live": live, "running": running}  # fmt: skip


def _own(now: FederationStanding, own: OwnUse, path: str, where: int | None) -> np.ndarray:
    """(4, R): what the account's jobs use and want of a queue; shares are the queue's and not told."""
    found = np.zeros((4, R), np.int64)
    for i, by_place in enumerate((own.used, own.wanted)):
        for sub, amounts in by_place.get(path, {}).items():
            if where is None or now.places[where].id == sub:
                found[i] += amounts
    return found


def _starving(now: FederationStanding, seen: Sight) -> list[Json]:
    """Queues that are below their guarantee and want more, of those that are seen whole."""
    found, at = [], {row: i for i, row in enumerate(seen.rows)}
    for (row, partition), since in sorted(now.starving.items()):
        if row not in at or seen.see[row] != See.WHOLE or now.now - since < starving.AFTER_S:
            continue
        lacks = lacking(now, partition)[row]
        if lacks.any():
            found.append({"at": at[row], "partition": partition, "since": round(since, 1), "lacking": lacks.tolist()})
    return found


def lacking(now: FederationStanding, partition: str) -> np.ndarray:
    """(q, R) of ``starving.lacking``, as it is now."""
    part = now.parts.get(partition)
    if part is None:
        return np.zeros((len(now.tree.rows), R), np.int64)
    used, pending = part.used.sum(axis=0), part.own_pending.sum(axis=0)
    return starving.lacking(now.tree.hierarchy, part.guaranteed, part.maximum, used, pending)


def _others(now: FederationStanding, own: OwnUse, wide: bool) -> Json | None:
    """All that others use, in coarse steps; None where that would tell of too few."""
    if not wide:
        return None
    capacity, used = total(now, "capacity").sum(axis=0), total(now, "used").sum(axis=0)[ROOT]
    mine = sum((a for places in own.used.values() for a in places.values()), np.zeros(R, np.int64))
    return {"used": coarsened(np.maximum(used - mine, 0).tolist(), capacity.tolist()), "step": STEP}
