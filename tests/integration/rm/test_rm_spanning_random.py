"""Random lives of a federation: leaders and whole sub-clusters come and go, and every task is in one place."""

from collections import Counter
from contextlib import suppress
from copy import deepcopy
from typing import Any

import numpy as np
import pytest
from django.conf import LazySettings

from controlplane.rm import tasks
from controlplane.rm.memory.jobs import JobEntry
from controlplane.rm.ports import Fenced, Outdated, StoreDown
from controlplane.statestore.actions import services, subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.errors import Refused
from controlplane.statestore.models import Job, SubCluster
from tests import invariants, seeds
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, SMALL, Federation
from tests.patience import RanOut, wait_until
from tests.stepped import memory_state
from wire.states import ContainerState, JobState

GONE = (Fenced, StoreDown)
STEPS = 45
UNFINISHED = """
    SELECT j.id, j.home_id, j.state, g.no, g.state, g.reason FROM statestore_job j
      JOIN statestore_taskgroup g ON g.job_id = j.id WHERE j.state < 10"""
FORBIDDEN = {
    "an ask outlives its job": """
        SELECT a.id FROM statestore_ask a JOIN statestore_job j ON j.id = a.job_id WHERE j.state >= 10""",
    "more was taken than was handed over": "SELECT id, taken, target FROM statestore_ask WHERE taken > target",
    "a sub-cluster has containers of a job that is neither at home nor handed over there": """
        SELECT c.id FROM statestore_container c JOIN statestore_job j ON j.id = c.job_id
          LEFT JOIN statestore_ask a ON a.job_id = c.job_id AND a.group_no = c.group_no
               AND a.sub_cluster_id = c.sub_cluster_id
         WHERE c.sub_cluster_id <> j.home_id AND a.id IS NULL""",
}  # fmt: skip


