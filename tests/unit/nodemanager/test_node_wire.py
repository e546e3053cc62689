"""Statuses, documents and leases: what is whole is read back, what is not is refused by name."""

import dataclasses
import hashlib
import json
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from wire import desired, policy, status, template
from wire.ids import container_id, format_container, parse_container
from wire.resources import DIVISIBLE
from wire.states import ContainerState, Want

u16, u32 = st.integers(0, 2**16 - 1), st.integers(0, 2**32 - 1)
u64, i64 = st.integers(0, 2**64 - 1), st.integers(-(2**63), 2**63 - 1)
KEYS = {1: b"a" * 32, 2: b"b" * 32}

reports = st.builds(
    status.ContainerReport,
    container_id=i64,
    state=st.sampled_from([int(s) for s in ContainerState]),
    reason=u16,
    exit_code=st.integers(-(2**31), 2**31 - 1),
    ran_ms=u32,
    memory_mib=u32,
    cpu_ms=u32,
)
statuses = st.builds(
    status.NodeStatus,
    node_id=u32,
    seq=u64,
    epoch=u32,
    generation=u32,
    policy_version=u32,
    health=u16,
    disk_free_mib=u32,
    cpu_milli=u32,
    memory_mib=u32,
    containers=st.lists(reports, max_size=5),
)
leases = st.builds(
    desired.Lease,
    container_id=i64,
    node_id=st.just(7),
    job_id=i64,
    group_no=u16,
    attempt=u16,
    task_index=u32,
    epoch=u32,
    expires_at=u64,
    **dict.fromkeys(DIVISIBLE, u32),
    gpus=u64,
    tenant=u32,
    timeout_s=u32,
    key_id=st.just(1),
    template=st.binary(min_size=32, max_size=32),
)


@st.composite
def documents(draw: st.DrawFn) -> desired.Desired:
    held = {lease.container_id: lease for lease in draw(st.lists(leases, max_size=3))}
    entries = draw(st.dictionaries(i64, st.sampled_from([int(w) for w in Want]), max_size=4))
    return desired.Desired(b"rm", draw(u32), 7, draw(u32), draw(u32), draw(u32), entries, held)


@given(statuses)
def test_a_status_survives_the_wire(value: status.NodeStatus) -> None:
    assert status.decode(status.encode(value)) == value


