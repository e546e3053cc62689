"""Calls about queues: how the tree stands, the matrix of queues and sub-clusters, one queue, what was used; a part of
``Client``."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import UTC, datetime, time, timedelta
from typing import Any
from urllib.parse import quote

from client import answers
from client.errors import HydraError, client_error
from client.transport import Transport
from contract.base import Amounts, Answer
from contract.queues import QueueDetail, UsedAccount, UsedAccounts, UsedHour, UsedHours, UsedTag, UsedTags
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

    def usage(
        self,
        days: int = 7,
        owner: str | None = None,
        step: str = "day",
        *,
        queue: str | None = None,
        tag: str | None = None,
    ) -> list[UsedHour]:
        """What an account used, per hour or day and queue, or in one of them; your own without ``owner``.

        tag: of jobs of this tag alone, which is kept by the day.
        """
        params = self._span(days) | {"owner": owner, "step": step, "queue": queue, "tag": tag}
        found: list[UsedHour] = []
        while True:
            answer = self._transport.request("GET", "/api/v1/usage/hours", params=params)
            part = answers.read(UsedHours, answer.json())
            if part.complete:
                return found + part.results
            last = part.results[-1].at  # which may have been cut in the middle
            if last == part.results[0].at:
                raise _too_many(f"one {step}")
            found += [row for row in part.results if row.at != last]
            params["begin"] = last.isoformat()

    def usage_csv(
        self, days: int = 7, owner: str | None = None, *, all_accounts: bool = False, queue: str | None = None
    ) -> str:
        """The same, hour by hour, as a CSV file's text; ``all_accounts``, for operators: with a column ``owner``."""
        params = self._span(days) | _whose(owner, all_accounts) | {"queue": queue}
        return self._transport.request("GET", "/api/v1/usage/hours.csv", params=params).text

    def usage_accounts(self, days: int = 7, *, queue: str | None = None) -> list[UsedAccount]:
        """What each account used, who held most processors first; for operators and viewers, of at most 31 days."""
        params = self._span(days) | {"queue": queue}
        answer = self._transport.request("GET", "/api/v1/usage/accounts", params=params)
        found = answers.read(UsedAccounts, answer.json())
        if not found.complete:
            remedy = "Take the CSV file: hydractl usage --csv --all-accounts, or ask for one queue."
            raise client_error("comes to more accounts than are answered with", field_name="usage", remedy=remedy)
        return found.results

    def usage_tags(self, days: int = 7, owner: str | None = None, *, queue: str | None = None) -> list[UsedTag]:
        """What an account used by the tags of its jobs and queue, what used most first; of whole days."""
        begin, end = (datetime.fromisoformat(at) for at in self._span(days).values())
        return self._tags({"owner": owner, "queue": queue}, begin, end)

    def _tags(self, of: dict[str, str | None], begin: datetime, end: datetime) -> list[UsedTag]:
        """Of more rows than the server answers with at once, the sums of both halves of the days."""
        params = {"begin": begin.isoformat(), "end": end.isoformat()} | of
        found = answers.read(UsedTags, self._transport.request("GET", "/api/v1/usage/tags", params=params).json())
        if found.complete:
            return found.results
        days = (end.date() - begin.date()).days
        if not days:
            raise _too_many("one day")
        middle = datetime.combine(begin.date() + timedelta(days=(days + 1) // 2), time(), UTC)
        before = self._tags(of, begin, middle - timedelta(microseconds=1))
        return _summed(before + self._tags(of, middle, end))

    def usage_tags_csv(
        self, days: int = 7, owner: str | None = None, *, all_accounts: bool = False, queue: str | None = None
    ) -> str:
        """The same, day by day, as a CSV file's text; ``all_accounts`` as of ``usage_csv``."""
        params = self._span(days) | _whose(owner, all_accounts) | {"queue": queue}
        return self._transport.request("GET", "/api/v1/usage/tags.csv", params=params).text

    def _span(self, days: int) -> dict[str, Any]:
        if days < 1:
            raise client_error(f"{days} is no number of days", field_name="days", remedy="Give 1 or more.")
        end = self._transport.now()
        return {"begin": (end - timedelta(days=days)).isoformat(), "end": end.isoformat()}


def _whose(owner: str | None, all_accounts: bool) -> dict[str, Any]:
    return {"owner": owner} | ({"all_accounts": "yes"} if all_accounts else {})


def _summed(rows: list[UsedTag]) -> list[UsedTag]:
    """One row per tag and queue, in the order in which the server has them."""
    sums: defaultdict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for row in rows:
        sums[row.tag, row.queue].update(row.model_dump(exclude={"tag", "queue"}))
    found = [UsedTag(tag=tag, queue=queue, **amounts) for (tag, queue), amounts in sums.items()]
    return sorted(found, key=lambda u: (-u.vcores_milli_s, u.tag, u.queue))


def _too_many(span: str) -> HydraError:
    remedy = "Take the CSV file: hydractl usage --csv, or usage_csv() in Python; with --by-tag or usage_tags_csv()."
    return client_error(f"comes to more lines of {span} than are answered with", field_name="usage", remedy=remedy)


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
