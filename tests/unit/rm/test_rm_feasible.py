"""Jobs whose home could never hold them: their tasks go elsewhere at once, or they get another home."""

from typing import Any

import pytest

from controlplane.rm.driver.load import own_load
from controlplane.rm.steps import rehoming
from tests.amounts import amounts
from tests.doubles import MemoryCluster
from tests.unit.rm.test_rm_revisions import update
from wire.resources import AXES
from wire.states import JobState

SMALL = {"memory_mib": 256, "vcores_milli": 500}
LARGE = {"memory_mib": 10_000, "vcores_milli": 500}
GANG = {"gang": True}
# Of west, where all of these are at home, no node can hold any.
OF_EAST: dict[str, dict[str, Any]] = {
    "a node": {"locality": {"nodes": ["east1"], "relax": False}},
    "a node as a label": {"node_labels": "node == east1"},
    "a rack": {"locality": {"racks": ["r2"], "relax": False}},
    "a label": {"node_labels": "disk == ssd"},
    "an expression that both have a part of": {"node_labels": "zone in (a, b) && disk == ssd"},
    "a container too large for any node": {"resources": LARGE},
    "a container that only all nodes together could hold": {"resources": {"memory_mib": 6000, "vcores_milli": 500}},
    "too many cores": {"resources": {"memory_mib": 256, "vcores_milli": 6000}},
    "a GPU": {"resources": SMALL | {"gpus": 1}},
    "a gang larger than all of west": GANG | {"count": 12, "resources": {"memory_mib": 2000, "vcores_milli": 1000}},
    "a gang of containers too large": GANG | {"count": 2, "resources": {"memory_mib": 7000, "vcores_milli": 100}},
    "a gang that breaks apart": GANG | {"count": 3, "resources": {"memory_mib": 2500, "vcores_milli": 100}},
    "a gang with a label": {"count": 3, "gang": True, "node_labels": "zone == b"},
}  # fmt: skip


class Federation:
    """West has two small nodes, east two large ones with disks and GPUs; each its leader."""

    def __init__(self, east: bool = True, **components: Any):
        self.west = MemoryCluster()
        for name in ("n0", "n1"):
            self.west.add_node(name, rack="r1", gpus=0, labels={"zone": "a", "disk": "hdd"})
        self.east = MemoryCluster(self.west, "east")
        for name in ("east0", "east1"):
            self.large(name) if east else self.east.add_node(name, rack="r2", gpus=0, labels={})
        self.west.policy({"default": {"guaranteed": 1.0, "open_to_all": True}}, **components)
        self.leaders = {cluster: cluster.lead() for cluster in (self.west, self.east)}
        self.rounds(2)

    def large(self, name: str) -> None:
        labels = {"zone": "b", "disk": "ssd"}
        self.east.add_node(name, rack="r2", memory_mib=16384, vcores_milli=8000, gpus=2, labels=labels)

    def rounds(self, n: int = 1, each_s: float = 0.5) -> None:
        for _ in range(n):
            for cluster, leader in self.leaders.items():
                leader.clock.ahead_s += each_s / len(self.leaders)
                cluster.nodes.step()
                leader.round()
                leader.store.put_load(own_load(leader.memory, cluster.sub.id))

    def submit(self, **group: Any) -> int:
        return self.west.submit({"resources": SMALL} | group)

    def live(self, job: int) -> list[int]:
        return [len(cluster.live(job)) for cluster in self.leaders]

    def home(self, job: int) -> int:
        return int(self.west.rows.jobs[job]["home_id"])


def home_only() -> Federation:
    return Federation(amrmproxy={"policy": "home"})


@pytest.mark.parametrize("what", OF_EAST)
@pytest.mark.parametrize("proxy", ["home", "locality"])
def test_what_home_could_never_hold_starts_elsewhere_before_anybody_waited_long(proxy: str, what: str) -> None:
    f = Federation(amrmproxy={"policy": proxy})
    job = f.submit(**OF_EAST[what])
    f.rounds(8)
    assert f.live(job) == [0, OF_EAST[what].get("count", 1)]
    f.east.nodes.finish()
    f.rounds(3)
    assert f.west.state(job) == JobState.SUCCEEDED
    assert f.home(job) == f.west.sub.id or "east is its home now" in f.west.events(job, "rehomed")[0]


@pytest.mark.parametrize("what", OF_EAST)
def test_a_job_whose_only_nodes_come_later_moves_then(what: str) -> None:
    f = Federation(east=False, amrmproxy={"policy": "home"})
    job = f.submit(**OF_EAST[what])
    if what not in ("a node", "a node as a label", "a rack"):  # those are there from the start
        f.rounds(8)
        assert (f.live(job), f.home(job)) == ([0, 0], f.west.sub.id)
    for name in ("east0", "east1"):
        f.large(name)
    f.rounds(20)
    assert f.live(job) == [0, OF_EAST[what].get("count", 1)]


