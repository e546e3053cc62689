"""The inbox takes exactly the statuses the wire format allows, whatever else is thrown at it."""

import struct
import zlib

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from controlplane.rm.codec import inbox
from tests.examples import examples
from wire import status
from wire.states import ContainerReason, ContainerState

NODE = 42
U32 = st.integers(0, 2**32 - 1)
STATES = [int(s) for s in ContainerState if s != ContainerState.LOST]

FIELDS = ("id", "state", "reason", "exit_code", "ran_ms", "memory_mib", "cpu_ms")

reports = st.builds(
    status.ContainerReport,
    container_id=st.integers(1, 2**63 - 1),
    state=st.sampled_from(STATES),
    reason=st.sampled_from([int(r) for r in ContainerReason]),
    exit_code=st.integers(-(2**31), 2**31 - 1),
    ran_ms=U32,
    memory_mib=U32,
    cpu_ms=U32,
)
statuses = st.builds(
    status.NodeStatus,
    node_id=st.just(NODE),
    seq=st.integers(1, 2**63 - 1),
    epoch=U32,
    generation=U32,
    policy_version=U32,
    health=st.integers(0, 0xFFFF),
    disk_free_mib=U32,
    cpu_milli=U32,
    memory_mib=U32,
    containers=st.lists(reports, max_size=6),
)


def read(payload: bytes | None, known: int = 0, node: int = NODE) -> inbox.Inbox:
    return inbox.read([0], [node], np.array([known], np.uint64), [payload])


def sane(payload: bytes) -> status.NodeStatus | None:
    """What the wire format's own reader says, and the few things beyond it that a status must mean."""
    try:
        s = status.decode(payload)
    except status.StatusError:
        return None
    if s.node_id != NODE or s.seq >= 2**63:
        return None
    fine = all(c.container_id > 0 and c.state in STATES and c.reason <= max(ContainerReason) for c in s.containers)
    return s if fine else None


def reseal(data: bytes) -> bytes:
    """The same bytes with the checksum made right, as a hostile node would."""
    blank = data[:44] + b"\0\0\0\0" + data[48:]
    return blank[:44] + struct.pack("<I", zlib.crc32(blank)) + blank[48:]


def agrees(payload: bytes) -> None:
    box, expected = read(payload), sane(payload)
    if expected is None or expected.seq == 0:
        assert len(box.at) == len(box.heads) == len(box.entries) == 0
        assert box.rejected == (expected is None)
        return
    assert (box.rejected, box.at.tolist()) == (0, [0])
    assert box.heads[0].tolist() == [
        expected.seq, expected.epoch, expected.generation, expected.policy_version, expected.health,
        expected.disk_free_mib, expected.cpu_milli, expected.memory_mib, len(expected.containers),
    ]  # fmt: skip
    found = [
        status.ContainerReport(*(e[n].item() for n in FIELDS))
        for e in box.entries
    ]  # fmt: skip
    assert found == expected.containers


@examples(200)
@given(statuses)
def test_it_reads_what_the_wire_format_writes(s: status.NodeStatus) -> None:
    agrees(status.encode(s))


@examples(300)
@given(st.binary(max_size=300))
@example(b"")
@example(b"HS\x01\0")
@example(b"\x7f\xf8" * 64)
def test_arbitrary_bytes_never_raise(payload: bytes) -> None:
    agrees(payload)
    if len(payload) >= 64:
        agrees(reseal(b"HS\x01\x00" + struct.pack("<I", NODE) + payload[8:]))


@examples(300)
@given(statuses, st.data())
def test_flipped_bits_and_cut_or_grown_bytes(s: status.NodeStatus, data: st.DataObject) -> None:
    payload = bytearray(status.encode(s))
    for bit in data.draw(st.lists(st.integers(0, len(payload) * 8 - 1), min_size=1, max_size=4)):
        payload[bit // 8] ^= 1 << bit % 8
    agrees(bytes(payload))
    agrees(reseal(bytes(payload)))  # where the checksum is no help, only what makes sense is taken
    cut = data.draw(st.integers(0, len(payload)))
    agrees(bytes(payload[:cut]))
    agrees(reseal(bytes(payload[: max(48, cut)])) + bytes(data.draw(st.integers(0, 64))))


@given(statuses, st.integers(0, 2**63 - 1))
@examples(100)
def test_a_replay_is_counted_and_not_taken(s: status.NodeStatus, known: int) -> None:
    """The last status is met again at every sweep; an older one has been put back by somebody."""
    box = read(status.encode(s), known)
    assert box.rejected == (s.seq < known)
    assert len(box.at) == (s.seq > known)


def test_another_nodes_status_is_rejected() -> None:
    payload = status.encode(status.NodeStatus(NODE, 9))
    assert read(payload, node=NODE + 1).rejected == 1
    assert read(None).rejected == 0


def test_ten_megabytes_a_sequence_of_two_to_the_63_and_not_a_number() -> None:
    def entry(*numbers: int) -> bytes:
        return reseal(
            status.encode(status.NodeStatus(NODE, 5))[:30] + b"\1\0" + bytes(32) + status.ENTRY.pack(*numbers)
        )

    assert read(bytes(10_000_000)).rejected == 1
    head = status.encode(status.NodeStatus(NODE, 1))
    assert read(reseal(head + bytes(10_000_000))).rejected == 1
    for seq in (2**63, 2**64 - 1):
        assert read(status.encode(status.NodeStatus(NODE, seq))).rejected == 1
    nan = struct.pack("<Q", 0xFFF8 << 48)  # as a float
    assert read(reseal(head[:8] + nan + head[16:])).rejected == 1  # read as an integer it is beyond 2^63
    assert read(entry(7, 2, 0, 0, 0, 0, 0, 0, 0)).rejected == 0
    for wrong in [
        (-1, 2, 0, 0),
        (0, 2, 0, 0),
        (7, 13, 0, 0),
        (7, 3, 0, 0),
        (7, 255, 0, 0),
        (7, 10, 0, max(ContainerReason) + 1),
    ]:
        assert read(entry(*wrong, 0, 0, 0, 0, 0)).rejected == 1, wrong


def test_the_largest_status_is_read_and_one_more_entry_is_not() -> None:
    many = [status.ContainerReport(i + 1, 2) for i in range(status.MAX_ENTRIES)]
    payload = status.encode(status.NodeStatus(NODE, 1, containers=many))
    assert len(read(payload).entries) == status.MAX_ENTRIES
    more = payload[:30] + struct.pack("<H", status.MAX_ENTRIES + 1) + payload[32:] + payload[-32:]
    assert read(reseal(more)).rejected == 1


def test_one_bad_status_among_many_costs_only_itself() -> None:
    good = [status.encode(status.NodeStatus(n, 3, containers=[status.ContainerReport(n, 2)])) for n in range(1, 6)]
    good[2] = good[2][:-1] + b"\1"
    box = inbox.read(range(5), range(1, 6), np.zeros(5, np.uint64), [*good[:4], None])
    assert (box.rejected, box.at.tolist()) == (1, [0, 1, 3])
    assert box.owner.tolist() == [0, 1, 3]
    assert box.entries["id"].tolist() == [1, 2, 4]
