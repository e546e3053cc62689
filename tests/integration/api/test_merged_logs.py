"""Both streams of a container as one: order, pages, tails and times, by the database's clock."""

import datetime as dt
import random
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.router.views.common import existing
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.models import LogChunk
from controlplane.statestore.queries.jobs import logpieces, logs, logsources, mergedlogs
from tests.integration.api import rows
from tests.integration.api.test_nodes import chunk, job_with_container
from tests.integration.api.world import World, job
from wire.ids import parse_container

pytestmark = pytest.mark.django_db(transaction=True)  # logs are read on threads of their own
Read = Callable[..., dict[str, Any]]


@pytest.fixture
def live(world: World) -> Any:
    return job_with_container(world, job())


@pytest.fixture
def send(world: World, live: Any) -> Callable[..., None]:
    ends: dict[str, int] = {}

    def post(*texts: tuple[str, bytes]) -> None:
        """One batch of the node: pieces of streams, each after the one before."""
        pieces = []
        for stream, data in texts:
            pieces.append(chunk(live[2], ends.get(stream, 0), data, stream))
            ends[stream] = ends.get(stream, 0) + len(data)
        assert world.nodes[0]("POST", "logs", {"chunks": pieces}).status_code == 204

    return post


@pytest.fixture
def read(world: World, live: Any) -> Read:
    def get(query: str = "", status: int = 200) -> dict[str, Any]:
        answer = world["tenant"].get(f"containers/{live[2]}/logs/merged?{query}")
        assert answer.status_code == status, answer.content
        return answer.json()

    return get


def said(answer: dict[str, Any]) -> list[tuple[str, str]]:
    return [(p["stream"], p["data"]) for p in answer["pieces"]]


def test_streams_are_merged_in_the_order_in_which_they_came(live: Any, send: Any, read: Read) -> None:
    send(("stderr", b"e1\n"), ("stdout", b"o1\n"))
    send(("stdout", b"o2\n"))
    send(("stderr", b"e2\n"))
    whole = read()
    assert said(whole) == [("stdout", "o1\n"), ("stderr", "e1\n"), ("stdout", "o2\n"), ("stderr", "e2\n")]
    assert (whole["next"], whole["complete"]) == ("6.6", False)
    moments = [p["at"] for p in whole["pieces"]]
    assert moments == sorted(moments) and moments[0] == moments[1] < moments[2]
    assert said(read("stream=stderr")) == [("stderr", "e1\n"), ("stderr", "e2\n")]
    assert said(read("cursor=3.6")) == [("stdout", "o2\n")]
    rows.end(live[1], ago_s=60)
    assert read("cursor=6.6") == {"pieces": [], "next": "6.6", "complete": True}


def test_it_is_complete_when_the_node_has_told_the_end_of_both(live: Any, send: Any, read: Read) -> None:
    send(("stdout", b"o\n"), ("stdout", b""))
    assert not read()["complete"]
    send(("stderr", b""))
    assert read()["complete"] and read("stream=stdout")["complete"]