class Life:
    """What may happen, chosen by a seed."""

    def __init__(self, cluster: Cluster, seed: int):
        self.rng = np.random.default_rng(seed)
        self.cluster = cluster
        self.policy()
        self.f = Federation(cluster, pace_s=None)  # what else writes rows here goes by the database's clock
        self.jobs: list[int] = []
        self.services: list[int] = []
        self.zombies: list[Leading] = []
        self.told: list[str] = []

    def policy(self) -> None:
        name = str(self.rng.choice(["locality", "locality", "broadcast", "weighted", "home"]))
        proxy: dict[str, Any] = {"policy": name, "parameters": {}}
        if name != "home":
            proxy["parameters"] = {"relax_after_s": 0.3, "interval_s": 0.05}
        lost = {"policy": "rehome", "parameters": {"after_s": 1.0}}
        failing = {"policy": "avoid", "parameters": {"job_failures": 1000}}
        self.cluster.policy(
            {"default": {"guaranteed": 1.0} | OPEN}, amrmproxy=proxy, lost_sub_clusters=lost, failing_nodes=failing
        )

    def submit(self) -> None:
        at = int(self.rng.integers(3))
        group = SMALL | {"count": int(self.rng.integers(1, 30)), "retries": 100}
        kind = "service" if self.rng.random() < 0.15 else "batch"
        if kind == "service":
            group |= {"count": int(self.rng.integers(1, 5)), "retries": 0}
        elif self.rng.random() < 0.15:
            group |= {"gang": True, "count": int(self.rng.integers(2, 10))}
        groups = [group]
        if kind == "batch" and self.rng.random() < 0.3:
            groups.append(SMALL | {"name": "second", "count": 5, "after": ["g0"], "retries": 100})
        job = self.f.clusters[at].submit(*groups, kind=kind)
        (self.services if kind == "service" else self.jobs).append(job)

    def some_job(self) -> int | None:
        live = [j for j in self.jobs + self.services if self.cluster.job(j).state < JobState.SUCCEEDED]
        return int(self.rng.choice(live)) if live else None

    def kill(self) -> None:
        if (job := self.some_job()) is not None:
            self.cluster.kill(job)

    def take_over(self) -> None:
        """A leader is replaced; the former one may not know."""
        at = int(self.rng.integers(3))
        if (leader := self.f.leaders[at]) is not None:
            self.expire(at)
            self.zombies.append(leader)
            self.f.lead(at)

    def wake_up(self) -> None:
        for zombie in self.zombies:
            zombie.memory.placeable = True
            with pytest.raises(GONE):
                zombie.round()
                zombie.store.renew()
        self.zombies.clear()

    def fall_silent(self) -> None:
        at = int(self.rng.integers(3))
        if all(leader is not None for leader in self.f.leaders):
            self.f.leaders[at].leadership.connection.close()  # type: ignore[union-attr]
            self.f.leaders[at] = None
            self.expire(at)

    def come_back(self) -> None:
        for at, leader in enumerate(self.f.leaders):
            if leader is None:
                self.f.lead(at)
        tasks.reap()

    def expire(self, at: int) -> None:
        self.cluster.rows(
            "UPDATE statestore_lease SET expires_at = clock_timestamp() - interval '5 s'"
            f" WHERE sub_cluster_id = {self.f.clusters[at].sub.pk} RETURNING 1"
        )

    def lose_node(self) -> None:
        at = int(self.rng.integers(3))
        if self.f.leaders[at] is not None:
            self.round(at, int(self.rng.choice(self.f.clusters[at].ids)))

    def drain(self) -> None:
        row = SubCluster.objects.get(name=str(self.rng.choice(["west", "east", "south"])))
        if row.state == "running":
            subclusters.drain(SYSTEM, row, None)
        elif row.state == "draining":
            subclusters.resume(SYSTEM, row)

    def scale(self) -> None:
        for job in self._live_services():
            services.scale(self.cluster.actor, job, "g0", int(self.rng.integers(1, 9)), "somebody")

    def restart(self) -> None:
        for job in self._live_services():
            one = self.rng.random() < 0.5
            with suppress(Refused):  # nothing of it runs now, or not that many
                services.restart(self.cluster.actor, job, "g0", int(self.rng.integers(3)) if one else None, "somebody")

    def update(self) -> None:
        for job in self._live_services():
            spec = deepcopy(job.spec)
            spec["groups"][0]["command"] = [f"v{self.rng.integers(3)}"]
            rules = {
                "max_unavailable": 2,
                "min_ready_s": 0.0,
                "deadline_s": 5.0,
                "max_failures": int(self.rng.integers(3)),
            }
            revision = (job.services or {}).get("revision", 1)
            asked = {"revision": revision, "spec": spec, "size": 1, "rules": rules, "by": "somebody", "back": None}
            with suppress(Refused):  # another one is on its way
                services.update(self.cluster.actor, job, asked)

    def _live_services(self) -> list[Job]:
        return list(Job.objects.filter(pk__in=self.services, state__lt=JobState.KILLING))

    def reap(self) -> None:
        tasks.reap()
        self.cluster.rows("UPDATE statestore_lease SET silent_since = silent_since - interval '5 s' RETURNING 1")
        tasks.reap()

    def round(self, at: int, *lost: int) -> None:
        leader = self.f.leaders[at]
        if leader is None:
            return
        try:
            if lost:
                leader.round(*lost)
            self.f.one_round(at)
            leader.store.renew()  # as a leader's loop does: a round that changes nothing renews no lease
        except Outdated:
            leader.close()
            self.f.lead(at)

    def nodes(self) -> None:
        """Something runs to its end somewhere, and all nodes look at what they should do."""
        for at, cluster in enumerate(self.f.clusters):
            ids = {cid for cid, state in cluster.nodes.all_held().items() if state == 2 and self.rng.random() < 0.3}
            kind = ContainerState.FAILED if self.rng.random() < 0.2 else ContainerState.SUCCEEDED
            cluster.nodes.finish(kind, ids)
            if self.f.leaders[at] is not None or self.rng.random() < 0.5:
                cluster.nodes.step()

    def step(self) -> None:
        rare = [self.kill, self.policy, self.take_over, self.wake_up, self.fall_silent, self.reap, self.come_back]
        rare += [self.lose_node, self.drain, self.scale, self.restart, self.update]
        if self.rng.random() < 0.35:
            self.submit()
        if self.rng.random() < 0.4:
            chosen = rare[self.rng.integers(len(rare))]
            self.told.append(chosen.__name__)
            chosen()
        self.nodes()
        for at in self.rng.permutation(3)[: self.rng.integers(1, 4)].tolist():
            self.round(at)

    def calm(self) -> None:
        """The faults are over: everything that was submitted ends."""
        self.wake_up()
        self.come_back()
        for job in self.services:
            if self.cluster.job(job).state < JobState.SUCCEEDED:
                self.cluster.kill(job)
        try:  # by the clock, not by turns: a task that failed often pauses for seconds before it starts again
            wait_until(self.calm_turn, 60, "every job has ended", every_s=0.0)
        except RanOut:
            raise AssertionError(self.cluster.rows(UNFINISHED)) from None

    def calm_turn(self) -> bool:
        """Whatever runs ends well; whether every job has ended."""
        tasks.reap()
        for row in SubCluster.objects.filter(state="draining"):
            subclusters.resume(SYSTEM, row)
        for cluster in self.f.clusters:
            cluster.nodes.finish()
            cluster.nodes.step()
        for at in range(3):
            self.round(at)
        return not self.cluster.rows(UNFINISHED)

    def check(self) -> None:
        assert not invariants.violations(self.cluster.rows)
        assert not {rule: bad for rule, sql in FORBIDDEN.items() if (bad := self.cluster.rows(sql))}
        for cluster, leader in zip(self.f.clusters, self.f.leaders, strict=True):
            on_its_way = self.cluster.one(f"SELECT count(*) FROM statestore_report WHERE home_id = {cluster.sub.pk}")
            moved = "SELECT count(*) FROM statestore_intent WHERE kind = 'adopt' AND sub_cluster_id = "
            if leader is not None and not on_its_way and not self.cluster.one(f"{moved}{cluster.sub.pk}"):
                rebuilt = leader.rebuilt()
                kept, anew = memory_state(leader.memory), memory_state(rebuilt)
                assert (kept["nodes"], kept["queues"]) == (anew["nodes"], anew["queues"])
                for job in leader.memory.jobs.values():
                    if not job.home:  # of guests the rows may say more than was read
                        assert told(job) == told(rebuilt.jobs[job.id])


