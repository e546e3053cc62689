"""What an application master needs at once: gangs that it asks for, and the parallelism that its job declares."""

from django.conf import LazySettings

from controlplane.rm.memory.quota import demand
from controlplane.statestore.actions import masters as actions
from controlplane.statestore.models import MasterAsk, TaskGroup
from tests.integration.rm.cluster import Cluster
from tests.integration.rm.federation import FAST, OPEN, SECOND, Federation, another, begun, leading, written
from tests.integration.rm.test_rm_masters import ask, events, launch, live, running, submit
from tests.stepped import memory_state
from wire.states import JobState

WHOLE = {"memory_mib": 1024, "vcores_milli": 1000}  # beside the master there is room for seven: four and three


def test_a_gang_is_granted_whole_or_not_at_all(cluster: Cluster) -> None:
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "ring", 8, resources=WHOLE, gang=True)
    for _ in range(3):
        leader.round()
    assert not live(job) and not events(job, "granted")
    reason = TaskGroup.objects.get(job_id=job, no=1).reason
    assert reason["waiting"] == 8 and "at once" in reason["text"]
    ask(job, "ring", 7, resources=WHOLE, gang=True)
    leader.round()
    assert len(live(job)) == 7 and [e["granted"] for e in events(job, "granted")] == list(range(1, 8))
    launch(job, *live(job))
    actions.allocate(job, [], live(job)[:1])
    ask(job, "ring", 9, resources=WHOLE, gang=True)
    leader.round()
    cluster.nodes.step()
    leader.round()
    assert len(live(job)) == 6, "of the two that are missing none, though there is room for one"
    ask(job, "ring", 8, resources=WHOLE, gang=True)
    leader.round()
    assert len(live(job)) == 7, "what is missing is a gang"


def test_a_gang_that_a_master_asked_for_is_no_admission_of_its_job(cluster: Cluster) -> None:
    cluster.policy({"default": {"guaranteed": 1.0, "open_to_all": True}}, None, admission={"policy": "gac"})
    leader = cluster.lead()
    job = running(cluster, leader)
    ask(job, "ring", 7, resources=WHOLE, gang=True)
    leader.round()
    again = leader.rebuilt()
    assert memory_state(again) == memory_state(leader.memory)
    for memory in (again, leader.memory):
        assert not memory.admission_queue.gangs.any() and not any(memory.admission_queue.own.values())
        assert memory.jobs[job].groups[1].constraints.gang and not memory.jobs[job].gang


def test_a_gang_goes_to_one_sub_cluster_whole(cluster: Cluster, settings: LazySettings) -> None:
    settings.HYDRA = settings.HYDRA | {"heartbeat_s": 0.1, "lease_s": 60.0}
    f = Federation(cluster, pace_s=0.3)
    proxy = {"policy": "locality", "parameters": FAST}
    cluster.policy({"default": {"guaranteed": 1.0} | OPEN}, amrmproxy=proxy)
    f.rounds()
    job = submit(cluster)
    f.rounds(2)
    ask(job, "ring", 16, resources={"memory_mib": 512, "vcores_milli": 500}, gang=True)  # 15 fit at home
    f.rounds(8)
    west, *others = f.live()
    assert west == 1 and sorted(others) == [0, 16]
    assert len(events(job, "granted")) == 16 and MasterAsk.objects.get().spec["gang"]
    assert cluster.job(job).state == JobState.RUNNING


GAC = {"admission": {"policy": "gac"}, "amrmproxy": {"policy": "home"}}
MASTER = {"memory_mib": 256, "vcores_milli": 100}
GIB = {"resources": {"memory_mib": 1024, "vcores_milli": 100}}