def test_a_job_that_home_could_hold_stays_however_long_it_waits() -> None:
    f = home_only()
    busy = f.submit(count=2, resources={"memory_mib": 4096, "vcores_milli": 500})
    job = f.submit(count=2, gang=True, resources={"memory_mib": 2048, "vcores_milli": 500})
    f.rounds(20)
    assert (f.live(busy), f.live(job), f.home(job)) == ([2, 0], [0, 0], f.west.sub.id)


def test_what_has_begun_does_not_move() -> None:
    """Of two groups one runs at home; the other waits there, as its queue wants it."""
    f = home_only()
    first = {"name": "first", "resources": SMALL}
    job = f.west.submit(first, {"name": "second", "resources": SMALL | {"gpus": 1}})
    f.rounds(12)
    assert (f.live(job), f.home(job)) == ([1, 0], f.west.sub.id)


def test_gangs_that_only_each_others_homes_could_hold_do_not_keep_one_another_waiting() -> None:
    """What waits at home in vain is no demand that others would have to wait for. Both have begun, so none moves."""
    f = home_only()
    first = {"name": "first", "resources": SMALL}
    second = GANG | {"name": "second", "resources": {"memory_mib": 256, "vcores_milli": 1000}}
    one = f.west.submit(first, second | {"count": 8, "node_labels": "zone == b"})
    two = f.east.submit(first | {"count": 4}, second | {"count": 7, "node_labels": "zone == a"})
    f.rounds(4)
    assert (f.live(one), f.live(two)) == ([1, 0], [0, 4])
    f.west.policy({"default": {"guaranteed": 1.0, "open_to_all": True}})
    f.rounds(12)
    assert (f.live(one), f.live(two)) == ([1, 8], [7, 4])


def test_it_counts_where_its_limits_are_and_nobody_is_admitted_for_it_twice() -> None:
    f = Federation(amrmproxy={"policy": "home"})
    queues = {"default": {"guaranteed": 1.0, "open_to_all": True, "max_running_jobs": 1}}
    f.west.policy(queues, amrmproxy={"policy": "home"})
    f.rounds(2)
    jobs = [f.submit(node_labels="zone == b") for _ in range(3)]
    f.rounds(20)
    assert [f.home(job) for job in jobs] == [f.east.sub.id] * 3
    assert sum(f.live(job)[1] for job in jobs) == 1
    for _ in range(3):
        f.east.nodes.finish()
        f.rounds(6)
    assert [f.west.state(job) for job in jobs] == [JobState.SUCCEEDED] * 3


def test_a_kill_that_was_meant_for_the_old_home_follows_it() -> None:
    f = home_only()
    job = f.submit(node_labels="zone == c")
    f.rounds(8)
    f.east.add_node("east9", labels={"zone": "c"}, memory_mib=64)  # too small still: nothing starts
    assert f.home(job) == f.west.sub.id
    f.east.add_node("east9", labels={"zone": "c"})
    f.rounds(8)
    assert f.home(job) == f.east.sub.id
    f.west.rows.add_intent(f.west.sub.id, "kill", job, message="stop")
    f.rounds(6)
    assert f.west.state(job) == JobState.KILLED


def test_what_waits_where_alone_it_can_run_is_not_asked_back_for_a_home_that_has_room() -> None:
    f = Federation(amrmproxy={"policy": "locality", "parameters": {"relax_after_s": 1.0}})
    hog = f.east.submit({"count": 2, "resources": {"memory_mib": 16384, "vcores_milli": 8000}})
    f.rounds(4)
    assert f.live(hog) == [0, 2]
    job = f.submit(node_labels="disk == ssd")
    f.rounds(6)
    for _ in range(3):
        f.rounds(7)
        assert f.live(job) == [0, 0]
    f.east.nodes.finish()
    f.rounds(4)
    assert f.live(job) == [0, 1]


def test_a_service_that_asks_for_less_is_known_to_find_room_here_and_is_demand_again() -> None:
    f = home_only()
    job = f.west.submit({"name": "web", "resources": {"memory_mib": 1 << 20, "vcores_milli": 500}}, kind="service")
    f.rounds(12)
    west = f.leaders[f.west]
    assert list(west.memory.unheld) == [(job, 0)]
    assert own_load(west.memory, f.west.sub.id).demand.tolist() == [0] * len(AXES)
    update(f.west, job, 1, resources=SMALL | {"gpus": 0})
    f.rounds(12)
    assert f.live(job) == [1, 0]
    assert not west.memory.unheld
    assert own_load(west.memory, f.west.sub.id).demand.tolist() == [*amounts(256, 500)]


