"""What an RM shows of its sub-cluster, from the leader through Redis to those who read it."""

import json
from dataclasses import replace

import pytest

from wire.resources import NOTHING
from wire.summary import Observed, QueueUse, Summary, SummaryError, decode, encode

MORE = NOTHING[3:]
PLAIN = Summary(
    at=1.5, epoch=3, leader="worker-1", policy_version=7, frozen=False, live=2, allocated=(512, 1000, 1, *MORE),
    used_memory_mib=300, used_cpu_milli=20, pending_containers=1, pending=(256, 500, 0, *MORE),
    queues={"root": QueueUse((512, 1000, 1, *MORE), 0), "root.a": QueueUse(NOTHING, 1)},
)  # fmt: skip


@pytest.mark.parametrize("shown", [PLAIN, replace(PLAIN, observed=Observed(4, 9), rounds=8, placed_per_s=0.5)])
def test_what_is_written_is_read(shown: Summary) -> None:
    assert decode(encode(shown)) == shown


def changed(**fields: object) -> bytes:
    return json.dumps(json.loads(encode(PLAIN)) | fields).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"", b"null", b"[]", b"{}", b"\xff", b"17",
        changed(version=2), changed(more=1), changed(at="now"), changed(live=1.5), changed(live=True),
        changed(allocated=[1, 2]), changed(allocated=None), changed(pending=[1, 2, "3", *MORE]), changed(queues=[]),
        changed(queues={"root": [*NOTHING]}), changed(queues={"root": [*NOTHING, None]}), changed(observed=[1]),
        changed(round_ms=None), encode(PLAIN)[:-1],
    ],
)  # fmt: skip
def test_anything_else_is_refused(data: bytes) -> None:
    with pytest.raises(SummaryError):
        decode(data)
