"""Every part of the system, whether it does its duty, and what to do where it does not. Nothing here raises for a store
that does not answer: that is one of the findings."""

import time
from collections.abc import Callable
from typing import Any, Literal

import redis
from django.conf import settings
from django.core.files.storage import storages
from django.db import DatabaseError, connection

from controlplane.statestore import bus, posts
from controlplane.statestore.lifeline import LEAVE_LOST
from controlplane.statestore.models import Node, SubCluster
from controlplane.statestore.queries.subclusters.listing import all_sub_clusters
from controlplane.wholefiles import WholeFiles
from wire.counts import counted
from wire.states import NodeState

Json = dict[str, Any]
Verdict = Literal["good", "warn", "bad"]
SILENT_S = 15.0  # a process reports every 5 s
STORE_SLOW_MS = 50.0
FULL = 0.85  # of connections or memory
LOAD_OLD_S = 10.0
SHARES_OLD_S = 60.0
NAMES_MAX = 5
_POSTGRES = """
SELECT current_setting('server_version'), pg_database_size(current_database()),
       (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),
       current_setting('max_connections')::int,
       (SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0) FROM pg_stat_activity
         WHERE backend_type = 'client backend' AND pid <> pg_backend_pid())
"""
_GPG = """
SELECT l.holder, l.epoch, coalesce(l.expires_at > clock_timestamp(), false),
       (SELECT extract(epoch FROM clock_timestamp() - max(at)) FROM statestore_shareassignment)
  FROM statestore_dutylease l WHERE l.name = %s
"""
_FEW_LOST = NodeState.LOST, NodeState.UNHEALTHY
_MAY_BE_EMPTY = SubCluster.State.JOINING, SubCluster.State.DRAINING


def read() -> list[Json]:
    """Stores first, then who leads, then processes and nodes. Eight queries, and three short calls to Redis."""
    found = [_postgres(), _redis("redis", settings.REDIS_URL), _redis("broker", settings.BROKER_URL), *_artifacts()]
    if found[0]["verdict"] == "bad":
        return found
    subs = [s for s in all_sub_clusters() if s["state"] != SubCluster.State.DECOMMISSIONED]
    found += [_rm(s) for s in subs] + [_gpg()] + _processes() + _nodes(subs)
    return found


def _item(kind: str, name: str, verdict: Verdict, text: str, remedy: str = "", **facts: Any) -> Json:
    return {"kind": kind, "name": name, "verdict": verdict, "text": text, "remedy": remedy, "facts": facts}


def _timed(call: Callable[[], Any]) -> tuple[Any, float]:
    began = time.perf_counter()
    return call(), round((time.perf_counter() - began) * 1000, 1)


def _postgres() -> Json:
    def ask() -> tuple[Any, ...]:
        with connection.cursor() as cursor:
            cursor.execute(_POSTGRES)
            row: tuple[Any, ...] = cursor.fetchone()
            return row

    try:
        (version, size, used, most, oldest_s), ms = _timed(ask)
    except DatabaseError:
        remedy = "look at its server's log and disk; jobs run on, and everything returns by itself once it answers"
        return _item("store", "postgres", "bad", "It does not answer.", remedy)
    facts = {"version": version, "answer_ms": ms, "size_mib": size >> 20, "connections": used, "connections_max": most}
    if used > FULL * most:
        remedy = "raise max_connections, or put a pooler before it; see `select * from pg_stat_activity`"
        return _item("store", "postgres", "warn", f"{used} of {most} connections are in use.", remedy, **facts)
    if oldest_s > 300:
        remedy = "find it in pg_stat_activity: it keeps old rows from being removed"
        text = f"A transaction has been open for {oldest_s:.0f} s."
        return _item("store", "postgres", "warn", text, remedy, **facts)
    if ms > STORE_SLOW_MS:
        remedy = "look at the load and the disks of its machine"
        return _item("store", "postgres", "warn", f"It took {ms:.0f} ms to answer.", remedy, **facts)
    return _item("store", "postgres", "good", f"It answers in {ms:g} ms.", **facts)


