"""What a new leader's rebuild costs follows what is stored and has run, not what is asked for."""

import tracemalloc
from typing import Any

from tests.doubles import MemoryCluster
from tests.playing import ONE_GIB, finish, ready, turn
from wire import template

JOBS = 30


def rebuild_bytes(cluster: MemoryCluster, leader: Any) -> int:
    """The most memory that a rebuild takes at once."""
    leader.rebuilt()  # what is made once and kept is there
    tracemalloc.start()
    try:
        leader.rebuilt()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def led(*groups: dict[str, Any], jobs: int = JOBS, **job: Any) -> tuple[MemoryCluster, Any]:
    """A sub-cluster some of whose jobs run, and some of whose tasks have ended."""
    cluster = MemoryCluster()
    leader = ready(cluster)
    numbers = [cluster.submit(*groups, **job) for _ in range(jobs)]
    turn(cluster, leader, 2)
    finish(cluster, leader, numbers[0], 2)
    turn(cluster, leader)
    assert len(leader.memory.jobs) == jobs and leader.memory.containers.live.any()
    return cluster, leader


def test_tasks_that_never_started_cost_a_new_leader_nothing() -> None:
    few, many = (rebuild_bytes(*led(ONE_GIB | {"count": count})) for count in (100, 1_000_000))
    assert many < few + (1 << 20), f"{many >> 10} KiB for a million tasks each, {few >> 10} KiB for a hundred"


def test_files_of_a_job_cost_a_new_leader_once_however_many_groups_have_them() -> None:
    files = [{"path": f"lib/{i}", "digest": f"{i:064x}", "size": 1} for i in range(1000)]
    groups = [ONE_GIB | {"name": f"g{i}", "count": 3} for i in range(64)]
    plain, one, many = (
        rebuild_bytes(*led(*parts, jobs=3, files=brought))
        for parts, brought in ((groups, []), (groups[:1], files), (groups, files))
    )
    assert many < plain + one, f"{many >> 10} KiB; {plain >> 10} KiB without files, {one >> 10} KiB with one group"


def test_a_container_has_the_files_of_its_job_and_of_its_group() -> None:
    files = [{"path": name, "digest": name * 64, "size": 1} for name in "ab"]
    groups = [ONE_GIB | {"name": "one", "count": 3, "files": files[1:]}, ONE_GIB | {"name": "two", "count": 3}]
    cluster, _ = led(*groups, jobs=1, files=files[:1])
    read = [template.decode(body, digest) for digest, body in cluster.redis[cluster.sub.id].templates.items()]
    assert {each.group: [file.path for file in each.files] for each in read} == {"one": ["a", "b"], "two": ["a"]}
