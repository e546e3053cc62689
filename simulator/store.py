"""The Store port over simulated rows."""

import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from contract.policy.subclusters import effective_components, own_components
from controlplane.rm.changes import Changes
from controlplane.rm.claims import Claimed, ClaimRequest, Key
from controlplane.rm.ports import Fenced, StoreDown
from controlplane.rm.rows import (
    AskRow,
    CapacityRow,
    ContainerRow,
    GroupRow,
    HandedRow,
    IntentRow,
    JobRow,
    LastEndRow,
    NodeRow,
    PlaceRow,
    PolicyRow,
    QueueRow,
    RemoteRow,
    ReportRow,
    ServingRow,
    TaskRow,
    Wanted,
    WindowRow,
    WithdrawnRow,
)
from controlplane.statestore.acknowledgements import NodesRun
from controlplane.statestore.loads import Load
from controlplane.statestore.shares import Assignment
from scheduler.lifecycle.group import BACKOFF_MAX_S
from scheduler.lifecycle.guest import UNLOWERED
from simulator import commit
from simulator.clock import moment
from simulator.rows import Federation, Json, LiveContainer
from wire.resources import AXES, Amounts
from wire.states import TERMINAL, ContainerState, JobState, NodeState, TaskState

_NEVER_US = 1 << 62