def _redis(name: str, url: str) -> Json:
    what = "heartbeats and desired state" if name == "redis" else "duties and live pages"
    try:
        info, ms = _timed(lambda: bus.client(url).info())
    except redis.RedisError:
        remedy = f"restart it: it carries {what}, nothing there is the only copy, and running jobs go on meanwhile"
        return _item("store", name, "bad", "It does not answer.", remedy)
    used, most = int(info.get("used_memory", 0)), int(info.get("maxmemory", 0))
    facts = {
        "version": info.get("valkey_version") or info.get("redis_version"),
        "answer_ms": ms,
        "memory_mib": used >> 20,
        "memory_max_mib": most >> 20 or None,
        "clients": info.get("connected_clients"),
    }
    if most and used > FULL * most:
        text = f"{100 * used // most} % of its memory is used; it refuses writes when full."
        return _item("store", name, "warn", text, "raise its maxmemory", **facts)
    if ms > STORE_SLOW_MS:
        return _item("store", name, "warn", f"It took {ms:.0f} ms to answer.", "look at its machine's load", **facts)
    return _item("store", name, "good", f"It answers in {ms:g} ms.", **facts)


def _artifacts() -> list[Json]:
    """The disk of files and outputs, where they lie on one."""
    files = storages["default"]
    if not isinstance(files, WholeFiles):
        return []
    try:
        room = files.room()
    except OSError as error:
        return [_item("store", "artifacts", "bad", f"Their disk: {error.strerror}.", "look at that disk, or its mount")]
    keeps = int(settings.HYDRA["artifacts_free_mib"])
    facts = {"room_mib": max(0, room >> 20), "to_stay_free_mib": keeps}
    if room >> 20 > keeps:
        return [_item("store", "artifacts", "good", "Its disk has room.", **facts)]
    remedy = "make room on it, or have less kept: HYDRA_ARTIFACT_DAYS"
    if room > 0:
        text = f"Its disk has room for {room >> 20} MiB more; then uploads and tasks' outputs are refused."
        return [_item("store", "artifacts", "warn", text, remedy, **facts)]
    text = f"Uploads and tasks' outputs are refused: less than {keeps} MiB of its disk are free."
    return [_item("store", "artifacts", "bad", text, remedy, **facts)]


def _rm(s: Json) -> Json:
    facts = {"leader": s["leader"], "epoch": s["epoch"], "round_ms": s["round_ms"], "state": s["state"]}
    name, age = s["name"], s["load"]["age_s"] if s["load"] else None
    if s["state"] == SubCluster.State.LOST:
        return _lost(s, facts)
    if s["state"] == SubCluster.State.JOINING:
        lacks = " and ".join(s["waits_for"]) or "its first round"
        return _item("rm", name, "warn", f"It is joining and waits for {lacks}.", "start what is missing", **facts)
    if not s["lease_ok"]:
        remedy = (
            f"start a worker for queue rm.{name} (manage.py worker --queues rm.{name}); containers run on meanwhile"
        )
        return _item("rm", name, "bad", "Nobody leads it: nothing new is placed.", remedy, **facts)
    if s["frozen"]:
        remedy = "look at the network between its nodes and Redis; nothing is declared lost until most answer again"
        return _item("rm", name, "bad", "Most of its nodes fell silent together, so it is frozen.", remedy, **facts)
    if age is not None and age > LOAD_OLD_S:
        remedy = "look at the log of its worker; when it stays so, restart that worker: another takes over"
        return _item("rm", name, "warn", f"It last told its load {age:.0f} s ago.", remedy, **facts)
    return _item("rm", name, "good", f"{s['leader']} leads it.", **facts)


def _lost(s: Json, facts: Json) -> Json:
    silent, remedy = "Its nodes are silent" if s["lease_ok"] else "Its RM and its nodes are silent", "bring them back"
    if jobs := s["left"]["jobs"]:
        text = f"{silent}; {counted(jobs, 'job')} found no other home."
        return _item("rm", s["name"], "bad", text, f"{remedy}; {LEAVE_LOST.format(name=s['name'])}", **facts)
    remedy += ", or decommission it: none of its jobs is left there"
    return _item("rm", s["name"], "bad", f"{silent}.", remedy, **facts)


