"""A Celery worker in this process: takes free posts by itself, resigns at once when told to stop, notices when deaf.

One that serves every sub-cluster listens for those that join later, too,
without a restart.

A worker may stay connected and yet consume nothing after the broker came back.
So each one sends itself a message every few seconds; when the broker answers
and no message has come for ``DEAF_S``, the process resigns its posts and ends,
and whoever supervises it starts a new one.
"""

import os
import sys
import threading
import time
from collections.abc import Callable

import structlog
from celery.signals import worker_ready, worker_shutting_down
from django.db import DatabaseError, close_old_connections
from kombu.exceptions import KombuError
from redis.exceptions import RedisError

from controlplane import duties, heap, liveness, shutdown, standby
from controlplane.celery import app, sending
from controlplane.embedded import notify
from controlplane.rm.driver import balance
from controlplane.rm.tasks import terms
from controlplane.statestore import bus, posts

log = structlog.get_logger(__name__)

# Many leaders may share the process: one with a short word to say waits no longer than this for each of the others.
SWITCH_S = 0.001
PULSE_EVERY_S = 4.0
DEAF_S = 14.0  # of an answering broker
DUTY_THREADS = 4  # offers, housekeeping, notifications, pulse
EVERY = "*"  # what a worker says it serves that serves all sub-clusters
RESIGN_S = 1.0  # what leaders get to give up their leases
END_S = 3.0  # the same where the process was told to stop
EX_TEMPFAIL = 75


class Served:
    """The queues a worker consumes. ``every``: also those of sub-clusters to come; ``listen`` has it consume one more.

    ``listen`` is set once the worker is ready; it may be called from any thread.
    """

    def __init__(self, queues: list[str], every: bool = False) -> None:
        self.names = set(queues)
        self.every = every
        self.listen: Callable[[str], object] | None = None

    def takes(self, queue: str) -> bool:
        """Whether what this queue offers is for this worker, also while it cannot be listened to."""
        return queue in self.names or (self.every and queue.startswith("rm."))

    def look(self) -> None:
        """Take in the sub-clusters that have come since. Raises ``DatabaseError``."""
        if not self.every or self.listen is None:
            return
        for queue in sorted({f"rm.{name}" for name in posts.names()} - self.names):
            log.info("a sub-cluster to serve", queue=queue)
            self.listen(queue)
            self.names.add(queue)


class Pulse:
    """The messages a worker sends itself, and what follows when they stop coming."""

    def __init__(
        self, name: str, served: Served, every_s: float = PULSE_EVERY_S, deaf_s: float = DEAF_S,
        end: Callable[[int], None] = os._exit,
    ) -> None:  # fmt: skip
        self.name, self.queue = name, balance.own_queue(name)
        self.served = served
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
            look_around(self.served)
            even_out(self.name)
            if time.monotonic() - self.heard_at > self.every_s * 1.5:
                self.answered_s += self.every_s
            if self.answered_s >= self.deaf_s:
                log.error("the broker answers but nothing arrives; ending so that a new worker takes over")
                shutdown.requested.set()
                time.sleep(RESIGN_S)
                self.end(EX_TEMPFAIL)

    def send(self) -> bool:
        """Whether the broker took the message."""
        try:
            with sending() as connection:
                self.task.apply_async(queue=self.queue, expires=2 * self.every_s, retry=False, connection=connection)
        except (KombuError, RedisError, OSError):
            return False
        return True


def look_around(served: Served) -> None:
    """What else this worker sees to without waiting for beat; what fails now is done next time."""
    try:
        close_old_connections()
        served.look()
        if standby.CONTROL in served.names:
            duties.offer_simulations()
    except (DatabaseError, KombuError, RedisError, OSError) as problem:
        log.warning("could not look for what is new", problem=str(problem))


def warn_of_unknown(queues: list[str]) -> None:
    """A queue of no sub-cluster may be of one that joins later; of a misspelt name it would be served for nothing."""
    try:
        known = {f"rm.{name}" for name in posts.names()} | {standby.CONTROL}
    except DatabaseError:
        return
    for queue in queues:
        if queue not in known:
            log.warning("no sub-cluster has this name; it is led once one of this name joins", queue=queue)


def _worker(process: bus.Process) -> balance.Worker:
    serves = process.facts["serves"]
    return balance.Worker(process.name, None if serves == EVERY else frozenset(serves.split(",")), process.up_s)


def even_out(name: str) -> None:
    """Hand a sub-cluster over where this worker leads many more of them than another."""
    try:
        close_old_connections()
        led = posts.led()
    except DatabaseError as problem:
        log.warning("could not look who leads what", problem=str(problem))
        return
    workers = [_worker(each) for each in bus.processes() or [] if each.kind == "worker" and "serves" in each.facts]
    trusted = [worker for worker in workers if not terms.avoids(worker)]
    if (found := balance.handover(name, led, trusted)) is not None:
        terms.resign(*found)


def run(name: str, queues: list[str], threads: int, every: bool = False) -> int:
    """Work until SIGTERM. ``every``: for all sub-clusters, now and later. Returns the exit status."""
    served = Served(queues, every)
    pulse = Pulse(name, served)
    posts_held = standby.Standby(served.takes)
    os.environ["HYDRA_WORKER"] = name
    sys.setswitchinterval(SWITCH_S)
    terms.most = threads - DUTY_THREADS
    served_names = [queue.removeprefix("rm.") for queue in queues if queue.startswith("rm.")]
    liveness.start("worker", name, serves=EVERY if every else ",".join(served_names))

    @worker_ready.connect(weak=False)
    def on_ready(**_: object) -> None:
        heap.settle()
        notify.ready()
        served.listen = lambda queue: worker.consumer.call_soon(worker.consumer.add_task_queue, queue)
        pulse.start()
        look_around(served)
        warn_of_unknown(queues)
        if standby.CONTROL in queues:
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
    posts_held.start()
    worker.start()
    posts_held.join(END_S)
    return int(worker.exitcode or 0)