def told(job: JobEntry) -> tuple[Any, ...]:
    """What a home's memory says of a job; tasks that came back untouched are as good as those never handed over."""
    run = job.run
    if run.stopping:
        return run.state, run.live, run.verdict
    groups = [
        (
            g.run.state, g.run.running, g.run.succeeded, g.run.failed, g.run.retried,
            [np.trim_zeros(x, "b").tolist() for x in (g.run.launches, g.run.task_state, g.run.remote)],
            {*g.run.to_retry, *(p.index for p in g.run.backing_off), *range(g.run.next_fresh, g.run.count)},
        )
        for g in job.groups
    ]  # fmt: skip
    return run.state, run.live, groups, job.services()


@pytest.mark.parametrize("seed", seeds.some(6, 200))
def test_whatever_happens_every_task_is_in_one_place(cluster: Cluster, settings: LazySettings, seed: int) -> None:
    settings.HYDRA = settings.HYDRA | {"heartbeat_s": 0.02}
    life = Life(cluster, seed)
    for number in range(STEPS):
        try:
            life.step()
            if number % 3 == 0:
                life.check()
        except BaseException:
            print(f"step {number} after", *life.told)
            raise
    life.calm()
    life.check()
    assert not cluster.rows("SELECT * FROM statestore_ask") and not cluster.rows("SELECT * FROM statestore_report")
    done = Counter(
        cluster.rows("SELECT job_id, group_no, task_index FROM statestore_container_history WHERE state = 10")
    )
    for job in life.jobs:
        if cluster.job(job).state == JobState.SUCCEEDED:
            for group in cluster.job(job).groups.all():
                assert all(done[job, group.no, index] == 1 for index in range(group.count))