def _gpg() -> Json:
    with connection.cursor() as cursor:
        cursor.execute(_GPG, [posts.GPG])
        holder, epoch, led, age_s = cursor.fetchone() or ("", 0, False, None)
    age = None if age_s is None else round(float(age_s), 1)
    facts: Json = {"leader": holder if led else None, "epoch": epoch, "shares_age_s": age}
    if not led:
        remedy = "start a worker for queue control (manage.py worker --queues control); the last shares stay in force"
        return _item("gpg", "gpg", "bad", "Nobody divides the shares.", remedy, **facts)
    if age is not None and age > SHARES_OLD_S:
        remedy = "look at the log of its worker for a duty that failed"
        return _item("gpg", "gpg", "warn", f"The shares are {age:.0f} s old.", remedy, **facts)
    return _item("gpg", "gpg", "good", f"{holder} divides the shares.", **facts)


_WITHOUT = {
    "web": "start one: manage.py web",
    "worker": "start one: manage.py worker; without any, no sub-cluster is led",
    "beat": "start it: manage.py beat; leaders lead on, but schedules, notifications and rollouts stand still",
}


def _processes() -> list[Json]:
    """Web processes, workers and beat, as they last said; silent ones for an hour."""
    known = bus.processes()
    if known is None:
        return []  # that Redis does not answer is said already
    alive = {process.kind for process in known if process.silent_s <= SILENT_S}
    found = [_process(process, process.kind in alive) for process in known]
    for kind in _WITHOUT.keys() - {process.kind for process in known}:
        found.append(_item(kind, kind, "bad", "None has reported.", _WITHOUT[kind]))
    return found


def _process(process: bus.Process, others: bool) -> Json:
    """others: of its kind report, or it does itself."""
    kind, name, told = process.kind, process.name, process.facts
    age = round(process.silent_s, 1)
    facts: Json = {"host": told.get("host"), "pid": told.get("pid"), "said_s": age}
    if told.get("up_s"):
        facts["up_s"] = round(process.up_s)
    if age > SILENT_S:
        start = _WITHOUT.get(kind, "")
        if not others and start:
            return _item(kind, name, "bad", f"Silent for {age:.0f} s, and no other reports.", start, **facts)
        remedy = f"if it was meant to end, ignore this: it leaves the list within an hour. Else: {start}"
        return _item(kind, name, "warn", f"Silent for {age:.0f} s.", remedy, **facts)
    return _item(kind, name, "good", "It reports.", **facts)


def _nodes(subs: list[Json]) -> list[Json]:
    """One line for the nodes of each sub-cluster, naming a few that are lost or unhealthy."""
    names: dict[str, list[str]] = {}
    if any(s["nodes"]["lost"] or s["nodes"]["unhealthy"] for s in subs):
        bad = Node.objects.filter(state__in=_FEW_LOST, sub_cluster__in=[s["id"] for s in subs]).order_by("id")
        for sub, node in bad.values_list("sub_cluster__name", "name")[:1000]:
            names.setdefault(sub, []).append(node)
    return [_nodes_of(s, names.get(s["name"], [])) for s in subs]


def _nodes_of(s: Json, names: list[str]) -> Json:
    counts = {state: n for state, n in s["nodes"].items() if n}
    such = f", such as {', '.join(names[:NAMES_MAX])}" if names else ""
    up, lost, unhealthy = (s["nodes"][state] for state in ("up", "lost", "unhealthy"))
    if not up:
        verdict: Verdict = "warn" if s["state"] in _MAY_BE_EMPTY else "bad"
        return _item("nodes", s["name"], verdict, "None is up.", "start node managers with a join token", **counts)
    if lost:
        remedy = "look whether the machines run and reach Redis; decommission those that will not return"
        return _item("nodes", s["name"], "warn", f"{lost} lost{such}; {up} up.", remedy, **counts)
    if unhealthy:
        remedy = "their pages say which fault they report; they take no new containers until it is gone"
        return _item("nodes", s["name"], "warn", f"{unhealthy} unhealthy{such}; {up} up.", remedy, **counts)
    return _item("nodes", s["name"], "good", f"{up} up.", **counts)
