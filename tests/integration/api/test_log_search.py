"""Lines that hold a text, in all that a job's tasks have written: each once, however it came and is paged."""

import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from controlplane.statestore.queries.jobs import logpieces, logsearch
from tests.integration.api import rows
from tests.integration.api.test_nodes import chunk, job_with_container
from tests.integration.api.world import World, job
from wire.ids import format_container

pytestmark = pytest.mark.django_db
Search = Callable[..., Iterator[dict[str, Any]]]


@pytest.fixture(params=[0, 8], ids=["one by one", "small ones together"], autouse=True)
def few(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logpieces, "FEW", request.param)


@pytest.fixture
def live(world: World) -> Any:
    return job_with_container(world, job())


@pytest.fixture
def search(world: World, live: Any) -> Search:
    """The lines found, page by page."""

    def pages(contains: str, query: str = "") -> Iterator[dict[str, Any]]:
        address: str | None = f"jobs/{live[0].pk}/logs?contains={contains}&{query}"
        while address:
            answer = world["tenant"].get(address)
            assert answer.status_code == 200, answer.content
            page = answer.json()
            yield from page["results"]
            onward = page["next"] and page["next"].partition("/api/v1/")[2]
            assert onward != address
            address = onward

    return pages


def write(world: World, container: str, *texts: tuple[str, int, bytes]) -> None:
    pieces = [chunk(container, offset, data, stream) for stream, offset, data in texts]
    assert world.nodes[0]("POST", "logs", {"chunks": pieces}).status_code == 204


def brief(lines: Iterator[dict[str, Any]]) -> list[tuple[str, int, str]]:
    return [(line["stream"], line["offset"], line["text"]) for line in lines]


def test_lines_are_found_in_every_attempt_in_whatever_case(world: World, live: Any, search: Search) -> None:
    first, again = live[1], rows.container(live[0], live[1].node_id, attempt=2)
    write(world, live[2], ("stdout", 0, b"fine\nan ERROR here\n"), ("stderr", 0, b"no such thing\nlast error"))
    rows.end(first)
    write(world, format_container(again.pk), ("stdout", 0, b"error again\n"))
    found = list(search("Error"))
    assert [(f["attempt"], f["stream"], f["offset"], f["text"]) for f in found] == [
        (1, "stdout", 5, "an ERROR here"), (1, "stderr", 14, "last error"), (2, "stdout", 0, "error again"),
    ]  # fmt: skip
    assert {f["group"] for f in found} == {"map"} and {f["index"] for f in found} == {0}
    assert found[0]["container"] == live[2] and all(f["at"] and not f["cut"] for f in found)
    assert brief(search("error", "stream=stderr")) == [("stderr", 14, "last error")]
    assert len(list(search("error", "group=map"))) == 3 and not list(search("absent"))


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_each_line_is_found_once_however_it_came(
    world: World, live: Any, search: Search, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logpieces, "PIECES", 3)
    monkeypatch.setattr(logsearch, "READS", 4)
    monkeypatch.setattr(logsearch, "CONTAINERS", 2)
    draw = random.Random(5)
    expected = []
    for index in range(5):
        row = live[1] if index == 0 else rows.container(live[0], live[1].node_id, index=index)
        for stream in ("stdout", "stderr"):
            words = ["größe", "Ärger", "", "der Ärger " * 3]
            lines = [draw.choice(words) for _ in range(draw.randint(0, 12))]
            data, at = "\n".join(lines).encode(), 0
            while at < len(data):
                piece = data[at : at + draw.randint(1, 20)]
                write(world, format_container(row.pk), (stream, at, piece))
                at += len(piece)
            expected += [(index, stream, line) for line in lines if "Ärger" in line]
    found = [(f["index"], f["stream"], f["text"]) for f in search("ärger", f"page_size={size}")]
    assert found == expected and len(expected) > 10


