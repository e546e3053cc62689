"""The RM's real parts over real stores, stepped by hand, so that every moment can be chosen."""

import json
from typing import Any

import numpy as np
from django.conf import settings
from django.db import connection

from contract import jobspec
from controlplane.accounts.models import User
from controlplane.policy import versions
from controlplane.rm.adapters.bus import RedisBus
from controlplane.rm.adapters.clock import DatabaseClock
from controlplane.rm.adapters.store import PostgresStore
from controlplane.rm.driver import summary
from controlplane.rm.driver.rebuild import rebuild
from controlplane.rm.driver.round import Duties, Report, Round, RoundSettings
from controlplane.rm.memory.whole import Memory
from controlplane.rm.steps.publish import Signer
from controlplane.statestore.actions import jobs as job_actions
from controlplane.statestore.actions import nodes as node_actions
from controlplane.statestore.actions import subclusters
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.actions.jobs import NewGroup, NewJob
from controlplane.statestore.membership import Leadership, take
from controlplane.statestore.models import Job, Node
from simulator.hollow import HollowNodes
from wire.nodeapi import Register
from wire.states import ContainerState, terminal

LEASE_S = 60.0
FOR_EVER_S = 1e6


class Clock(DatabaseClock):
    """Stands at the database's time, as it was when it was made; a test moves it on: ``ahead_s``, in seconds."""

    def __init__(self, now_us: int):
        super().__init__(now_us)
        self.ahead_s = 0.0
        self.catch_up()

    def catch_up(self) -> None:
        """Stand at the moment of this call, and what it is ahead."""
        self._stands_us, self._stands = super().now_us(), super().monotonic()

    def now_us(self) -> int:
        return self._stands_us + int(self.ahead_s * 1e6)

    def monotonic(self) -> float:
        return self._stands + self.ahead_s


class Nodes(HollowNodes):
    """Hollow nodes that move when told to. A container runs until ``finish``."""

    def step(self, *cut: int) -> None:
        """Every node but those cut off reads its document, obeys and reports."""
        ids = set(self.nodes) - set(cut)
        self._report(self._obey(ids), ids)

    def all_held(self) -> dict[int, int]:
        """Container id -> state, over all nodes."""
        return {cid: state for node in self.nodes for cid, state in self.holds(node).items()}

    def holds(self, node_id: int) -> dict[int, int]:
        """Container id -> state of one node."""
        return dict(self.held.each(self.nodes[node_id].row))

    def finish(self, state: ContainerState = ContainerState.SUCCEEDED, ids: set[int] | None = None) -> int:
        """End running containers (all of them, or ``ids``); how many. They report at the next step."""
        return self.held.end(ids, state)

    def lose(self, node_id: int, cid: int) -> None:
        """The node no longer knows this container."""
        self.held.lose(self.nodes[node_id].row, cid)


class Leading:
    """One leader: its memory, its session and its rounds."""

    def __init__(self, leadership: Leadership):
        sub = leadership.sub_cluster_id
        self.leadership, self.epoch = leadership, leadership.epoch
        self.store = PostgresStore(leadership, LEASE_S)
        self.answered = 0.0
        self.memory = rebuild(self.store, 1 << 20, self.answered)
        self.restored = 0
        self.bus = RedisBus(settings.REDIS_URL, sub, self.epoch, self._restore)
        self.clock = Clock(self.store.now_us())
        signer = Signer(node_actions.lease_master(), settings.HYDRA["lease_key_id"])
        chosen = RoundSettings(1 << 20, 7200.0, check_invariants=True)
        self.rounds = Round(sub, self.memory, self.store, self.bus, self.clock, signer, chosen)

    def _restore(self) -> None:
        self.restored += 1

    def round(self, *lost: int, intents: bool = True) -> Report:
        """One round that looks at everything, but perhaps intents. ``lost``: node ids to declare lost."""
        self.answered += 1.0
        at = [self.memory.nodes.index[n] for n in lost]
        statuses = list(range(len(self.memory.nodes)))
        return self.rounds.run(Duties(statuses, intents, np.array(at, np.int64)), self.answered)

    def rebuilt(self) -> Memory:
        """What a successor would know now."""
        return rebuild(self.store, 1 << 20, 0.0)

    def summary(self) -> dict[str, Any]:
        """The summary as web would read it."""
        return json.loads(json.dumps(summary.summary(self.memory, "test", {}, False, 0.0)))

    def close(self) -> None:
        self.bus.close()
        self.leadership.release()


