"""Calls about where an account hears of its jobs; a part of ``Client``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from client import answers
from client.transport import Transport
from contract.notifications import JobReceiver, Notification, Receiver, ReceiverKept

_RECEIVERS = "/api/v1/me/receivers"


class ReceiverCalls:
    _transport: Transport

    def receivers(self) -> list[Receiver]:
        """One's own, by name, and whether what they are told arrives."""
        return [answers.read(Receiver, row) for row in self._transport.request("GET", _RECEIVERS).json()["results"]]

    def put_receiver(
        self, name: str, *, webhook: str | None = None, mail: bool = False, every_job: Sequence[str] | None = None
    ) -> ReceiverKept:
        """Keep a webhook, or mail to the account's own address; of one that is there neither has to be said again.

        every_job: of ``started``, ``succeeded``, ``failed`` and ``killed`` those that it is told for every job;
        what it was told before without it. The ``signing_key`` of a new webhook is answered this once.
        """
        body: dict[str, Any] = {"webhook": webhook, "mail": mail}
        body |= {} if every_job is None else {"every_job": list(every_job)}
        return answers.read(ReceiverKept, self._transport.request("PUT", _at(name), json=body).json())

    def test_receiver(self, name: str) -> Notification:
        """Tell it something of no job."""
        return answers.read(Notification, self._transport.request("POST", f"{_at(name)}/test").json())

    def notifications(self, receiver: str) -> Iterator[Notification]:
        """What it was told and is to be told, newest first; pages are read as they are needed."""
        params: dict[str, Any] = {"page_size": 200}
        while True:
            page = self._transport.request("GET", f"{_at(receiver)}/notifications", params=params).json()
            yield from (answers.read(Notification, row) for row in page["results"])
            if not page["next"]:
                return
            params |= {"cursor": parse_qs(urlsplit(page["next"]).query)["cursor"][0]}

    def job_receivers(self, job_id: int) -> list[JobReceiver]:
        """Who is told of one's own job, and whether that arrived; nobody of another's."""
        found = self._transport.request("GET", f"/api/v1/jobs/{job_id}/receivers").json()["results"]
        return [answers.read(JobReceiver, row) for row in found]

    def delete_receiver(self, name: str) -> None:
        """It is told nothing any more, and new jobs that name it are refused."""
        self._transport.request("DELETE", _at(name))


def _at(name: str) -> str:
    return f"{_RECEIVERS}/{quote(name, safe='')}"
