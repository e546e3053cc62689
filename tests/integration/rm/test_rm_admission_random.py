"""Random lives of several homes that share limits: no step ever admits too many, and nobody is forgotten."""

from collections import Counter
from typing import Any

import numpy as np
import pytest

from controlplane.accounts.models import User
from controlplane.rm.ports import StoreDown
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.models import Job
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import OPEN, SECOND, another, leading, small, written
from wire.states import terminal


class Federation:
    """Several RMs in random steps; after each the limits of all queues and users are counted again from the jobs."""

    def __init__(self, cluster: Cluster, seed: int):
        self.rng = np.random.default_rng(seed)
        self.homes = [cluster, another(cluster, "east"), another(cluster, "north")]
        self.users = [cluster.user, User.objects.create(username="ann")]
        self.leaders: list[Leading | None] = [None] * len(self.homes)
        self.jobs: list[tuple[int, int]] = []
        self.ahead_s = 0.0
        self.policy(3)

    def policy(self, most: int) -> None:
        self.most = most
        leaf = OPEN | {"max_running_jobs": 2, "max_running_jobs_per_user": 2}
        prod = {"max_running_jobs": most, "children": {"a": leaf, "b": OPEN}}
        self.homes[0].policy({"default": OPEN, "prod": prod})
        for at in range(len(self.homes)):  # a new limit holds from the moment all have heard of it
            for _ in range(2):
                self.leader(at).round()

    def submit(self, home: Cluster, queue: str, user: User, priority: int) -> int:
        return small(home, queue, user, priority=priority)

    def leader(self, at: int) -> Leading:
        leader = self.leaders[at] = self.leaders[at] or leading(self.homes[at], self.ahead_s)
        leader.clock.ahead_s = self.ahead_s
        return leader

    def step(self) -> None:
        at = int(self.rng.integers(len(self.homes)))
        home, leader = self.homes[at], self.leaders[at]
        match int(self.rng.integers(10)):
            case 0 | 1 | 2:
                queue = str(self.rng.choice(["root.prod.a", "root.prod.b", "root.default"]))
                user = self.users[int(self.rng.integers(2))]
                self.jobs.append((at, self.submit(home, queue, user, int(self.rng.integers(3)))))
            case 3 if leader is not None:
                leader.close()
                self.leaders[at] = None
            case 4 if leader is not None:
                self._crash(at, leader)
            case 5:
                ids = [i for i in home.nodes.all_held() if self.rng.random() < 0.5]
                home.nodes.finish(ids=set(ids))
            case 6:
                live = [j for h, j in self.jobs if h == at and not terminal(home.job(j).state)]
                if live:
                    home.kill(int(self.rng.choice(live)))
            case _:
                self.ahead_s += float(self.rng.choice([0.0, SECOND]))
                leader = self.leader(at)
                home.nodes.step()
                leader.round()

    def _crash(self, at: int, leader: Leading) -> None:
        """Between claim and commit, if there is anything to claim."""
        home = self.homes[at]

        def commit(*_: Any) -> None:
            raise StoreDown("gone")

        leader.store.commit = commit
        home.nodes.step()
        try:
            leader.round()
        except StoreDown:
            pass
        leader.close()
        self.leaders[at] = None

    def check(self) -> None:
        live = Job.objects.filter(state__in=[1, 2, 3]).values_list("queue", "owner_id")
        assert sum(queue.startswith("root.prod") for queue, _ in live) <= self.most
        assert sum(queue == "root.prod.a" for queue, _ in live) <= 2
        assert max(Counter(owner for queue, owner in live if queue == "root.prod.a").values(), default=0) <= 2

    def settle(self) -> None:
        """Everything ends: nobody is forgotten in a line."""
        for _ in range(60):
            for at, home in enumerate(self.homes):
                self.ahead_s += SECOND
                leader = self.leader(at)
                leader.round()
                home.nodes.step()
                home.nodes.finish()
                home.nodes.step()
            self.check()
            if not Job.objects.filter(state__lt=10).exists():
                return
        raise AssertionError(list(Job.objects.filter(state__lt=10).values_list("id", "queue", "state")))


@pytest.mark.parametrize("seed", range(4))
def test_random_lives_of_three_homes_never_admit_too_many(cluster: Cluster, seed: int) -> None:
    f = Federation(cluster, seed)
    for number in range(70):
        f.step()
        f.check()
        if number == 35:
            f.policy(5)
    f.settle()
    assert written(cluster) == {}


class Gangs(Federation):
    """The same lives where jobs claim quota: so many containers of 64 MiB that are needed at once."""

    def policy(self, most: int) -> None:
        self.most = most
        prod = {"guaranteed": {"memory_mib": 64 * most, "vcores_milli": 24000}, "children": {}}
        prod["children"] = {"a": OPEN | {"guaranteed": 0.5}, "b": OPEN | {"guaranteed": 0.5}}
        self.homes[0].policy({"default": OPEN, "prod": prod}, None, admission={"policy": "gac"})
        for at in range(len(self.homes)):
            for _ in range(2):
                self.leader(at).round()

    def submit(self, home: Cluster, queue: str, user: User, priority: int) -> int:
        home.actor = Actor(user.pk)
        count = int(self.rng.integers(1, 5))
        group = {"count": count, "resources": {"memory_mib": 64, "vcores_milli": 10}}
        how = {"gang": True} if self.rng.random() < 0.5 else {"parallelism": count}
        return home.submit(group | how, queue=queue, priority=priority)

    def check(self) -> None:
        live = Job.objects.filter(state__in=[1, 2, 3]).values_list("queue", "spec")
        held: Counter[str] = Counter()
        for queue, spec in live:
            held[queue] += sum(g["count"] for g in spec["groups"] if g["gang"] or g["parallelism"])
        assert held["root.prod.a"] <= self.most // 2 and held["root.prod.b"] <= self.most // 2


@pytest.mark.parametrize("seed", range(3))
def test_random_lives_of_three_homes_never_claim_more_than_the_quota(cluster: Cluster, seed: int) -> None:
    f = Gangs(cluster, seed)
    f.policy(8)
    for number in range(60):
        f.step()
        f.check()
        if number == 30:
            f.policy(16)
    for _, job in f.jobs:  # those in the default queue have no quota to claim from
        if not terminal(f.homes[0].job(job).state) and f.homes[0].job(job).queue == "root.default":
            f.homes[0].kill(job)
    f.settle()
    assert written(cluster) == {}