class Cluster:
    """A sub-cluster of two nodes. Leaders are made with ``lead``."""

    def __init__(self) -> None:
        self.user = User.objects.create(username="tenant")
        self.actor = Actor(self.user.pk)
        self.sub = subclusters.create(SYSTEM, "west")
        self.leaders: list[Leading] = []
        self.policy({"default": {"guaranteed": 1.0, "open_to_all": True}})
        self.nodes = Nodes(settings.REDIS_URL, self.sub.pk, {}, FOR_EVER_S)
        self.ids = [self.add_node(f"n{i}") for i in range(2)]

    def close(self) -> None:
        for leading in self.leaders:
            leading.close()

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall()

    def one(self, sql: str) -> Any:
        return self.rows(sql)[0][0]

    def policy(self, queues: dict[str, Any], partitions: dict[str, Any] | None = None, **components: Any) -> None:
        document = {"queues": queues, "partitions": partitions or {}, "components": components}
        versions.publish(SYSTEM, document, "test", force=True)

    def add_node(self, name: str, rack: str = "r", **more: Any) -> int:
        """Register a node (or the same again) and play it from now on; its id."""
        values = {"memory_mib": 4096, "vcores_milli": 4000, "gpus": 2, "labels": {"name": name}} | more
        (session,) = node_actions.bulk_register(self.sub, [Register("", name, rack, **values)])
        lease_keys = {int(k): bytes.fromhex(v) for k, v in session.lease_keys.items()}
        self.nodes.add({session.node_id: lease_keys})
        return session.node_id

    def decommission(self, node_id: int) -> None:
        node_actions.decommission(SYSTEM, Node.objects.get(pk=node_id))

    def lead(self) -> Leading:
        leadership = take(self.sub.pk, f"worker-{len(self.leaders)}", LEASE_S)
        assert leadership is not None
        self.leaders.append(Leading(leadership))
        return self.leaders[-1]

    def expire(self) -> None:
        """The lease runs out, as it does for a leader that has stopped."""
        self.rows("UPDATE statestore_lease SET expires_at = clock_timestamp() - interval '1 s' RETURNING 1")

    def submit(self, *groups: dict[str, Any], **job: Any) -> int:
        """Store a job; its id. A group is 1 task of 512 MiB and half a core unless it says otherwise."""
        filled = [
            {"name": f"g{no}", "command": ["true"], "resources": {"memory_mib": 512, "vcores_milli": 500}} | g
            for no, g in enumerate(groups)
        ]
        spec, errors = jobspec.parse({"name": "job", "groups": filled} | job)
        assert spec is not None, errors
        return self.store(spec)[0]

    def submit_spec(self, raw: dict[str, Any]) -> int:
        """Store a job as its tenant would hand it in; its id."""
        spec, errors = jobspec.parse(raw)
        assert spec is not None, errors
        return self.store(spec)[0]

    def store(self, *specs: jobspec.JobSpec) -> list[int]:
        new = [_new_job(s, self.sub.pk) for s in specs]
        ids: list[int] = job_actions.submit(self.actor, new, lambda ids, _: {"ids": ids})["ids"]
        return ids

    def job(self, job_id: int) -> Job:
        return Job.objects.get(pk=job_id)

    def kill(self, job_id: int, message: str = "stop") -> None:
        job_actions.kill(self.actor, self.job(job_id), message)

    def play(self, leader: Leading, *jobs: int, rounds: int = 40) -> None:
        """Rounds and nodes in turn, every attempt succeeding, until these jobs have ended."""
        for _ in range(rounds):
            leader.round()
            if all(terminal(self.job(j).state) for j in jobs):
                return
            self.nodes.step()
            self.nodes.finish()
            self.nodes.step()
            leader.clock.ahead_s += 100.0
        raise AssertionError([(j, self.job(j).state) for j in jobs])


def _new_job(s: jobspec.JobSpec, home: int) -> NewJob:
    groups = []
    for g in s.groups:
        r = g.resources
        groups.append(NewGroup(g.name, g.count, r.memory_mib, r.vcores_milli, r.gpus, False, bool(g.after)))
    return NewJob(s.name, s.kind, s.queue, s.priority or 0, "[]", s.model_dump_json(), home, tuple(groups))


def story(m: Memory) -> dict[str, Any]:
    """What a leader's memory says, in a form in which two memories can be compared."""
    n, t = m.nodes, m.containers
    live = np.flatnonzero(t.live)
    columns = ("id", "state", "want", "task", "attempt", "gpus", "allocated_us", "started_us")
    containers = {
        int(t.id[s]): [int(n.id[t.node[s]]), *(int(getattr(t, name)[s]) for name in columns)] for s in live.tolist()
    }
    nodes = {
        int(n.id[at]): (
            n.used[at].tolist(), n.capacity[at].tolist(), int(n.gpu_held[at]), int(n.containers[at]), int(n.state[at]),
            int(n.health[at]),
        )
        for at in range(len(n))
    }  # fmt: skip
    jobs = {
        job.id: (job.run.state, job.run.live, job.run.verdict, job.run.message, job.priority, job.queue, job.owner,
                 job.started_us, [_group(job.run.stopping, g) for g in job.groups])
        for job in m.jobs.values()
    }  # fmt: skip
    queues = dict(zip(m.queues.paths, m.ledger.queues[-1].tolist(), strict=True))
    return {"containers": containers, "nodes": nodes, "jobs": jobs, "queues": queues, "policy": m.queues.version}


def _group(stopping: bool, g: Any) -> tuple[Any, ...]:
    r = g.run
    # Of a job that is being stopped only the end counts; that a back-off is over shows in the next round.
    state = None if stopping else (int(r.state), r.retried, sorted([*r.again, *(i for _, i in r.delayed)]))
    counters = (r.running, r.succeeded, r.failed, r.next_fresh, r.unfinished)
    slots = len(g.slots)
    return (state, counters, slots, r.task_state.tolist(), r.failures.tolist(), r.launches.tolist())
