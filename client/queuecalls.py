"""Calls about queues: how the tree stands, the matrix of queues and sub-clusters, one queue, what was used; a part of
``Client``."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote

from client import answers
from client.transport import Transport
from contract.base import Amounts, Answer
from contract.queues import QueueDetail, UsedHour, UsedTag
from wire.resources import AXES

_QUEUES = "/api/v1/queues"
NOTHING = Amounts(**dict.fromkeys(AXES, 0))


class QueueStanding(Answer):
    """A queue as one row of the tree; amounts by resource, of the queue with all below it.

    ``share``: what it was given, ``guaranteed_part`` of it for certain. ``sees``: 1 its
    name only, 2 limits and your own part, 3 all. ``starves_since``: it is below
    its guarantee and wants more.
    """

    path: str
    depth: int
    sees: int
    guaranteed: Amounts
    maximum: Amounts
    used: Amounts
    pending: Amounts
    share: Amounts
    guaranteed_part: Amounts
    live_jobs: int
    running_jobs: int
    starves_since: datetime | None


class QueueCell(Answer):
    """A queue in a sub-cluster. ``rule``: what binds there."""

    queue: str
    sub_cluster: str
    resource: str
    rule: str
    share: Amounts
    guaranteed_part: Amounts
    used: Amounts
    pending: Amounts


class QueueCalls:
    _transport: Transport

    def queue_tree(self, sub_cluster: str | None = None) -> list[QueueStanding]:
        """Every queue you may see with how it stands, parents before children; in one sub-cluster or in all."""
        while True:
            layout = self._transport.request("GET", f"{_QUEUES}/tree").json()
            use = self._transport.request("GET", f"{_QUEUES}/use", params={"sub_cluster": sub_cluster}).json()
            if layout["layout"] == use["layout"]:  # else the policy has changed in between
                return _rows(layout["queues"], use)

    def queue_matrix(self, under: str = "root", resource: str | None = None) -> list[QueueCell]:
        """A queue and its children in every sub-cluster: what each was given there, and which rule binds."""
        params: dict[str, Any] = {"under": under, "resource": resource, "skip": 0}
        found: list[QueueCell] = []
        while True:
            page = self._transport.request("GET", f"{_QUEUES}/matrix", params=params).json()
            names = [place["name"] for place in page["places"]]
            found += [cell for row in page["rows"] for cell in _cells(row, names)]
            if not page["more"]:
                return found
            params["skip"] += 100

    def queue_detail(self, path: str, resource: str | None = None) -> QueueDetail:
        """One queue: limits, users, and per sub-cluster the share it was given with the reason in words."""
        answer = self._transport.request(
            "GET", f"{_QUEUES}/{quote(path, safe='')}/detail", params={"resource": resource}
        )
        return answers.read(QueueDetail, answer.json())

    def usage(self, days: int = 7, owner: str | None = None, step: str = "day") -> list[UsedHour]:
        """What an account used, per hour or day and queue; your own without ``owner``."""
        params = _span(days) | {"owner": owner, "step": step}
        rows = self._transport.request("GET", "/api/v1/usage/hours", params=params).json()["results"]
        return [answers.read(UsedHour, row) for row in rows]

    def usage_csv(self, days: int = 7, owner: str | None = None, *, all_accounts: bool = False) -> str:
        """The same, hour by hour, as a CSV file's text; ``all_accounts``, for operators: with a column ``owner``."""
        params = _span(days) | _whose(owner, all_accounts)
        return self._transport.request("GET", "/api/v1/usage/hours.csv", params=params).text

    def usage_tags(self, days: int = 7, owner: str | None = None) -> list[UsedTag]:
        """What an account used by the tags of its jobs and queue, what used most first; of whole days."""
        rows = self._transport.request("GET", "/api/v1/usage/tags", params=_span(days) | {"owner": owner})
        return [answers.read(UsedTag, row) for row in rows.json()["results"]]

    def usage_tags_csv(self, days: int = 7, owner: str | None = None, *, all_accounts: bool = False) -> str:
        """The same, day by day, as a CSV file's text; ``all_accounts`` as of ``usage_csv``."""
        params = _span(days) | _whose(owner, all_accounts)
        return self._transport.request("GET", "/api/v1/usage/tags.csv", params=params).text


def _whose(owner: str | None, all_accounts: bool) -> dict[str, Any]:
    return {"owner": owner} | ({"all_accounts": "yes"} if all_accounts else {})


def _span(days: int) -> dict[str, Any]:
    end = datetime.now(UTC)
    return {"begin": (end - timedelta(days=days)).isoformat(), "end": end.isoformat()}


def _rows(q: dict[str, Any], use: dict[str, Any]) -> list[QueueStanding]:
    moving = {at: i for i, at in enumerate(use["queues"]["at"])} if use["queues"] else {}
    since = {s["at"]: datetime.fromtimestamp(s["since"], UTC) for s in use["starving"]}
    paths: list[str] = []
    found = []
    for at, name in enumerate(q["name"]):
        up = q["parent"][at]
        paths.append(f"{paths[up]}.{name}" if up >= 0 else name)
        i = moving.get(at)
        moved = {
            what: _amounts(use["queues"][what], i) if moving else NOTHING
            for what in ("used", "pending", "share", "guaranteed_part")
        }
        jobs = (0, 0) if i is None else (use["queues"]["live"][i], use["queues"]["running"][i])
        limits = {what: _amounts(q[what], at) for what in ("guaranteed", "maximum")}
        found.append(
            QueueStanding(
                path=paths[at],
                depth=paths[at].count("."),
                sees=q["see"][at],
                **limits,
                **moved,
                live_jobs=jobs[0],
                running_jobs=jobs[1],
                starves_since=since.get(at),
            )
        )
    return found


def _amounts(columns: list[list[int]], at: int | None) -> Amounts:
    return _of([0 if at is None else column[at] for column in columns])


def _of(amounts: list[int]) -> Amounts:
    return Amounts(**dict(zip(AXES, amounts, strict=True)))


def _cells(row: dict[str, Any], names: list[str]) -> Iterator[QueueCell]:
    for i, name in enumerate(names):
        amounts = {what: _of(row[what][i]) for what in ("share", "guaranteed_part", "used", "pending")}
        yield QueueCell(queue=row["path"], sub_cluster=name, resource=row["resource"], rule=row["rules"][i], **amounts)
