"""Both web processes hold person and node to the frames and windows of an exec, whatever they send."""

import asyncio
from collections.abc import Callable, Iterable
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from controlplane.router.execs.node import NodeEnd
from controlplane.router.execs.person import Person
from controlplane.router.execs.socket import FrameSocket, Left
from controlplane.statestore.models import Exec
from tests import mutations
from tests.seeds import drawn
from wire import execs
from wire.execs import ExecError, Kind

FULL = execs.frame(Kind.STDIN, bytes(execs.DATA_MAX))
MOST = execs.WINDOW // execs.cost_of(FULL)


def socket(*frames: Any) -> FrameSocket:
    """One whose other end sends these, the last for ever."""
    return FrameSocket(_sends({"type": "websocket.receive", "bytes": each} for each in frames), _takes([]))


def line(passed: list[bytes], *frames: bytes) -> Any:
    """To the other web process, that says these."""
    return SimpleNamespace(say=_takes(passed), hear=_sends(frames))


def _sends(frames: Iterable[Any]) -> Callable[..., Any]:
    left = list(frames)

    async def next_(*_: Any) -> Any:
        return left.pop(0) if len(left) > 1 else left[0]

    return next_


def _takes(into: list[bytes]) -> Callable[[bytes], Any]:
    async def take(frame: bytes) -> None:
        into.append(frame)

    return take


def person(end: FrameSocket) -> Person:
    made = Person(end, Exec(pk=1, user_id=1), "", "", None)  # type: ignore[arg-type]
    made.runs.set()
    return made


def node(end: FrameSocket) -> NodeEnd:
    return NodeEnd(end, Exec(pk=1, user_id=1))


@pytest.mark.parametrize(
    "frame",
    [None, b"", b"x", b"\0" * (execs.FRAME_MAX + 1), execs.end(execs.End(code=0)), execs.credit(1), b"\x04\0\0\0\0"],
)
def test_a_person_that_sends_anything_else_is_cut_off(frame: Any) -> None:
    passed: list[bytes] = []
    with pytest.raises(ExecError):
        asyncio.run(person(socket(frame))._inwards(line(passed)))
    assert not passed


def test_no_more_is_passed_on_than_the_window_allows() -> None:
    passed: list[bytes] = []
    with pytest.raises(ExecError, match="room"):
        asyncio.run(person(socket(FULL))._inwards(line(passed)))
    assert len(passed) == MOST
    with pytest.raises(ExecError, match="room"):
        asyncio.run(person(socket())._outwards(line([], execs.frame(Kind.STDOUT, bytes(execs.DATA_MAX)))))
    with pytest.raises(ExecError, match="room"):
        asyncio.run(node(socket())._inwards(line([], FULL)))


@pytest.mark.parametrize("frame", [FULL, b"", b"\x07" * (execs.FRAME_MAX + 1), execs.credit(9), b'\x03{"code": -1}'])
def test_a_node_that_says_what_it_may_not_ends_the_exec(frame: bytes) -> None:
    passed: list[bytes] = []

    async def play() -> None:
        await asyncio.wait_for(node(socket(frame))._outwards(line(passed)), 0.1)

    with pytest.raises(TimeoutError):  # it waits for the person's end to have read all
        asyncio.run(play())
    (last,) = passed
    assert "said what it may not" in execs.end_of(last[1:]).error


def scrambled(rng: Random, frames: list[bytes]) -> list[dict[str, Any]]:
    """Messages of a socket: these frames in any order, some of them changed, some of another kind, and then its end."""
    chosen = [mutations.data(rng, f) if rng.random() < 0.4 else f for f in rng.choices(frames, k=12)]
    said: list[dict[str, Any]] = [{"type": "websocket.receive", "bytes": frame} for frame in chosen]
    if rng.random() < 0.2:
        said[rng.randrange(len(said))] = {"type": "websocket.receive", "text": mutations.text(rng, "resize")}
    return [*said, {"type": "websocket.disconnect"}]


def test_whatever_a_person_or_a_node_sends_ends_in_words(soak: bool) -> None:
    rng = drawn(3)
    persons = [execs.frame(Kind.STDIN, b"ls\n"), execs.frame(Kind.STDIN), execs.resize(50, 120), execs.credit(9)]
    nodes = [execs.frame(Kind.BEGUN), execs.frame(Kind.STDOUT, b"x"), execs.frame(Kind.STDERR, b"y"), execs.credit(9)]
    nodes += [execs.end(execs.End(code=3)), execs.end(execs.End(error="why"))]

    async def play() -> None:
        for _ in range(8000 if soak else 200):
            passed: list[bytes] = []
            with pytest.raises((ExecError, Left)):
                await person(FrameSocket(_sends(scrambled(rng, persons)), _takes([])))._inwards(line(passed))
            assert all(execs.parse(each)[0] in execs.PERSONS for each in passed)
            passed = []
            end = node(FrameSocket(_sends(scrambled(rng, nodes)), _takes([])))
            while not end.over:
                passed.append(await end._said())
            assert all(execs.parse(each)[0] in execs.NODES for each in passed)
            assert execs.parse(passed[-1])[0] is Kind.END and execs.end_of(passed[-1][1:])

    asyncio.run(play())
