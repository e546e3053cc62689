"""The Store port over simulated rows."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from contract.policy.subclusters import held, own_components
from controlplane.rm.changes import Changes
from controlplane.rm.claims import Key, Wish
from controlplane.rm.ports import Fenced, StoreDown, Wanted
from controlplane.statestore.acknowledgements import NodesRun
from controlplane.statestore.loads import Load
from controlplane.statestore.shares import Assignment
from scheduler.lifecycle.group import BACKOFF_MAX_S
from scheduler.lifecycle.guest import UNLOWERED
from simulator import commit
from simulator.clock import moment
from simulator.rows import Federation, Json
from wire.resources import AXES
from wire.states import ContainerState, NodeState, TaskState

_NEVER_US = 1 << 62
_ASK = ("base", "target", "taken", "wish", "work", "halt", "version", "acknowledged")


class SimulatedStore:
    """One leader's session. heard: called with what a commit changed, once it has happened."""

    def __init__(self, federation: Federation, sub: int, epoch: int, heard: Callable[[int, Changes], None]):
        self.rows, self.sub, self.epoch, self.heard = federation, sub, epoch, heard
        self.own = federation.subs[sub]

    def _reach(self) -> None:
        """A session to which nothing happens is there."""

    def _fence(self) -> None:
        self._reach()
        if self.own.lease.epoch != self.epoch:
            raise Fenced(f"epoch {self.epoch} no longer leads sub-cluster {self.sub}")

    # Nodes and policy

    def nodes(self) -> list[Json]:
        return [dict(row) for row in self.own.nodes.values()]

    def windows(self) -> list[Json]:
        """A sub-cluster that is being drained is a window over all its nodes that never ends."""
        now_us = self.rows.clock.now_us()
        found = [dict(row) for row in self.own.windows if row["ends_us"] > now_us]
        if self.own.state == "draining":
            starts = _NEVER_US if self.own.deadline_us is None else self.own.deadline_us
            window = {"node": "", "rack": "", "labels": "", "message": "", "starts_us": starts, "ends_us": _NEVER_US}
            found.append(window | {"lead_s": starts // 1_000_000 + 1})
        return sorted(found, key=lambda row: row["starts_us"])

    def queues(self) -> tuple[int, list[Json]]:
        policy = self.rows.policy
        return (policy.version, [dict(row) for row in policy.queues]) if policy else (0, [])

    def policy(self, version: int) -> Json:
        policy = self.rows.policy
        if policy is None or policy.version != version:
            return {}
        found = {name: policy.document.get(name) for name in ("partitions", "queues")}
        whole = policy.document.get("components")
        own = own_components(policy.document.get("sub_clusters"), self.own.name)
        return found | {"components": held(whole, whole, own), "target": version, "pushed_us": policy.pushed_us}

    def acknowledge(self, version: int, pushed_us: int, nodes: NodesRun) -> None:
        self._reach()
        known = self.own.acknowledged
        if known is not None and known[0] > self.epoch:
            raise Fenced(f"a leader after epoch {self.epoch} has acknowledged a policy version")
        self.own.acknowledged = self.epoch, version, nodes

    def elsewhere(self, singly: bool) -> list[tuple[Any, ...]]:
        others = [sub for sub in self.rows.subs.values() if sub.id != self.sub and sub.nodes]
        if not singly:
            return [(sub.id < self.sub, "", "", {}, *sub.capacity()) for sub in others]
        return [
            (sub.id < self.sub, row["name"], row["rack"], row["labels"], *(row[a] for a in AXES))
            for sub in others
            for row in sub.nodes.values()
            if row["state"] <= NodeState.UNHEALTHY
        ]

    def places_elsewhere(self) -> list[tuple[int, str, str, dict[str, str]]]:
        return [
            (sub.id, row["name"], row["rack"], row["labels"])
            for sub in self.rows.subs.values()
            if sub.id != self.sub
            for row in sub.nodes.values()
            if row["state"] <= NodeState.UP
        ]

    # Jobs

    def _job(self, row: Json) -> Json:
        times = {f"{name}_at": moment(row[f"{name}_us"]) for name in ("admitted", "started")}
        return row | times

    def live_jobs(self) -> list[Json]:
        return [
            self._job(row)
            for row in self.rows.jobs.values()
            if row["home_id"] == self.sub and row["state"] < 10 and (row["state"] > 0 or row["epoch"] > 0)
        ]

    def jobs(self, ids: Sequence[int]) -> list[Json]:
        return [self._job(self.rows.jobs[job]) for job in ids if job in self.rows.jobs]

    def tasks(self, jobs: Mapping[int, Any]) -> Iterable[tuple[int, int, int, int, int, int]]:
        return [
            (job, group, index, *row[:3])
            for job in jobs
            for (group, index), row in self.rows.tasks.get(job, {}).items()
        ]

    def last_ends(self, jobs: Mapping[int, Any]) -> Iterable[tuple[int, int, int, int, int, int]]:
        """Of a back-off that is over by now nothing is told."""
        well = (int(ContainerState.SUCCEEDED), 0)
        since_us = self.rows.clock.now_us() - int(BACKOFF_MAX_S * 1e6)
        return [
            (job, group, index, *self.rows.ends.get(job, {}).get(container, well), at_us)
            for job in jobs
            for (group, index), (state, _, failures, container, at_us) in self.rows.tasks.get(job, {}).items()
            if state == TaskState.PENDING and failures and at_us > since_us
        ]

    def groups(self, jobs: Mapping[int, Any]) -> list[tuple[Any, ...]]:
        return [
            (job, no, *counters, reason is not None)
            for job in jobs
            for no, (*counters, reason) in enumerate(self.rows.groups[job])
        ]

    def containers(self) -> list[tuple[Any, ...]]:
        rows = sorted(self.own.containers.items())
        return [(*row[:8], moment(row[8]), moment(row[9])) for _, row in rows]

    def intents(self, limit: int) -> list[Json]:
        return self.own.intents[:limit]

    # Jobs that span

    def _ask(self, key: tuple[int, int, int]) -> Json:
        job = self.rows.jobs[key[0]]
        ours = {"job_id": key[0], "group_no": key[1], "sub_cluster_id": key[2]}
        return ours | self.rows.asks[key].row(*_ASK) | {name: job[name] for name in ("home_id", "priority", "queue")}

    def unread_asks(self, limit: int) -> list[Json]:
        if not self.own.unread:
            return []
        known = ((key, self.rows.asks.get(key)) for key in self.own.unread)
        self.own.unread = {key for key, ask in known if ask is not None and ask.version > ask.acknowledged}
        return [self._ask(key) for key in sorted(self.own.unread)[:limit]]

    def asks_here(self) -> list[Json]:
        return [self._ask(key) for key in sorted(self.rows.asks) if key[2] == self.sub]

    def asks_away(self, jobs: Sequence[int]) -> list[Json]:
        wanted = set(jobs)
        return [self._ask(key) for key in sorted(self.rows.asks) if key[0] in wanted]

    def _live_elsewhere(self, jobs: Sequence[int]) -> Iterable[tuple[int, list[Any]]]:
        wanted = set(jobs)
        others = [sub for sub in self.rows.subs.values() if sub.id != self.sub]
        return [(s.id, row) for s in others for row in s.containers.values() if row[2] in wanted]

    def containers_away(self, jobs: Sequence[int]) -> list[tuple[int, int, int, int]]:
        return [(row[2], row[3], row[4], row[5]) for _, row in self._live_elsewhere(jobs)]

    def serving_elsewhere(self, jobs: Sequence[int]) -> dict[tuple[int, int], int]:
        """Of places that are emptied at once, the first goes first: to it what runs at the others counts."""
        live = [((row[2], row[3]), sub, row) for sub, row in self._live_elsewhere(jobs)]
        leaves = [(key, sub) for key, sub, row in live if not self._stays(sub, row[1])]
        first = dict(sorted(leaves, reverse=True))
        found: dict[tuple[int, int], int] = {}
        for key, sub, row in live:
            counts = self._stays(sub, row[1]) or self.sub < first[key]
            found[key] = found.get(key, 0) + (counts and row[6] == ContainerState.RUNNING)
        return found

    def _stays(self, sub: int, node: int) -> bool:
        own = self.rows.subs[sub]
        return own.state == "running" and own.nodes[node]["duty"] == "in_service"

    def reports(self, limit: int) -> list[Json]:
        return sorted(self.own.reports, key=lambda row: row["id"])[:limit]

    def forward_reports(self, ids: Sequence[int]) -> None:
        going = set(ids)
        for row in [row for row in self.own.reports if row["id"] in going]:
            job = self.rows.jobs.get(row["job_id"])
            if job is None or job["state"] >= 10:
                self.own.reports.remove(row)
            elif job["home_id"] != self.sub:
                self.own.reports.remove(row)
                self.rows.subs[job["home_id"]].reports.append(row)

    def take_back(self, asks: Sequence[tuple[int, int, int]]) -> list[tuple[int, int, int, int]]:
        if not asks:
            return []
        self.renew()
        found = []
        for key in asks:
            ask = self.rows.asks.get(key)
            if ask is None or ask.wish >= ask.target or self.rows.subs[key[2]].lease.holder:
                continue
            ask.target, ask.wish = max(ask.taken, min(ask.wish, ask.target)), UNLOWERED
            ask.version += 1
            self.rows.subs[key[2]].unread.add(key)
            found.append((*key, ask.target))
        return found

    # Admission, masters, loads, shares

    def admitted_elsewhere(self, version: int, keys: list[Key]) -> dict[Key, int]:
        return self.rows.admitted_elsewhere(self.sub, version, keys)

    def claim(self, version: int, wishes: Mapping[Key, Wish]) -> dict[Key, tuple[int, int]]:
        self._fence()
        return self.rows.claim(self.sub, version, wishes)

    def masters(self, jobs: Sequence[int]) -> Wanted:
        if not jobs:
            return Wanted()
        live = [row for sub in self.rows.subs.values() for row in sub.containers.values()]
        begun = [(row[2], row[3], row[4]) for row in live]
        begun += [(job, group, index) for job in jobs for group, index in self.rows.tasks.get(job, ())]
        started: dict[tuple[int, int], int] = {}
        for job, group, index in begun:
            started[job, group] = max(started.get((job, group), 0), index + 1)
        return self.rows.masters.all_of(jobs, started, {row[0] for row in live})

    def some_masters(
        self,
        known: Mapping[int, int],
        asks: Sequence[tuple[int, int]],
        launches: Sequence[int],
        ending: Sequence[int],
    ) -> Wanted:
        return self.rows.masters.some_of(known, asks, launches, ending)

    def put_load(self, load: Load) -> None:
        self._reach()
        if self.own.load is not None and self.own.load.epoch > load.epoch:
            raise Fenced(f"a leader after epoch {self.epoch} has written its load")
        self.own.load, self.own.loaded_at = load, self.rows.clock.now

    def loads(self, queues: bool = True) -> list[Load]:
        found = self.rows.loads()
        return found if queues else [replace(load, queues={}) for load in found]

    def shares(self, known: int) -> Assignment | None:
        found = self.own.shares
        return replace(found, tables=None) if found is not None and found.version == known else found

    def renew(self) -> None:
        self._fence()

    def commit(self, changes: Changes) -> None:
        """All of a round or nothing of it. Raises ``Fenced``, or ``StoreDown`` where rows are not those it knows."""
        self._fence()
        wrong = commit.refused(self.rows, self.sub, changes)
        if wrong:
            raise StoreDown(wrong)
        commit.write(self.rows, self.sub, self.epoch, changes)
        self.heard(self.sub, changes)