class SimulatedStore:
    """One leader's session. on_commit: called with what a commit changed, once it has happened."""

    def __init__(self, federation: Federation, sub: int, epoch: int, on_commit: Callable[[int, Changes], None]):
        self.rows, self.sub, self.epoch, self.on_commit = federation, sub, epoch, on_commit
        self.own = federation.subs[sub]

    def _reach(self) -> None:
        """A session to which nothing happens is there."""

    def _fence(self) -> None:
        self._reach()
        if self.own.lease.epoch != self.epoch:
            raise Fenced(f"epoch {self.epoch} no longer leads sub-cluster {self.sub}")

    # Nodes and policy

    def nodes(self) -> list[NodeRow]:
        return [NodeRow(**row) for row in self.own.nodes.values()]

    def windows(self) -> list[WindowRow]:
        """A sub-cluster that is being drained is a window over all its nodes that never ends."""
        now_us = self.rows.clock.now_us()
        found = [row for row in self.own.windows if row.ends_us > now_us]
        if self.own.state == "draining":
            starts = _NEVER_US if self.own.deadline_us is None else self.own.deadline_us
            found.append(WindowRow("", "", "", "", starts, _NEVER_US, starts // 1_000_000 + 1))
        return sorted(found, key=lambda row: row.starts_us)

    def queues(self) -> tuple[int, list[QueueRow]]:
        policy = self.rows.policy
        return (policy.version, list(policy.queues)) if policy else (0, [])

    def policy(self, version: int) -> PolicyRow | None:
        policy = self.rows.policy
        if policy is None or policy.version != version:
            return None
        document = policy.document
        whole, own = document.get("components"), own_components(document.get("sub_clusters"), self.own.name)
        components = effective_components(whole, whole, own)
        return PolicyRow(version, policy.pushed_us, document.get("partitions"), components, document.get("queues"))

    def acknowledge(self, version: int, pushed_us: int, nodes: NodesRun) -> None:
        self._reach()
        known = self.own.acknowledged
        if known is not None and known[0] > self.epoch:
            raise Fenced(f"a leader after epoch {self.epoch} has acknowledged a policy version")
        self.own.acknowledged = self.epoch, version, nodes

    def elsewhere(self, singly: bool) -> list[CapacityRow]:
        others = [sub for sub in self.rows.subs.values() if sub.id != self.sub and sub.nodes]
        if not singly:
            return [CapacityRow(sub.id < self.sub, "", "", {}, *sub.capacity()) for sub in others]
        return [
            CapacityRow(sub.id < self.sub, row["name"], row["rack"], row["labels"], *(row[a] for a in AXES))
            for sub in others
            for row in sub.nodes.values()
            if row["state"] <= NodeState.UNHEALTHY
        ]

    def places_elsewhere(self) -> list[PlaceRow]:
        return [
            PlaceRow(sub.id, row["name"], row["rack"], row["labels"], *(row[a] for a in AXES))
            for sub in self.rows.subs.values()
            if sub.id != self.sub
            for row in sub.nodes.values()
            if row["state"] <= NodeState.UNHEALTHY and row["duty"] in ("in_service", "cordoned")
        ]

    # Jobs

    def _job(self, row: Json) -> JobRow:
        known = row | {f"{name}_at": _passed(row[f"{name}_us"]) for name in ("admitted", "started")}
        return JobRow._make(known[name] for name in JobRow._fields)

    def live_jobs(self, known: Collection[int] = ()) -> list[JobRow]:
        return [
            self._job(row | {"spec": {}} if row["id"] in known and "revision" not in (row["services"] or {}) else row)
            for row in self.rows.jobs.values()
            if row["home_id"] == self.sub
            and row["state"] < TERMINAL
            and (row["state"] > JobState.SUBMITTED or row["epoch"] > 0)
        ]

    def jobs(self, ids: Sequence[int]) -> list[JobRow]:
        return [self._job(self.rows.jobs[job]) for job in ids if job in self.rows.jobs]

    def at_home(self, jobs: Collection[int]) -> set[int]:
        rows = (self.rows.jobs.get(job) for job in jobs)
        return {row["id"] for row in rows if row is not None and row["home_id"] == self.sub and row["state"] < TERMINAL}

    def tasks(self, jobs: Collection[int]) -> list[TaskRow]:
        return [
            TaskRow(job, group, index, state, attempts, failures)
            for job in jobs
            for (group, index), (state, attempts, failures, _, _) in self.rows.tasks.get(job, {}).items()
        ]

    def last_ends(self, jobs: Collection[int]) -> list[LastEndRow]:
        """Of a back-off that is over by now nothing is told."""
        well = (int(ContainerState.SUCCEEDED), 0, 0)
        since_us = self.rows.clock.now_us() - int(BACKOFF_MAX_S * 1e6)
        return [
            LastEndRow(job, group, index, *self.rows.ends.get(job, {}).get(container, well), at_us)
            for job in jobs
            for (group, index), (state, _, failures, container, at_us) in self.rows.tasks.get(job, {}).items()
            if state == TaskState.PENDING and failures and at_us > since_us
        ]

    def groups(self, jobs: Collection[int]) -> list[GroupRow]:
        return [
            GroupRow(job, no, state, running, succeeded, failed, killed, retried, reason is not None)
            for job in jobs
            for no, (state, running, succeeded, failed, killed, retried, reason) in enumerate(self.rows.groups[job])
        ]

    def containers(self) -> list[ContainerRow]:
        return [
            ContainerRow(
                c.id, c.node, c.job, c.group, c.task, c.attempt, c.state, c.gpus, moment(c.allocated_us),
                _passed(c.started_us),
            )
            for _, c in sorted(self.own.containers.items())
        ]  # fmt: skip

    def had(self, jobs: Sequence[int]) -> dict[int, Amounts]:
        wanted = set(jobs)
        return {c.id: c.amounts for c in self.own.containers.values() if c.job in wanted}

    def intents(self, limit: int) -> list[IntentRow]:
        return self.own.intents[:limit]

    # Jobs that span

    def _ask(self, key: tuple[int, int, int]) -> AskRow:
        ask, job = self.rows.asks[key], self.rows.jobs[key[0]]
        return AskRow(
            key[0], key[1], ask.base, ask.target, ask.taken, ask.wish, ask.work, ask.halt, ask.version,
            ask.acknowledged, job["home_id"], job["priority"], job["queue"],
            (job["services"] or {}).get(f"{key[1]}"), (job["services"] or {}).get("revision", 1),
        )  # fmt: skip

    def unread_asks(self, limit: int) -> list[AskRow]:
        if not self.own.unread:
            return []
        known = ((key, self.rows.asks.get(key)) for key in self.own.unread)
        self.own.unread = {key for key, ask in known if ask is not None and ask.version > ask.acknowledged}
        return [self._ask(key) for key in sorted(self.own.unread)[:limit]]

    def asks_here(self) -> list[AskRow]:
        return [self._ask(key) for key in sorted(self.rows.asks) if key[2] == self.sub]

    def remote_asks(self, jobs: Sequence[int]) -> list[HandedRow]:
        wanted = set(jobs)
        return [
            HandedRow(*key, ask.base, ask.target, ask.taken, ask.wish, ask.work)
            for key, ask in sorted(self.rows.asks.items(), key=lambda item: item[0])
            if key[0] in wanted
        ]

    def _live_elsewhere(self, jobs: Sequence[int]) -> Iterable[tuple[int, LiveContainer]]:
        wanted = set(jobs)
        others = [sub for sub in self.rows.subs.values() if sub.id != self.sub]
        return [(sub.id, live) for sub in others for live in sub.containers.values() if live.job in wanted]

    def remote_containers(self, jobs: Sequence[int]) -> list[RemoteRow]:
        return [RemoteRow(c.job, c.group, c.task, c.attempt) for _, c in self._live_elsewhere(jobs)]

    def serving_elsewhere(self, jobs: Sequence[int]) -> dict[tuple[int, int], int]:
        """Of places that are emptied at once, the first goes first: to it what runs at the others counts."""
        live = [((c.job, c.group), sub, c) for sub, c in self._live_elsewhere(jobs)]
        leaves = [(key, sub) for key, sub, c in live if not self._stays(sub, c.node)]
        first = dict(sorted(leaves, reverse=True))
        found: dict[tuple[int, int], int] = {}
        for key, sub, c in live:
            counts = self._stays(sub, c.node) or self.sub < first[key]
            found[key] = found.get(key, 0) + (counts and c.state == ContainerState.RUNNING)
        return found

    def _stays(self, sub: int, node: int) -> bool:
        own = self.rows.subs[sub]
        return own.state == "running" and own.nodes[node]["duty"] == "in_service"

    def serving(self, jobs: Sequence[int]) -> list[ServingRow]:
        wanted = set(jobs)
        return [
            ServingRow(c.job, c.group, c.task, c.attempt, self.rows.health.get(c.id), c.started_us)
            for sub in self.rows.subs.values()
            for c in sub.containers.values()
            if c.job in wanted and c.state == ContainerState.RUNNING
        ]

    def revisions(self, job: int) -> list[Json]:
        return list(self.rows.jobs[job]["revisions"])

    def reports(self, limit: int) -> list[ReportRow]:
        return sorted(self.own.reports, key=lambda row: row.id)[:limit]

    def forward_reports(self, ids: Sequence[int]) -> None:
        going = set(ids)
        for row in [row for row in self.own.reports if row.id in going]:
            job = self.rows.jobs.get(row.job_id)
            if job is None or job["state"] >= TERMINAL:
                self.own.reports.remove(row)
            elif job["home_id"] != self.sub:
                self.own.reports.remove(row)
                self.rows.subs[job["home_id"]].reports.append(row)

    def withdraw(self, asks: Sequence[tuple[int, int, int]]) -> list[WithdrawnRow]:
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
            found.append(WithdrawnRow(*key, ask.target))
        return found

    # Admission, masters, loads, shares

    def admitted_elsewhere(self, version: int, keys: list[Key]) -> dict[Key, int]:
        return self.rows.admitted_elsewhere(self.sub, version, keys)

    def claim(self, version: int, requests: Mapping[Key, ClaimRequest]) -> dict[Key, Claimed]:
        self._fence()
        return self.rows.claim(self.sub, version, requests)

    def masters(self, jobs: Sequence[int]) -> Wanted:
        if not jobs:
            return Wanted()
        live = [container for sub in self.rows.subs.values() for container in sub.containers.values()]
        begun = [(c.job, c.group, c.task) for c in live]
        begun += [(job, group, index) for job in jobs for group, index in self.rows.tasks.get(job, ())]
        started: dict[tuple[int, int], int] = {}
        for job, group, index in begun:
            started[job, group] = max(started.get((job, group), 0), index + 1)
        return self.rows.masters.all_of(jobs, started, {container.id for container in live})

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
        wrong = commit.refused(self.rows, self.sub, self.epoch, changes)
        if wrong:
            raise StoreDown(wrong)
        commit.write(self.rows, self.sub, self.epoch, changes)
        self.on_commit(self.sub, changes)


def _passed(at_us: int) -> dt.datetime | None:
    """The moment; None where it has not been yet, which is 0."""
    return moment(at_us) if at_us else None
