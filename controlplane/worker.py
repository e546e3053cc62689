"""A Celery worker in this process: takes free posts by itself, resigns at once when told to stop, notices when deaf.

A worker may stay connected and yet consume nothing after the broker came back.
So each one sends itself a message every few seconds; when the broker answers
and no message has come for ``DEAF_S``, the process resigns its posts and ends,
and whoever supervises it starts a new one.
"""

import os
import threading
import time
from collections.abc import Callable

import structlog
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, close_old_connections
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from controlplane import duties, liveness, shutdown
from controlplane.celery import app
from controlplane.embedded import notify
from controlplane.statestore import posts

log = structlog.get_logger(__name__)

PULSE_EVERY_S = 4.0
DEAF_S = 14.0  # of an answering broker
RESIGN_S = 1.0  # what leaders get to give up their leases
EX_TEMPFAIL = 75


class Pulse:
    """The messages a worker sends itself, and what follows when they stop coming; beside them, a look at free posts."""

    def __init__(
        self, name: str, queues: list[str], every_s: float = PULSE_EVERY_S, deaf_s: float = DEAF_S,
        end: Callable[[int], None] = os._exit,
    ) -> None:  # fmt: skip
        self.queue = f"pulse.{name}"
        self.queues = queues
        self.every_s, self.deaf_s, self.end = every_s, deaf_s, end
        self.heard_at = time.monotonic()
        self.answered_s = 0.0  # for how long the broker has answered without our hearing anything

        @app.task(name=self.queue, ignore_result=True)
        def pulse() -> None:
            self.heard_at = time.monotonic()
            self.answered_s = 0.0

        self.task = pulse

    def start(self) -> None:
        threading.Thread(target=self.watch, name="pulse", daemon=True).start()

    def watch(self) -> None:
        while not shutdown.requested.wait(self.every_s):
            if not self.send():
                continue
            offer_own(self.queues)
            if time.monotonic() - self.heard_at > self.every_s * 1.5:
                self.answered_s += self.every_s
            if self.answered_s >= self.deaf_s:
                log.error("the broker answers but nothing arrives; ending so that a new worker takes over")
                shutdown.requested.set()
                time.sleep(RESIGN_S)
                self.end(EX_TEMPFAIL)

    def send(self) -> bool:
        """Whether the broker took the message; bounded to a few seconds."""
        try:
            with app.connection_for_write(connect_timeout=2, transport_options={"socket_timeout": 2}) as connection:
                self.task.apply_async(queue=self.queue, expires=2 * self.every_s, retry=False, connection=connection)
        except (KombuError, RedisError, OSError):
            return False
        return True


def offer_own(queues: list[str]) -> None:
    """Offer this worker the free posts it listens for, without waiting for beat; what fails now is done next time."""
    try:
        close_old_connections()
        for sub_cluster_id, name in posts.free():
            if f"rm.{name}" in queues:
                app.send_task(duties.LEAD, args=[sub_cluster_id], queue=f"rm.{name}", expires=duties.OFFER_EXPIRES_S)
    except (DatabaseError, KombuError, RedisError, OSError) as problem:
        log.warning("could not look for free posts", problem=str(problem))


def run(name: str, queues: list[str], threads: int) -> int:
    """Work until SIGTERM. Returns the exit status."""
    pulse = Pulse(name, queues)
    os.environ["HYDRA_WORKER"] = name
    liveness.start("worker", name)

    @worker_ready.connect(weak=False)
    def on_ready(**_: object) -> None:
        notify.ready()
        pulse.start()
        offer_own(queues)
        if "control" in queues:
            duties.housekeeping.apply_async(queue="control", expires=60)

    @worker_shutting_down.connect(weak=False)
    def on_stop(**_: object) -> None:
        shutdown.requested.set()

    worker = app.Worker(
        hostname=name,
        pool="threads",
        concurrency=threads,
        queues=[*queues, pulse.queue],
        loglevel="WARNING",
        without_gossip=True,
        without_mingle=True,
        without_heartbeat=True,
        quiet=True,
    )
    worker.start()
    return int(worker.exitcode or 0)