def test_pages_of_any_size_show_the_same(live: Any, send: Any, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controlplane.statestore.queries.jobs.logpieces.PIECES", 3)
    draw = random.Random(7)
    text = {"stdout": "größe 漢字 \U0001f409\n" * 9, "stderr": "ärger\n" * 12}
    left = {stream: part.encode() for stream, part in text.items()}
    while any(left.values()):
        batch = []
        for stream in draw.sample(sorted(left), draw.randint(1, 2)):
            size = draw.randint(1, 40)
            if left[stream]:
                batch.append((stream, left[stream][:size]))
                left[stream] = left[stream][size:]
        send(*batch)
    order = sorted(LogChunk.objects.all(), key=lambda c: (c.at, c.stream, c.offset))
    expected = [(c.at, c.stream) for c in order]
    for limit in (8, 11, 50, 262_144):
        shown, cursor = [], "0.0"
        for _ in range(400):
            part = read(f"cursor={cursor}&limit={limit}")
            assert sum(len(p["data"].encode()) for p in part["pieces"]) <= limit
            shown += part["pieces"]
            if part["next"] == cursor:
                break
            cursor = part["next"]
        for stream, whole in text.items():
            assert "".join(p["data"] for p in shown if p["stream"] == stream) == whole, (limit, stream)
        seen = [(dt.datetime.fromisoformat(p["at"]), 1 if p["stream"] == "stdout" else 2) for p in shown]
        assert seen == sorted(seen) and set(seen) <= set(expected), limit


def test_a_gap_is_told_where_it_is(world: World, live: Any, read: Read) -> None:
    late = chunk(live[2], 100, b"late\n", skipped=90)
    pieces = [chunk(live[2], 0, "half \u00fc".encode()[:-1]), late, chunk(live[2], 0, b"e\n", "stderr")]
    assert world.nodes[0]("POST", "logs", {"chunks": pieces}).status_code == 204
    shown = read()["pieces"]
    assert [(p["stream"], p["data"], p["offset"], p["skipped"]) for p in shown] == [
        ("stdout", "half ", 0, 0), ("stdout", "\ufffd", 5, 0), ("stdout", "late\n", 100, 94), ("stderr", "e\n", 0, 0),
    ]  # fmt: skip
    assert said(read("tail=2")) == [("stdout", "late\n"), ("stderr", "e\n")]


@pytest.mark.parametrize("pieces", [2, 64])
def test_a_tail_is_the_last_lines_of_both(send: Any, read: Read, pieces: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controlplane.statestore.queries.jobs.logpieces.PIECES", pieces)
    assert said(read("tail=5")) == [] and read("tail=0")["next"] == "0.0"
    send(("stdout", b"a\nb\nc"), ("stderr", b"x\n"))
    send(("stdout", b"c\nd\n"), ("stderr", b"y\nz"))
    send(("stdout", b"e\n"))

    def tail(lines: int) -> tuple[str, str]:
        part = read(f"tail={lines}")
        shown = said(part)
        while part["pieces"]:
            part = read(f"cursor={part['next']}")
            shown += said(part)
        return "".join(t for s, t in shown if s == "stdout"), "".join(t for s, t in shown if s == "stderr")

    assert [tail(n) for n in (0, 1, 2, 3, 4)] == [
        ("", ""), ("e\n", ""), ("e\n", "z"), ("e\n", "y\nz"), ("d\ne\n", "y\nz")
    ]  # fmt: skip
    assert [tail(5), tail(6)] == [("d\ne\n", "x\ny\nz"), ("cc\nd\ne\n", "x\ny\nz")]
    assert tail(100) == ("a\nb\ncc\nd\ne\n", "x\ny\nz")
    assert said(read("tail=2&stream=stdout")) == [("stdout", "d\n"), ("stdout", "e\n")]
    assert read("tail=0")["next"] == "11.5"


def test_a_tail_looks_through_so_much_and_no_more(send: Any, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mergedlogs, "TAIL_BYTES", 1000)
    monkeypatch.setattr(mergedlogs, "STEP_BYTES", 300)
    for _ in range(20):
        send(("stdout", b"x" * 200))
    assert 1000 <= len("".join(text for _, text in said(read("tail=1")))) <= 1400


def test_a_tail_is_looked_for_in_so_many_reads_and_no_more(
    send: Any, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that writes a byte a second has a piece for each, and need not end a line."""
    reads = []
    backward = logpieces.backward

    def counted(*of: Any) -> Any:
        reads.append(of)
        return backward(*of)

    monkeypatch.setattr(logpieces, "backward", counted)
    monkeypatch.setattr(logpieces, "PIECES", 2)
    monkeypatch.setattr(mergedlogs, "TAIL_READS", 3)
    send(*[("stdout", b".")] * 100)
    looked_through = 3 * 2 * logpieces.BACK
    (first, *_) = read("tail=5")["pieces"]
    assert (first["offset"], len(reads)) == (100 - looked_through, 3)


@pytest.mark.parametrize("hours", [-25, -1, 1, 25])
def test_since_goes_by_the_databases_clock(send: Any, read: Read, hours: int, monkeypatch: pytest.MonkeyPatch) -> None:
    now = timezone.now
    monkeypatch.setattr(timezone, "now", lambda: now() + dt.timedelta(hours=hours))
    send(("stdout", b"old\n"), ("stderr", b"old too\n"))
    LogChunk.objects.update(at=database_now() - dt.timedelta(seconds=90))
    between = database_now()
    send(("stdout", b"new\n"))
    for query in ("last_s=60", f"since={between.isoformat().replace('+', '%2B')}"):
        assert said(read(query)) == [("stdout", "new\n")], query
        assert read(query)["next"] == "8.8"
    assert len(said(read("last_s=120"))) == 3 and said(read("last_s=120&tail=1")) == [("stdout", "new\n")]


def test_pieces_of_before_moments_were_noted_come_first(send: Any, read: Read) -> None:
    send(("stderr", b"old\n"))
    LogChunk.objects.update(at=None)
    send(("stdout", b"new\n"))
    assert said(read()) == [("stderr", "old\n"), ("stdout", "new\n")]


def test_who_may_not_see_the_job_sees_nothing_and_mistakes_are_named(world: World, live: Any, read: Read) -> None:
    assert world["other"].get(f"containers/{live[2]}/logs/merged").status_code == 404
    for query in ("cursor=7", "tail=-1", "since=x", "stream=x", "tial=5"):
        assert read(query, 422)["errors"][0]["field"] == query.partition("=")[0]


def test_following_ends_with_the_news(live: Any, send: Any, read: Read) -> None:
    send(("stdout", b"o\n"), ("stdout", b""), ("stderr", b"e\n"))
    assert said(read("cursor=0.0&follow=1")) == [("stdout", "o\n"), ("stderr", "e\n")]
    send(("stderr", b"more\n"))
    assert said(read("cursor=2.2&follow=1")) == [("stderr", "more\n")]


def test_of_many_who_follow_news_is_looked_for_at_once(world: World, live: Any, send: Any) -> None:
    """Beyond each one's offset, an end that the node has told included; and of what has ended none will come."""
    other = job_with_container(world, job())
    src, gone = (
        existing(logsources.source(world.users["tenant"], parse_container(each[2])), "it is there")
        for each in (live, other)
    )
    send(("stdout", b"abc"), ("stderr", b"de"))
    rows.end(other[1], ago_s=60)
    out, err = LogChunk.Stream.STDOUT, LogChunk.Stream.STDERR
    asked = [(src, {out: 2}), (src, {out: 3}), (src, {out: 3, err: 1}), (src, {err: 2}), (gone, {out: 9})]
    with CaptureQueriesContext(connection) as queries:
        assert logs.news(asked) == [True, False, True, False, True]
    assert len(queries) == 2
    send(("stderr", b""))
    assert logs.news(asked[2:4]) == [True, True]