def test_a_job_with_its_own_master_waits_for_what_it_declares(cluster: Cluster) -> None:
    other = another(cluster)
    cluster.policy({name: {"guaranteed": 0.5, **OPEN} for name in ("a", "b")}, None, **GAC)  # 8 GiB each
    west, east = leading(cluster), leading(other)
    declared = {"resources": MASTER, "parallelism": 4, "container": GIB}
    first = submit(cluster, "root.a", **declared)
    west.round()
    second = submit(other, "root.a", **declared)
    plain = submit(other, "root.a", resources=MASTER)
    east.round()
    assert begun(cluster, first, second, plain) == [True, False, True], "what declares nothing is not kept"
    told = TaskGroup.objects.get(job_id=second).reason
    assert told["text"] == (
        "It needs 4,352 MiB of memory of the quota of root.a, of which 4,352 of 8,192 MiB of memory are held in all"
        " sub-clusters."
    )
    assert written(cluster)["root.a#", -1, cluster.sub.pk] == 256 + 4 * 1024
    cluster.play(west, first)
    east.clock.ahead_s += SECOND
    east.round()
    assert begun(cluster, second) == [True]
    cluster.kill(second)
    cluster.kill(plain)
    for _ in range(3):
        east.round()
        other.nodes.step()
    assert not {key: n for key, n in written(cluster).items() if n}


def test_a_successor_counts_what_a_master_declared_and_nothing_that_it_asked_for(cluster: Cluster) -> None:
    cluster.policy({name: {"guaranteed": 0.5, **OPEN} for name in ("a", "b")}, None, **GAC)  # 4 GiB each
    leader = leading(cluster)
    job = running(cluster, leader, queue="root.a", resources=MASTER, parallelism=2, container=GIB)
    ask(job, "ring", 3, **GIB, gang=True)
    leader.round()
    waits = submit(cluster, "root.a", resources=MASTER, parallelism=2, container=GIB)
    leader.round()
    assert len(live(job)) == 3 and begun(cluster, waits) == [False]
    cluster.expire()
    successor = leading(cluster)
    assert demand(successor.memory.jobs[job], 3, quota=True).tolist() == [256 + 2 * 1024, 300, 0]
    assert successor.memory.admission_queue.own == leader.memory.admission_queue.own
    assert begun(cluster, waits) == [False]


def test_a_declaration_is_counted_in_the_partition_it_names(cluster: Cluster) -> None:
    cluster.add_node("g0", labels={"gpu": "yes"})
    gpu = {"gpu": {"guaranteed": 0.5}}
    queues = {name: {"guaranteed": 0.5, "partitions": gpu, **OPEN} for name in ("a", "b")}
    cluster.policy(queues, {"gpu": {"nodes": "gpu == yes"}}, **GAC)
    leader = leading(cluster)
    beyond = submit(cluster, "root.a", resources=MASTER, parallelism=3, container=GIB | {"partition": "gpu"})
    fits = submit(cluster, "root.a", resources=MASTER, parallelism=2, container=GIB | {"partition": "gpu"})
    leader.round()
    assert begun(cluster, beyond, fits) == [False, True]
    rows = written(cluster)
    assert (rows["root.a#gpu", -1, cluster.sub.pk], rows["root.a#", -1, cluster.sub.pk]) == (2048, 256)
    text = TaskGroup.objects.get(job_id=beyond).reason["text"]
    assert "3,072 MiB" in text and "2,048 MiB" in text


def test_what_a_master_declared_counts_before_its_home_has_counted(cluster: Cluster) -> None:
    other = another(cluster)
    halves = {name: {"guaranteed": 0.5, **OPEN} for name in ("a", "b")}
    cluster.policy(halves)
    west, east = leading(cluster), leading(other)
    submit(other, "root.a", resources=MASTER, parallelism=6, container=GIB)
    east.round()
    cluster.policy(halves, None, **GAC)  # which east does not know of yet
    west.round()
    job = submit(cluster, "root.a", resources=MASTER, parallelism=2, container=GIB)
    fits = submit(cluster, "root.b", resources=MASTER, parallelism=2, container=GIB)
    for _ in range(2):
        west.round()
    assert begun(cluster, job, fits) == [False, True], "2 + 6 GiB and two masters are more than 8 GiB"