def test_what_is_never_ended_by_a_line_is_looked_through_in_parts(
    world: World, live: Any, search: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A task that writes a dot a second has a piece for each; and one may write a gigabyte without a line."""
    monkeypatch.setattr(logpieces, "PIECES", 2)
    monkeypatch.setattr(logsearch, "READS", 3)
    write(world, live[2], *(("stdout", at, b".") for at in range(20)), ("stdout", 20, b"found\n"))
    assert [text.lstrip(".") for _, _, text in brief(search("found"))] == ["found"]
    monkeypatch.setattr(logsearch, "READS", 100)
    monkeypatch.setattr(logsearch, "LINE_MAX", 64)
    monkeypatch.setattr(logsearch, "SHOWN", 12)
    monkeypatch.setattr(logsearch, "BEFORE", 4)
    write(world, live[2], ("stderr", 0, b"x" * 100), ("stderr", 100, b"y" * 20 + b"needle" + b"z" * 20))
    (line,) = search("needle")
    assert (line["text"], line["cut"]) == ("yyyyneedlezz", True)


@pytest.mark.parametrize(("reads", "longest"), [(100, 64), (3, 1000)])
def test_what_lies_across_the_parts_of_a_line_is_found_once(
    world: World, live: Any, search: Search, reads: int, longest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logpieces, "PIECES", 7)
    monkeypatch.setattr(logsearch, "READS", reads)
    monkeypatch.setattr(logsearch, "LINE_MAX", longest)
    monkeypatch.setattr(logsearch, "OVERLAP", 16)
    ends = [0]
    for before in range(40, 75):
        data = "ü".encode() * (before // 2) + b"n" * (before % 2) + b"needle" + b"z" * 70
        write(world, live[2], *(("stdout", ends[-1] + at, data[at : at + 3]) for at in range(0, len(data), 3)))
        write(world, live[2], ("stdout", ends[-1] + len(data), b"\n"))
        ends.append(ends[-1] + len(data) + 1)
    found = [offset for _, offset, text in brief(search("needle")) if "\ufffd" not in text]
    assert len(found) == 35 and all(begin <= at < end for at, begin, end in zip(found, ends, ends[1:], strict=False))


def test_lines_are_searched_as_people_see_them(world: World, live: Any, search: Search) -> None:
    colours = b"\x1b[31mERROR\x1b[0m: disk\n" + "İzmir straße\n".encode() + b"10 %\r90 %\r\n"
    write(world, live[2], ("stdout", 0, colours))
    assert brief(search("error: disk")) == [("stdout", 0, "ERROR: disk")]
    assert not list(search("31m")) and brief(search("izmir"))[0][2] == "İzmir straße"
    assert brief(search("90 %25")) == [("stdout", 36, "10 %\r90 %")]


def test_a_folded_text_is_shown_where_it_is(world: World, live: Any, search: Search) -> None:
    write(world, live[2], ("stdout", 0, ("İß" * 400 + "needle" + "x" * 600).encode()))
    (line,) = search("NEEDLE")
    assert "needle" in line["text"] and line["cut"]


def test_a_line_does_not_go_on_beyond_what_was_not_kept(world: World, live: Any, search: Search) -> None:
    nothing = [chunk(live[2], at, b"") for at in range(10, 90)]  # as no node should send it
    late = chunk(live[2], 100, b"dle\nneedle\n", skipped=97)
    pieces = [chunk(live[2], 0, b"nee"), *nothing, late]
    assert world.nodes[0]("POST", "logs", {"chunks": pieces}).status_code == 204
    assert brief(search("needle")) == [("stdout", 104, "needle")]


def test_an_answer_costs_so_much_and_no_more(world: World, live: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logsearch, "LOOK_BYTES", 1000)
    monkeypatch.setattr(logsearch, "STEP_BYTES", 400)
    monkeypatch.setattr(logsearch, "READS", 5)
    for index in range(1, 30):
        write(world, format_container(rows.container(live[0], live[1].node_id, index=index).pk), ("stdout", 0, b"a\n"))
    write(world, live[2], *(("stdout", at, b"x" * 199 + b"\n") for at in range(0, 4000, 200)))
    address = f"jobs/{live[0].pk}/logs?contains=a"
    with CaptureQueriesContext(connection) as queries:
        page = world["tenant"].get(address).json()
    assert page["results"] == [] and page["next"] and 1000 <= page["searched"] <= 1400
    assert len([q for q in queries if "statestore_log_chunk" in q["sql"]]) <= 1 + 5


def test_mistakes_are_named_and_strangers_see_nothing(world: World, live: Any) -> None:
    address = f"jobs/{live[0].pk}/logs?contains=x"
    assert world["other"].get(address).status_code == 404
    for more in ("stream=x", "group=mapp", "cursor=7", "page_size=0"):
        answer = world["tenant"].get(f"{address}&{more}")
        assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, more.partition("=")[0])
    for missing in ("", "?contains=", "?contains=a%0Ab"):
        problem = world["tenant"].get(f"jobs/{live[0].pk}/logs{missing}").json()
        assert problem["errors"][0]["field"] == "contains"
