"""Statuses that no healthy node sends: refused, counted, and nothing moves."""

import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

from tests.acceptance.cluster import Cluster
from tests.acceptance.ghost import Ghost, ghost
from tests.patience import wait_until
from wire import status
from wire.status import ContainerReport

CRC_AT = 44


def sealed(data: bytes) -> bytes:
    """The same bytes with the checksum a sender would have given them."""
    blank = data[:CRC_AT] + bytes(4) + data[CRC_AT + 4 :]
    return blank[:CRC_AT] + struct.pack("<I", zlib.crc32(blank)) + blank[CRC_AT + 4 :]


def patched(data: bytes, at: int, value: bytes) -> bytes:
    return sealed(data[:at] + value + data[at + len(value) :])


def malformed(node: Ghost) -> list[tuple[str, bytes]]:
    """Name and bytes of statuses that are refused as a whole; each would be newer than the last."""
    true = status.encode(node.status(seq=node.seq + 10**6))
    entry = status.HEADER.size
    assert len(true) > entry, "it reports a container"
    chance = random.Random(18)
    cases = [("nothing", b""), ("one byte", b"H"), ("half", true[: len(true) // 2]), ("10 MB", bytes(10 << 20))]
    cases += [("10 MB of itself", (true * (1 + (10 << 20) // len(true)))[: 10 << 20]), ("text", b'{"seq": NaN}' * 8)]
    cases += [("unknown version", patched(true, 2, b"\xff\xff")), ("other magic", patched(true, 0, b"XX"))]
    cases += [("another node", patched(true, 4, struct.pack("<I", node.node_id + 1)))]
    cases += [("sequence 2^63", patched(true, 8, struct.pack("<Q", 1 << 63)))]
    cases += [("sequence -1", patched(true, 8, b"\xff" * 8)), ("more entries", patched(true, 30, b"\xff\xff"))]
    cases += [
        ("an unknown state", patched(true, entry + 8, b"\x63")),
        ("a state no node says", patched(true, entry + 8, b"\x0d")),
    ]
    cases += [("container 0", patched(true, entry, bytes(8))), ("container -1", patched(true, entry, b"\xff" * 8))]
    cases += [("an unknown reason", patched(true, entry + 10, b"\xff\xff"))]
    for _ in range(40):
        bit = chance.randrange(len(true) * 8)
        flipped = bytearray(true)
        flipped[bit // 8] ^= 1 << bit % 8
        cases.append((f"bit {bit} flipped", bytes(flipped)))
    return cases


def rows(cluster: Cluster) -> list[Any]:
    """Everything a status could change."""
    tables = {
        "statestore_container": "id, node_id, state, epoch, started_at",
        "statestore_container_history": "id, state, exit_code, finished_at",
        "statestore_job": "id, state, message",
        "statestore_taskgroup": "job_id, no, state, running, succeeded, failed, killed",
        "statestore_node": "id, state, health, memory_mib",
        "statestore_lease": "epoch, next_seq",
    }
    return [sorted(cluster.sql(f"SELECT {columns} FROM {table}"), key=repr) for table, columns in tables.items()]


def rejected(cluster: Cluster) -> int:
    shown = cluster.summary()
    return shown.rejected if shown else 0


def running_on(node: Ghost, job: int) -> bool:
    node.beat()
    return bool(node.cluster.sql("SELECT 1 FROM statestore_container WHERE job_id = %s AND state = 2", job))


def test_malformed_statuses_are_counted_and_change_nothing(cluster: Cluster):
    with ghost(cluster, "ghost-a") as node:
        job = cluster.task_job("haunted", "true", node_labels="ghost")
        wait_until(lambda: running_on(node, job.id), 15, "its container runs")
        epoch, before, counted = cluster.leader()[0], rows(cluster), rejected(cluster)
        cases = malformed(node)
        for name, data in cases:
            node.send(data)
            node.beat()  # so that it is not taken for silent
            assert rows(cluster) == before, f"{name} has changed something"
        wait_until(
            lambda: node.beat() and rejected(cluster) >= counted + len(cases), 10, "all of them are counted", 0.5
        )
        assert cluster.leader()[0] == epoch, "no leader fell over any of them"
        finish(node, job.id)
        cluster.settled(job)


def finish(node: Ghost, job: int) -> None:
    """Report the job's containers as ended well until the RM has taken it in."""
    node.taken = dict.fromkeys(node.taken, 10)

    def gone() -> bool:
        node.beat()
        return not node.cluster.sql("SELECT 1 FROM statestore_container WHERE job_id = %s", job)

    wait_until(gone, 10, "the RM takes the end in")


def well_formed(node: Ghost, foreign: int) -> list[tuple[str, Callable[[], bytes]]]:
    """Statuses that can be read, yet say what is not this node's to say. ``foreign``: another node's container."""

    def claiming(*reports: ContainerReport) -> Callable[[], bytes]:
        own = [ContainerReport(cid, state, memory_mib=8) for cid, state in node.taken.items()]
        return lambda: status.encode(node.status(containers=[*own, *reports]))

    return [
        ("an unknown container", claiming(ContainerReport(1 << 62 | 5, 10))),
        ("another node's container has ended", claiming(ContainerReport(foreign, 11, 1, 9))),
        ("the same container in an earlier state", claiming(*(ContainerReport(c, 1) for c in node.taken))),
        ("measures beyond all bounds", lambda: status.encode(node.status(cpu_milli=1 << 40, memory_mib=-5))),
    ]


def test_false_and_replayed_statuses_change_nothing(cluster: Cluster):
    real = cluster.task_job("real", cluster.gate("real") + "exit 0", node_labels="!ghost")
    process = cluster.started(real, 1)[0]
    wait_until(lambda: all(row[4] == 2 for row in cluster.live(real)), 20, "it is known to run")
    with ghost(cluster, "ghost-b") as node:
        early = status.encode(node.status(containers=[]))  # before it holds anything
        job = cluster.task_job("haunted", "true", node_labels="ghost")
        wait_until(lambda: running_on(node, job.id), 15, "its container runs")
        before, counted = rows(cluster), rejected(cluster)
        for name, data in well_formed(node, process.number):
            node.send(data())
            node.beat()
            assert rows(cluster) == before, f"{name} has changed something"
        for _ in range(5):
            node.send(early)  # by this one it would hold nothing
        node.beat()
        assert rows(cluster) == before, "a replayed status has changed something"
        wait_until(lambda: node.beat() and rejected(cluster) >= counted + 5, 10, "the replayed ones are counted", 0.5)
        assert process.alive
        finish(node, job.id)
        cluster.settled(job)
    cluster.open_gate("real")
    cluster.settled(real)
