"""Whatever bytes arrive: a format's reader says what they are, or raises the one error that it documents."""

import hashlib
import json
import struct
import zlib
from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.statestore import nodeloads
from controlplane.statestore.actions import logs
from controlplane.statestore.errors import Invalid
from tests import mutations
from tests.examples import examples
from wire import desired, execs, ids, labels, policy, status, streams, summary, template
from wire.resources import AXES

NODE = 7
KEY = b"k" * 32
KEYS = {1: desired.Key(KEY)}
AMOUNTS = tuple(range(1, len(AXES) + 1))
RANDOM = st.builds(Random, st.integers(0, 2**64 - 1))
LEASE = desired.Lease(
    container_id=5, node_id=NODE, job_id=3, group_no=1, attempt=1, task_index=0, epoch=2, expires_at=2**33,
    tenant=9, timeout_s=0, key_id=1, template=b"t" * 32, **(dict.fromkeys(AXES, 64) | {"gpus": 3}),
)  # fmt: skip
DOCUMENT = desired.encode(desired.Desired(b"rm", 1, NODE, 2, 3, 4, {5: 1, 6: 2}, {5: LEASE}), 1, KEY)
STATUS = status.encode(
    status.NodeStatus(NODE, 4, 2, 3, containers=[status.ContainerReport(5, 2), status.ContainerReport(6, 3)])
)
TEMPLATE = template.encode(
    template.Template(
        "job",
        "map",
        3,
        "root.a",
        "ada",
        ["true"],
        env={"A": "b"},
        files=[template.File("a", "0" * 64, 3)],
        inputs=[template.Input("map", "out", "in")],
        outputs=[template.Output("out", "out")],
        ports=[template.Port("http")],
        health_check=template.HealthCheck("http"),
    )
)
SUMMARY = summary.encode(
    summary.Summary(
        1.0,
        2,
        "w",
        3,
        False,
        4,
        AMOUNTS,
        5,
        6,
        7,
        AMOUNTS,
        {"root": summary.QueueUse(AMOUNTS, 4)},
        summary.Observed(1, 2),
    )
)
PIECE = {"container": "c-1-2-3", "stream": "stdout", "offset": 9, "data": "YQ==", "skipped": 1}
PIECES = json.dumps([PIECE, PIECE]).encode()
START = execs.Start("c-1-2-3", ["sh", "-c", "é"], True, 50, 120, "vt100")
END = execs.End(code=3, error="no such file: é")
LABELS = "gpu && !(zone in (a, b)) || rack == r-1 && x != y"


def sealed(found: bytes) -> bytes:
    """A document with the right signature, as whoever had the key would send it."""
    body = found[: -desired.MAC_BYTES]
    return body + desired.mac(KEY, body)


def checked(found: bytes) -> bytes:
    """A status with the right checksum."""
    blank = found[:44] + b"\0\0\0\0" + found[48:]
    return blank[:44] + struct.pack("<I", zlib.crc32(blank)) + blank[48:]


def read_template(found: bytes) -> Any:
    return template.decode(found, hashlib.sha256(found).digest())


READERS: dict[str, tuple[bytes, Callable[[bytes], Any], type[Exception]]] = {
    "document": (DOCUMENT, lambda found: desired.decode(found, NODE, {1: KEY}), desired.DesiredError),
    "signed document": (DOCUMENT, lambda found: desired.verify(sealed(found), NODE, KEYS), desired.DesiredError),
    "wanted": (DOCUMENT, desired.wanted, AssertionError),
    "status": (STATUS, status.decode, status.StatusError),
    "checked status": (STATUS, lambda found: status.decode(checked(found)), status.StatusError),
    "told epoch": (STATUS, lambda found: status.epoch_told(NODE, found), AssertionError),
    "policy version": (policy.encode(3, 4), policy.decode, policy.PolicyError),
    "template": (TEMPLATE, read_template, template.TemplateError),
    "summary": (SUMMARY, summary.decode, summary.SummaryError),
    "log pieces": (PIECES, lambda found: logs.parse(json.loads(found)), Invalid),
    "loads": (b"HNL1" + bytes(12), nodeloads.decode, AssertionError),
    "labels": (LABELS.encode(), lambda found: labels.parse(found.decode(errors="replace")), labels.LabelError),
    "person's frame": (execs.resize(50, 120), lambda found: execs.Windows().from_person(found), execs.ExecError),
    "node's frame": (execs.end(END), lambda found: execs.Windows().from_node(found), execs.ExecError),
    "start": (execs.start(START)[1:], execs.start_of, execs.ExecError),
    "message of a stream": (streams.message(streams.Kind.DATA, 7, b"x"), streams.parse, execs.ExecError),
    "container": (b"c-1-2-3", lambda found: ids.parse_container(found.decode(errors="replace")), ValueError),
}


@pytest.mark.parametrize("what", sorted(READERS.keys() - {"log pieces"}))
@examples(300)
@given(rng=RANDOM)
def test_changed_bytes_are_read_or_refused_by_name(what: str, rng: Random) -> None:
    sound, read, refused = READERS[what]
    try:
        read(mutations.data(rng, sound))
    except refused:
        pass


@pytest.mark.parametrize("what", ["template", "summary", "log pieces"])
@examples(300)
@given(rng=RANDOM)
def test_changed_json_is_read_or_refused_by_name(what: str, rng: Random) -> None:
    sound, read, refused = READERS[what]
    read(sound)
    try:
        found = read(json.dumps(mutations.value(rng, json.loads(sound), rng.randint(1, 3))).encode())
    except refused:
        return
    assert type(found) in (template.Template, summary.Summary, list)


@pytest.mark.parametrize("what", ["template", "summary"])
@pytest.mark.parametrize("text", [b"[" * 100_000, b"[]", b"7", b'""', b"null", b"{}", b"\xff", b"1" * 5000])
def test_what_is_json_of_something_else_is_refused_by_name(what: str, text: bytes) -> None:
    _, read, refused = READERS[what]
    with pytest.raises(refused):
        read(text)
