"""What a task prints of its secrets, in whatever pieces it comes."""

import os
import selectors
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest

from nodemanager import masking, streams
from nodemanager.capture import segments
from nodemanager.masking import Mask, sought
from nodemanager.streams import Streams

KEY = "-----BEGIN KEY-----\nMIIEowIBAAKCAQEA\nabc\n-----END KEY-----\n"


def test_what_is_looked_for() -> None:
    assert sought(["hunter2", "short", "", KEY, "x" * 3000, "hunter2"]) == [
        "-----BEGIN KEY-----", "-----END KEY-----", "MIIEowIBAAKCAQEA", "hunter2"
    ]  # fmt: skip
    many = sought([f"{n:0500d}" for n in range(1000)])
    assert len(many) * 500 <= masking.BYTES and len(sought([f"line-{n:03d}" for n in range(200)])) == masking.LINES


def test_values_are_masked_wherever_the_pieces_end() -> None:
    said = f"a hunter2 b hunter2hunter2 hunter hunter-the-3rd\n{KEY}end hunt".encode()
    wanted = b"a *** b ****** hunter hunter-the-3rd\n***\n***\nabc\n***\nend hunt"
    draw = Random(3)
    for _ in range(300):
        cuts = [0, *sorted(draw.randrange(len(said)) for _ in range(draw.randrange(12))), len(said)]
        mask = Mask(sought(["hunter2", KEY]))
        kept = b"".join(mask.take(said[at:to]) for at, to in pairwise(cuts))
        assert kept + mask.give_up() == wanted, cuts
        assert mask.held == b""


def test_only_what_may_be_the_beginning_of_a_value_waits() -> None:
    mask = Mask(["hunter2"])
    assert (mask.take(b"the hunt"), mask.held) == (b"the ", b"hunt")
    assert (mask.take(b"ing"), mask.held) == (b"hunting", b"")


@pytest.fixture
def printing(tmp_path: Path) -> tuple[Streams, int, selectors.BaseSelector]:
    selector = selectors.DefaultSelector()
    found = Streams(str(tmp_path), -1, 1 << 20, selector, ["hunter2"])
    return found, found.make("stdout"), selector


def kept(found: Streams) -> bytes:
    return b"".join(Path(each.path).read_bytes() for each in segments(found.folder, "stdout"))


def test_a_stream_keeps_no_value_and_holds_nothing_for_long(
    printing: tuple[Streams, int, selectors.BaseSelector], monkeypatch: pytest.MonkeyPatch
) -> None:
    found, end, selector = printing
    now = [100.0]
    monkeypatch.setattr(streams.time, "monotonic", lambda: now[0])

    def say(data: bytes) -> None:
        os.write(end, data)
        for key, _ in selector.select(0):
            key.data(None)

    say(b"with hun")
    say(b"ter2, and hunt")
    assert kept(found) == b"with ***, and " and found.due() == 100.0 + streams.HELD_S
    found.refill(100.4)
    assert kept(found) == b"with ***, and "
    found.refill(100.6)
    assert kept(found) == b"with ***, and hunt" and found.due() == float("inf")
    say(b"\nhunte")
    os.close(end)
    assert found.drain(long=True) or True
    found.close()
    assert kept(found) == b"with ***, and hunt\nhunte"
    assert found.bytes["stdout"] == len(kept(found)), "offsets are of what is kept"
