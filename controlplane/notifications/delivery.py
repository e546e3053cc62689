"""Tells what is to be told, many receivers at once, until nothing is left.

Rows say what is to be told and who has claimed it (``statestore.actions.notifications``); here nothing is remembered.
One thread speaks to the StateStore, the loop to webhooks, a few threads to the mail server.
"""

import asyncio
import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TypeVar

import httpx
import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from controlplane import shutdown
from controlplane.notifications import mail, texts, webhook
from controlplane.notifications.texts import Told
from controlplane.notifications.webhook import Untold
from controlplane.statestore import sealing
from controlplane.statestore.actions import notifications as actions
from controlplane.statestore.actions.notifications import Claim
from controlplane.statestore.actions.receivers import webhook_of
from controlplane.statestore.models import Notification, Receiver

log = structlog.get_logger(__name__)
T = TypeVar("T")
AT_ONCE = 100  # webhooks
MAILS_AT_ONCE, NAMES_AT_ONCE = 4, 32  # threads
LOOK_EVERY_S = 0.25
IDLE_LOOKS = 4  # without anything to tell, until this ends
_running = threading.Lock()


def run() -> int:
    """Tell all that is due; how many receivers were told something. Another one in this process does it already: 0."""
    if not _running.acquire(blocking=False):
        return 0
    try:
        return asyncio.run(_Delivery().run())
    finally:
        _running.release()


class _Delivery:
    def __init__(self) -> None:
        self._store = ThreadPoolExecutor(1, "notifications-store")
        self._mails = ThreadPoolExecutor(MAILS_AT_ONCE, "notifications-mail")
        self._tries: dict[asyncio.Task[None], Receiver] = {}  # whom each tells
        self._done = 0

    async def run(self) -> int:
        loop = asyncio.get_running_loop()
        loop.set_default_executor(ThreadPoolExecutor(NAMES_AT_ONCE, "notifications-names"))
        try:
            async with webhook.client() as http:
                await self._tell_all(http)
        finally:
            await self._in_store(_close)
            self._store.shutdown(wait=False)
            self._mails.shutdown(wait=False)
        return self._done

    async def _tell_all(self, http: httpx.AsyncClient) -> None:
        await self._in_store(close_old_connections)
        idle = 0
        while idle < IDLE_LOOKS and not shutdown.requested.is_set():
            for kind, at_once in ((Receiver.Kind.MAIL, MAILS_AT_ONCE), (Receiver.Kind.WEBHOOK, AT_ONCE)):
                for each in await self._claims(kind, at_once):
                    self._tries[asyncio.create_task(self._tell(http, each))] = each.receiver
            idle = 0 if self._tries else idle + 1
            if not self._tries:
                await asyncio.sleep(LOOK_EVERY_S)
                continue
            done, _ = await asyncio.wait(self._tries, timeout=LOOK_EVERY_S, return_when=asyncio.FIRST_COMPLETED)
            self._done += len(done)
            for task in done:
                del self._tries[task]
                task.result()
        if self._tries:  # the process is to end: what was begun ends within its time
            await asyncio.wait(self._tries)

    async def _claims(self, kind: Receiver.Kind, at_once: int) -> list[Claim]:
        """Only what is begun at once: a claim that waits for its turn may run out, and another tells the same."""
        room = at_once - sum(row.kind == kind for row in self._tries.values())
        under_way = Counter(row.owner_id for row in self._tries.values())
        return await self._in_store(partial(actions.claim, room, under_way, kind)) if room else []

    async def _tell(self, http: httpx.AsyncClient, claim: Claim) -> None:
        try:
            await self._send(http, claim)
        except Untold as error:
            why = f"{error}"
        except sealing.Unreadable:
            why = "its address cannot be read any more, as its key is gone: put it again"
        except Exception:
            log.exception("a notification could not be sent", receiver=claim.receiver.pk)
            why = "a fault of the control plane; its log says more"
        else:
            await self._in_store(lambda: actions.taken(claim))
            return
        await self._in_store(lambda: actions.refused(claim, why))

    async def _send(self, http: httpx.AsyncClient, claim: Claim) -> None:
        row, said, site = claim.receiver, [told_of(each) for each in claim.told], settings.PUBLIC_URL
        if row.kind == Receiver.Kind.MAIL:
            address = await self._in_store(lambda: row.owner.email)
            subject, text = texts.subject(said), texts.mail(said, site)
            await asyncio.get_running_loop().run_in_executor(self._mails, mail.send, address, subject, text)
            return
        body = json.dumps(texts.payload(said[0], site)).encode()
        await webhook.post(http, webhook_of(row), claim.told[0].pk, body)

    async def _in_store(self, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._store, work)


def _close() -> None:
    """The connection of the thread that calls this."""
    connection.close()


def told_of(row: Notification) -> Told:
    """What a row says; its job was read with it."""
    if row.job is None:
        return Told(row.event, row.at)
    job = row.job
    return Told(
        row.event, row.at, job.pk, job.name, job.queue, job.owner.username, tuple(job.tags), job.state, job.message,
        job.submitted_at, job.started_at, job.finished_at,
    )  # fmt: skip