def reason(f: Federation, job: int) -> dict[str, Any]:
    found: dict[str, Any] = f.west.group(job).reason
    return found


def test_no_node_of_any_sub_cluster_is_said_only_where_it_is_true() -> None:
    f = Federation(amrmproxy={"policy": "home"})
    never = f.submit(node_labels="disk == tape")
    f.rounds(14)
    text = "It does not start by waiting: no node of any sub-cluster can hold it."
    assert reason(f, never)["estimate"]["text"] == text
    first = {"resources": SMALL, "name": "first"}
    begun = f.west.submit(first, {"name": "second", "resources": SMALL | {"gpus": 1}, "after": ["first"]})
    f.rounds(3)
    assert f.home(begun) == f.west.sub.id, "it has begun"
    f.west.nodes.finish()
    f.rounds(20)
    waits = f.west.group(begun, 1).reason
    assert waits["text"] == "Asked 1 GPU per container; the largest node has 0. east could hold it."
    assert waits["estimate"]["text"] == "It starts once east has room for it, where its queue may use that."


def test_all_of_an_expression_may_have_to_go() -> None:
    """No one term of it is to blame: without either, the other still finds nothing."""
    cluster = MemoryCluster()
    leader = cluster.lead()
    job = cluster.submit({"resources": SMALL, "node_labels": "ssd && zone in (a, b)"})
    for _ in range(4):
        leader.clock.ahead_s += 1.0
        cluster.nodes.step()
        leader.round()
    change = cluster.group(job).reason["change"]
    assert (change["what"], change["text"], change["starts"]) == ("nodes", "Drop all of node_labels.", True)


def test_a_users_limit_is_told_for_all_sub_clusters_and_raised_by_so_much_the_job_starts() -> None:
    """West has 8 of 24 cores, so a user's eighth of the queue is 1 core there and 3 in all."""
    f = Federation()

    def policy(share: float) -> None:
        queue = {"guaranteed": 1.0, "open_to_all": True, "user_maximum": share}
        f.west.policy({"default": queue}, amrmproxy={"policy": "home"})
        f.rounds(4)

    policy(1 / 8)
    core = {"memory_mib": 16, "vcores_milli": 1000}
    jobs = [f.submit(resources=core), f.submit(resources=core)]
    f.rounds(10)
    assert [f.live(job) for job in jobs] == [[1, 0], [0, 0]]
    change = reason(f, jobs[1])["change"]
    (one,) = change["raise"]
    assert one == {"of": "what one user may hold in root.default", "by": {"vcores_milli": 3000}}
    why = "at least in all sub-clusters together, because a limit is divided over them."
    assert change["text"].endswith(f" by 3 cores (1 core here) {why}")
    policy((3000 + 2900) / 24_000)
    assert f.live(jobs[1]) == [0, 0]
    policy((3000 + 3000) / 24_000)
    assert f.live(jobs[1]) == [1, 0]


def test_a_queues_limit_is_raised_by_what_it_holds_beyond_it_too() -> None:
    """West has a third of all cores. The queue holds 2 there and may hold 0.5: 2.5 more here are 7.5 in all."""
    f = Federation()

    def policy(cores: float) -> None:
        queue = {"guaranteed": 0.0, "open_to_all": True, "maximum": {"vcores_milli": round(cores * 1000)}}
        f.west.policy({"default": queue}, amrmproxy={"policy": "home"})
        f.rounds(4)

    policy(24)
    core = {"memory_mib": 16, "vcores_milli": 1000}
    jobs = [f.submit(resources=core) for _ in range(2)]
    f.rounds(10)
    assert [f.live(job) for job in jobs] == [[1, 0], [1, 0]]
    policy(1.5)
    waits = f.submit(resources=core)
    f.rounds(10)
    change = reason(f, waits)["change"]
    (one,) = change["raise"]
    more = one["by"]["vcores_milli"]
    assert 7500 <= more <= 7503 and "(2.5 cores here) at least" in change["text"]
    policy((1500 + more - 10) / 1000)
    assert f.live(waits) == [0, 0]
    policy((1500 + more) / 1000)
    assert f.live(waits) == [1, 0]


def test_many_jobs_are_looked_at_a_few_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehoming, "JUDGED", 2)
    f = home_only()
    fine, jobs = [f.submit() for _ in range(4)], [f.submit(node_labels="zone == b") for _ in range(5)]
    f.rounds(40)
    assert [f.home(job) for job in jobs] == [f.east.sub.id] * 5
    assert [f.home(job) for job in fine] == [f.west.sub.id] * 4
