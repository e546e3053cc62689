"""What was used, where it is more than the server answers with at once."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from client.api import Client
from client.errors import HydraError
from contract.queues import UsedHour, UsedHours, UsedTag, UsedTags
from tests.answers import said_by_the_api

MOST = 5  # rows an answer
TODAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0)


@contextmanager
def answering(
    cluster: Any, rows_of: Callable[[datetime, datetime], list[dict[str, Any]]], kind: Any
) -> Iterator[Client]:
    """A client of a server that cuts the rows of a time."""

    def answer(request: Any) -> Any:
        if not request.query:  # what its clock says
            return None
        begin, end = (datetime.fromisoformat(request.query[name]) for name in ("begin", "end"))
        assert begin < end
        rows = rows_of(begin, end)
        body = {"begin": begin.isoformat(), "end": end.isoformat(), "step": "hour", "complete": len(rows) <= MOST}
        return (
            200,
            {},
            said_by_the_api(kind, results=rows[:MOST], **{k: body[k] for k in body if k in kind.model_fields}),
        )

    cluster.trouble = answer
    with Client(cluster.url, "secret-token") as client:
        yield client


def test_what_is_cut_is_asked_for_from_the_last_hour_on(cluster: Any) -> None:
    known = [
        said_by_the_api(UsedHour, at=(TODAY - timedelta(hours=hour)).isoformat(), queue=f"root.{queue}", containers=1)
        for hour in range(9, 0, -1)
        for queue in "abc"
    ]

    def rows_of(begin: datetime, end: datetime) -> list[dict[str, Any]]:
        return [row for row in known if begin <= datetime.fromisoformat(row["at"]) < end]

    with answering(cluster, rows_of, UsedHours) as client:
        found = client.usage(2, step="hour")
    assert [(row.at.isoformat(), row.queue) for row in found] == [(row["at"], row["queue"]) for row in known]
    assert len({request.query["end"] for request in cluster.requests("GET", "/usage/hours")}) == 1


def test_by_tag_what_is_cut_is_summed_of_shorter_times(cluster: Any) -> None:
    known = {(TODAY - timedelta(days=day)).date(): f"tag-{day % 7}" for day in range(9)}

    def rows_of(begin: datetime, end: datetime) -> list[dict[str, Any]]:
        sums: dict[str, int] = {}
        for day, tag in known.items():
            if begin.date() <= day <= end.date():
                sums[tag] = sums.get(tag, 0) + 1
        said = [said_by_the_api(UsedTag, tag=tag, queue="root.a", vcores_milli_s=n) for tag, n in sums.items()]
        return sorted(said, key=lambda row: (-row["vcores_milli_s"], row["tag"]))

    with answering(cluster, rows_of, UsedTags) as client:
        found = client.usage_tags(20)
    assert [(row.tag, row.vcores_milli_s) for row in found] == [(f"tag-{no}", 2 if no < 2 else 1) for no in range(7)]


def test_the_last_days_are_those_of_the_servers_clock(cluster: Any) -> None:
    cluster.ahead_s = 3600
    with answering(cluster, lambda begin, end: [], UsedHours) as client:
        client.usage(1)
    end = datetime.fromisoformat(cluster.requests("GET", "/usage/hours")[0].query["end"])
    assert abs(end - datetime.now(UTC) - timedelta(hours=1)) < timedelta(seconds=30)


@pytest.mark.parametrize("by_tag", [False, True])
def test_what_cannot_be_had_in_parts_is_refused_with_the_remedy(cluster: Any, by_tag: bool) -> None:
    kind, row = (UsedTags, UsedTag) if by_tag else (UsedHours, UsedHour)

    def rows_of(begin: datetime, end: datetime) -> list[dict[str, Any]]:
        return [said_by_the_api(row, queue=f"root.{no}") for no in range(MOST + 1)]

    with answering(cluster, rows_of, kind) as client, pytest.raises(HydraError) as refused:
        client.usage_tags(3) if by_tag else client.usage(3)
    (error,) = refused.value.problem.errors
    assert "more lines" in error.message and "--csv" in error.remedy


def test_a_time_without_days_is_refused_before_it_is_asked_for(cluster: Any) -> None:
    with Client(cluster.url, "secret-token") as client, pytest.raises(HydraError, match="days: 0 is no number of days"):
        client.usage(0)
    assert not cluster.seen
