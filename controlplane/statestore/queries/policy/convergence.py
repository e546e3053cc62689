"""How far a policy version has spread: counts from what every part acknowledged, never a row per node."""

import datetime as dt
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection

from controlplane.statestore.acknowledgements import EXPIRES_S, LAGGARDS_MAX
from controlplane.statestore.models import PolicyVersion
from wire.counts import counted

Json = dict[str, Any]
KINDS = ("rm", "router", "gpg", "node")

_SUB_CLUSTERS = """
SELECT s.name, coalesce(s.components_version_id, v.id) AS told, s.components_at, a.version, a.at, a.seconds, a.nodes,
       a.laggards, a.spread, a.slowest_s, coalesce(l.expires_at > clock_timestamp(), false) AS led
  FROM statestore_subcluster s
  LEFT JOIN statestore_policyversion v ON v.active
  LEFT JOIN statestore_acknowledgement a ON a.sub_cluster_id = s.id
  LEFT JOIN statestore_lease l ON l.sub_cluster_id = s.id
 WHERE s.state IN ('running', 'draining') ORDER BY s.name
"""
_PROCESSES = """
SELECT kind, name, version, at, seconds FROM statestore_acknowledgement
 WHERE kind <> 'rm' AND seen_at > clock_timestamp() - make_interval(secs => %s) ORDER BY kind, name
"""


def read(number: int | None = None) -> Json | None:
    """Who runs that version; without a number the one that was last pushed to anybody. ``None``: no such version.

    Per kind: ``total`` there are, ``told`` of them to run it, and how many do.
    Laggards are told and do not. Percentiles of nodes are from times rounded
    up to two digits. Four queries at most.
    """
    active = PolicyVersion.objects.filter(active=True).values_list("pk", flat=True).first()
    subs, processes = _rows(_SUB_CLUSTERS), _rows(_PROCESSES, EXPIRES_S)
    if number is None:
        number = max([s["told"] for s in subs if s["told"]], default=active)
    found = PolicyVersion.objects.filter(pk=number).values("pk", "active", "activated_at").first()
    if number is None or found is None:
        return None
    kinds = [_rms(number, subs)]
    kinds += [_processes(kind, number, active, [p for p in processes if p["kind"] == kind]) for kind in KINDS[1:3]]
    kinds.append(_nodes(number, subs))
    staged = [s["components_at"] for s in subs if s["told"] == number and s["components_at"]]
    return {
        "version": number,
        "active": found["active"],
        "pushed_at": found["activated_at"] or min(staged, default=None),
        "converged": any(k["told"] for k in kinds) and all(k["behind"] == 0 for k in kinds),
        "kinds": kinds,
    }


def behind(number: int, names: Iterable[str]) -> list[str]:
    """What of these sub-clusters does not run the version yet, in words; at most 20. Two queries.

    A sub-cluster runs it when its RM and all its nodes that are not lost do.
    """
    wanted, found = set(names), []
    for s in _rows(_SUB_CLUSTERS):
        if s["name"] not in wanted:
            continue
        if s["version"] != number or not s["led"]:
            found.append(f"the RM of {s['name']}" + ("" if s["led"] else ", which nobody leads"))
        elif late := sum(s["nodes"].values()) - s["nodes"].get(str(number), 0):
            found.append(f"{counted(late, 'node')} of {s['name']}, such as {', '.join(s['laggards'][:3])}")
    return found[:20]


def _rows(sql: str, *values: Any) -> list[Json]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        names = [column[0] for column in cursor.description or ()]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    for row in rows:
        for name in ("nodes", "laggards", "spread"):
            if name in row:
                row[name] = _json(row[name], name)
    return rows


def _json(value: Any, name: str) -> Any:
    found = json.loads(value) if isinstance(value, str) else value
    return found if found is not None else {} if name == "nodes" else []


def _rms(number: int, subs: Sequence[Json]) -> Json:
    told = [s for s in subs if s["told"] == number]
    late = [s["name"] + ("" if s["led"] else " (nobody leads it)") for s in told if s["version"] != number]
    done = [s for s in subs if s["version"] == number]
    return _kind("rm", Counter(s["version"] for s in subs), len(told), late, len(late), done)


def _processes(kind: str, number: int, active: int | None, rows: Sequence[Json]) -> Json:
    """Of web processes or the GPG; they run the version in force."""
    told = len(rows) if number == active else 0
    late = [p["name"] for p in rows if p["version"] != number] if told else []
    done = [p for p in rows if p["version"] == number]
    return _kind(kind, Counter(p["version"] for p in rows), told, late, len(late), done)


def _kind(kind: str, versions: Counter[Any], told: int, late: list[str], behind: int, on: Any) -> Json:
    seconds = sorted(row["seconds"] for row in on if row["seconds"] is not None)
    return {
        "kind": kind,
        "total": sum(versions.values()),
        "told": told,
        "on_version": len(on),
        "behind": behind,
        "since": max((row["at"] for row in on), default=None),
        "versions": _versions(versions),
        "laggards": late[:LAGGARDS_MAX],
        **_times([(round(s * 1000, 1), 1) for s in seconds], seconds[-1] if seconds else None),
    }


def _nodes(number: int, subs: Sequence[Json]) -> Json:
    versions: Counter[Any] = Counter()
    spread: Counter[float] = Counter()
    for s in subs:
        versions.update({int(version): n for version, n in s["nodes"].items()})
    told = [s for s in subs if s["told"] == number]
    on = [s for s in subs if s["version"] == number]
    for s in on:
        spread.update(dict(map(tuple, s["spread"])))
    late = [f"{s['name']}/{name}" for s in told if s["version"] == number for name in s["laggards"]]
    behind = sum(sum(s["nodes"].values()) - s["nodes"].get(str(number), 0) for s in told)
    slowest = max((s["slowest_s"] for s in on if s["slowest_s"] is not None), default=None)
    return {
        "kind": "node",
        "total": sum(versions.values()),
        "told": sum(sum(s["nodes"].values()) for s in told),
        "on_version": versions[number],
        "behind": behind,
        "since": max(filter(None, map(_last_node, on)), default=None),
        "versions": _versions(versions),
        "laggards": late[:LAGGARDS_MAX],
        **_times(sorted(spread.items()), slowest),
    }


def _last_node(s: Json) -> dt.datetime | None:
    """When the last of a sub-cluster's nodes reported the version."""
    if s["seconds"] is None or s["slowest_s"] is None:
        return None
    found: dt.datetime = s["at"] + dt.timedelta(seconds=s["slowest_s"] - s["seconds"])
    return found


def _versions(counts: Counter[Any]) -> list[Json]:
    known = sorted(((v or 0, n) for v, n in counts.items()), reverse=True)
    return [{"version": version, "count": n} for version, n in known if n]


def _times(spread: Sequence[tuple[float, int]], slowest_s: float | None) -> Json:
    """p50_s and p99_s of (ms, how many) in rising order; the nearest rank, so that each is a time that occurred."""
    total, found = sum(n for _, n in spread), {}
    for name, share in (("p50_s", 0.5), ("p99_s", 0.99)):
        at, value = 0, None
        for ms, n in spread:
            at, value = at + n, ms / 1000
            if at >= share * total:
                break
        found[name] = value if value is None or slowest_s is None else min(value, round(slowest_s, 4))
    return found | {"max_s": None if slowest_s is None else round(slowest_s, 4)}