@given(statuses, st.data())
def test_a_status_with_any_bit_flipped_is_refused(value: status.NodeStatus, data: st.DataObject) -> None:
    raw = bytearray(status.encode(value))
    at = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[at // 8] ^= 1 << at % 8
    with pytest.raises(status.StatusError):
        status.decode(bytes(raw))


@given(st.binary(max_size=400))
def test_garbage_is_never_a_status(raw: bytes) -> None:
    with pytest.raises(status.StatusError):
        status.decode(raw)


@given(statuses, st.integers(0, 300))
def test_a_cut_status_is_refused(value: status.NodeStatus, length: int) -> None:
    raw = status.encode(value)
    if length < len(raw):
        with pytest.raises(status.StatusError):
            status.decode(raw[:length])


@pytest.mark.parametrize("size", [0, 63, status.MAX_BYTES + 32, 10 << 20])
def test_a_status_of_a_wrong_size_is_refused(size: int) -> None:
    with pytest.raises(status.StatusError):
        status.decode(b"HS" + bytes(max(0, size - 2)))


@pytest.mark.parametrize("version", [0, 2, 65_535])
def test_an_unknown_version_is_refused_even_with_a_good_checksum(version: int) -> None:
    raw = bytearray(status.encode(status.NodeStatus(1, 1)))
    struct.pack_into("<H", raw, 2, version)
    raw[44:48] = bytes(4)
    struct.pack_into("<I", raw, 44, zlib.crc32(raw))
    with pytest.raises(status.StatusError, match="version"):
        status.decode(bytes(raw))


def test_measures_beyond_their_field_are_clamped_and_too_many_containers_raise() -> None:
    huge = status.ContainerReport(1, 2, ran_ms=2**63, memory_mib=-5, cpu_ms=2**40)
    read = status.decode(status.encode(status.NodeStatus(1, 1, containers=[huge]))).containers[0]
    assert (read.ran_ms, read.memory_mib, read.cpu_ms) == (2**32 - 1, 0, 2**32 - 1)
    with pytest.raises(status.StatusError):
        status.encode(status.NodeStatus(1, 1, containers=[huge] * (status.MAX_ENTRIES + 1)))


@given(documents())
def test_a_document_survives_the_wire(doc: desired.Desired) -> None:
    assert desired.decode(desired.encode(doc, 1, KEYS[1]), 7, KEYS) == doc


@given(documents(), st.data())
@examples(300)
def test_a_document_with_any_bit_flipped_is_refused(doc: desired.Desired, data: st.DataObject) -> None:
    raw = bytearray(desired.encode(doc, 1, KEYS[1]))
    at = data.draw(st.integers(0, len(raw) * 8 - 1))
    raw[at // 8] ^= 1 << at % 8
    with pytest.raises(desired.DesiredError):
        desired.decode(bytes(raw), 7, KEYS)


@given(st.binary(max_size=400))
def test_garbage_is_never_a_document(raw: bytes) -> None:
    with pytest.raises(desired.DesiredError):
        desired.decode(raw, 7, KEYS)


@given(documents())
def test_a_document_for_another_node_or_under_another_key_is_refused(doc: desired.Desired) -> None:
    raw = desired.encode(doc, 1, KEYS[1])
    for node, known in ((8, KEYS), (7, {1: b"c" * 32}), (7, {2: KEYS[2]}), (7, {})):
        with pytest.raises(desired.DesiredError):
            desired.decode(raw, node, known)


def lease(**changes: object) -> desired.Lease:
    values = dict.fromkeys(desired.Lease.__dataclass_fields__, 1) | {"node_id": 7, "template": bytes(32)}
    return desired.Lease(**(values | changes))  # type: ignore[arg-type]


def around(raw_lease: bytes, key_id: int = 1) -> bytes:
    """A well-signed document that carries this lease: what a forger inside Redis could not even make."""
    return desired.encode_signed(1, 7, 1, 1, 1, key_id, desired.Key(KEYS[key_id]), desired.ENTRY.pack(1, 1), raw_lease)


@pytest.mark.parametrize(
    "changes",
    [{"vcores_milli": 64_000}, {"memory_mib": 1 << 20}, {"tenant": 2}, {"node_id": 8}, {"expires_at": 2**40}],
)
def test_a_lease_changed_after_signing_is_refused(changes: dict[str, int]) -> None:
    good = desired.encode_lease(lease(vcores_milli=1000), KEYS[1])
    forged = desired.encode_lease(lease(**{"vcores_milli": 1000, **changes}), b"f" * 32)
    spliced = forged[: desired.LEASE.size] + good[desired.LEASE.size :]
    for raw in (forged, spliced):
        with pytest.raises(desired.DesiredError, match="lease"):
            desired.decode(around(raw), 7, KEYS)


def test_a_lease_well_signed_for_another_node_is_refused() -> None:
    with pytest.raises(desired.DesiredError, match="node 8"):
        desired.decode(around(desired.encode_lease(lease(node_id=8), KEYS[1])), 7, KEYS)


def test_current_and_previous_keys_are_both_good_while_keys_roll() -> None:
    for key_id in (1, 2):
        raw = around(desired.encode_lease(lease(key_id=key_id), KEYS[key_id]), key_id)
        assert desired.decode(raw, 7, KEYS).leases[1].key_id == key_id
    with pytest.raises(desired.DesiredError, match="unknown key 2"):
        desired.decode(raw, 7, {1: KEYS[1]})


def test_node_keys_differ_by_node_and_id() -> None:
    made = {desired.node_key(b"m", k, n) for k in (1, 2, 12) for n in (1, 2, 21)}
    assert len(made) == 9


@given(st.integers(1, 2047), st.integers(0, 2**20 - 1), u32)
def test_container_ids_are_read_back(sub: int, epoch: int, counter: int) -> None:
    cid = container_id(sub, epoch, counter)
    assert 0 < cid < 2**63
    assert parse_container(format_container(cid)) == cid


@pytest.mark.parametrize("text", ["", "c-1-2", "c-1-2-3-4", "d-1-2-3", "c-0-1-1", "c-1-1-٣", "c--1-2-3", "c-9999-1-1"])
def test_what_is_not_a_container_id_says_so(text: str) -> None:
    with pytest.raises(ValueError, match="container id"):
        parse_container(text)


def test_templates_are_addressed_by_their_content() -> None:
    value = template.Template("j", "g", 1, "root", "ann", ["true"], files=[template.File("a", "0" * 64, 1)])
    raw = template.encode(value)
    assert template.decode(raw, hashlib.sha256(raw).digest()) == value
    with pytest.raises(ValueError, match="digest"):
        template.decode(raw + b" ", hashlib.sha256(raw).digest())
    assert json.loads(raw)["files"] == [dataclasses.asdict(value.files[0])]


def test_a_policy_version_survives_the_wire_and_nothing_else_is_read() -> None:
    assert policy.decode(policy.encode(3, 2**32 - 1)) == (3, 2**32 - 1)
    assert policy.decode(policy.encode(4, 1)) > policy.decode(policy.encode(3, 9))
    sound = policy.encode(3, 4)
    for data in (b"", sound[:-1], sound + b"x", b"XX" + sound[2:], sound[:2] + b"\x09\x00" + sound[4:]):
        with pytest.raises(policy.PolicyError):
            policy.decode(data)
