"""Hints that are lost, overflow or lose their Redis: browsers show what the database holds within two seconds."""

import asyncio
import logging
import subprocess
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

import pytest
import redis
from asgiref.sync import sync_to_async
from channels.layers import channel_layers, get_channel_layer
from django.conf import settings
from django.utils import timezone

from controlplane import events
from controlplane.accounts.models import Role, User
from controlplane.embedded import binaries
from controlplane.statestore.models import Job, SubCluster
from tests.integration.dashboard.tabs import Tab, tab
from tests.limits import judge
from tests.machine import stalls
from tests.patience import passes, stretched, wait_until
from tests.stack import own_port

pytestmark = [pytest.mark.faults, pytest.mark.django_db(transaction=True)]
CONVERGED_S = 2.0
CHANGES, CHANGES_MOST = 30, 300
PAUSES_S = (0.0, 0.02, 0.3, 1.0)  # between two changes: within one read, between reads, long after one
DEPLOYED = "channels_redis.pubsub.RedisPubSubChannelLayer"
LAYERS = "tests.integration.dashboard.layers"


class Valkey:
    """A server of the test's own, killed and started as it likes."""

    def __init__(self, folder: Path) -> None:
        self.port = own_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [str(binaries.valkey()), "--port", str(self.port), "--dir", str(folder), "--save", ""]
        self._command += ["--client-output-buffer-limit", "pubsub 64kb 0 0"]
        self.client = redis.Redis(port=self.port, socket_timeout=5)
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        wait_until(self._answers, 10, "the server answers")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self) -> bool:
        with suppress(redis.RedisError):
            return bool(self.client.ping())
        return False


@pytest.fixture
def valkey(tmp_path: Path) -> Iterator[Valkey]:
    running = Valkey(tmp_path)
    yield running
    running.client.close()
    running.kill()


@pytest.fixture
def layer_of(valkey: Valkey, monkeypatch: pytest.MonkeyPatch) -> Iterator:
    """Puts a layer in place of the one of the settings, on the test's own server."""

    def use(backend: str, **config: object) -> None:
        chosen = {"BACKEND": backend, "CONFIG": {"hosts": [valkey.url], "prefix": "ch", **config}}
        monkeypatch.setattr(settings, "CHANNEL_LAYERS", {"default": chosen})
        channel_layers.backends = {}

    yield use
    channel_layers.backends = {}


@dataclass
class Watcher:
    """What one tab is shown of a job's priority, on each of its topics, and when."""

    tab: Tab
    shown: dict[str, list[tuple[float, int]]] = field(default_factory=dict)
    heard: asyncio.Event = field(default_factory=asyncio.Event)

    async def watch(self) -> None:
        while True:
            message = await self.tab.hear(60)
            topic, snapshot = message["topic"], message["snapshot"]
            job = snapshot["results"][0] if topic == "jobs" else snapshot["job"]
            self.shown.setdefault(topic, []).append((time.monotonic(), job["priority"]))
            self.heard.set()

    async def until(self, topics: list[str], change: int) -> None:
        """Wait until all these topics have shown the change, or a later one."""
        while not all(any(shown >= change for _, shown in self.shown.get(topic, [])) for topic in topics):
            self.heard.clear()
            await self.heard.wait()

    def lag(self, topic: str, change: int, at: float) -> float:
        """Seconds from a change's commit to the first snapshot that has it, or a later one."""
        return next(when for when, shown in self.shown[topic] if shown >= change) - at


def change(job: int, number: int) -> float:
    """Commit the change, say that something changed, and return when it was committed."""
    Job.objects.filter(pk=job).update(priority=number)
    committed = time.monotonic()
    events.job_changed({job: Job.objects.values_list("owner_id", flat=True).get(pk=job)})
    return committed


@asynccontextmanager
async def background(*todo) -> AsyncIterator[None]:
    tasks = [asyncio.create_task(one) for one in todo]
    try:
        yield
        for task in tasks:
            if task.done():
                task.result()  # a watcher that failed fails the test
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


@sync_to_async
def a_job(owner: User, home: SubCluster) -> int:
    now = timezone.now()
    spec = {"groups": []}
    return Job.objects.create(name="job", queue="root.a", owner=owner, spec=spec, home=home, submitted_at=now).pk


async def converges(
    promise: str, owner: User, home: SubCluster, trouble=None, enough: Callable[[], bool] = lambda: True
) -> None:
    """Make many changes while three tabs of two accounts watch, and judge the longest that any took to be shown.

    enough: whether there was trouble often enough; until then a few more changes are made.
    """
    mark = stalls.mark()
    job, dice, committed = await a_job(owner, home), Random(15), {}
    viewer = await User.objects.acreate(username="watcher", role=Role.VIEWER)
    topics = ["jobs", f"job:{job}"]
    async with tab(owner) as one, tab(owner) as two, tab(viewer) as three:
        watchers = [Watcher(each) for each in (one, two, three)]
        for watcher in watchers:
            await watcher.tab.say(subscribe=topics)
        async with background(*(w.watch() for w in watchers), *([trouble] if trouble else [])):
            while len(committed) < CHANGES or (len(committed) < CHANGES_MOST and not await sync_to_async(enough)()):
                number = len(committed) + 1
                committed[number] = await sync_to_async(change)(job, number)
                await passes(dice.choice(PAUSES_S))
            async with asyncio.timeout(stretched(10)):
                for watcher in watchers:
                    await watcher.until(topics, len(committed))
    lags = [w.lag(topic, n, at) for w in watchers for topic in topics for n, at in committed.items()]
    print(f"measured: {len(lags)} changes shown, median {sorted(lags)[len(lags) // 2]:.2f} s")
    judge(promise, max(lags), CONVERGED_S, mark)


async def test_a_fifth_of_the_hints_is_lost(alice: User, home: SubCluster, layer_of) -> None:
    layer_of(f"{LAYERS}.Lossy")
    await converges("a fifth of the hints is lost: a change is shown", alice, home)
    layer = get_channel_layer()
    assert layer is not None and layer.lost >= 2


async def test_a_full_channel_drops_what_comes(
    alice: User, home: SubCluster, layer_of, caplog: pytest.LogCaptureFixture
) -> None:
    """Room for one message, which what others send takes; and a fifth is lost besides."""
    caplog.set_level(logging.INFO, logger="channels_redis.core")
    layer_of(f"{LAYERS}.Narrow", capacity=1)

    async def crowd() -> None:
        noise = {"type": "hint", "topics": ["job:999999"]}
        while True:
            await asyncio.gather(*(get_channel_layer().group_send(events.GROUP, noise) for _ in range(5)))
            await passes(0.05)

    await converges("channels are full: a change is shown", alice, home, crowd())
    assert caplog.text.count("over capacity") > CHANGES


async def test_the_server_throws_the_listener_out(alice: User, home: SubCluster, layer_of, valkey: Valkey) -> None:
    """What waits for it outgrows its buffer, again and again; where it does arrive it is no message at all."""
    layer_of(DEPLOYED)

    def publish() -> None:
        with valkey.client.pipeline(transaction=True) as together:
            for _ in range(8):
                together.publish(f"ch__group__{events.GROUP}", b"\xc1" * 4_000_000)  # more than sockets take
            together.execute()

    def thrown_out() -> int:
        return int(valkey.client.info("stats")["client_output_buffer_limit_disconnections"])

    async def flood() -> None:
        while True:
            before = await sync_to_async(thrown_out)()
            while await sync_to_async(thrown_out)() == before:  # a quick reader keeps up with one of these
                await sync_to_async(publish)()
            await passes(1)

    await converges("the listener is thrown out: a change is shown", alice, home, flood(), lambda: thrown_out() >= 2)
    assert thrown_out() >= 2


async def test_the_server_is_killed_again_and_again(alice: User, home: SubCluster, layer_of, valkey: Valkey) -> None:
    layer_of(DEPLOYED)
    killed = 0

    async def restarts() -> None:
        nonlocal killed
        while True:
            await passes(2)
            await sync_to_async(valkey.kill)()
            killed += 1
            await passes(1.5)  # the outage itself
            await sync_to_async(valkey.start)()

    await converges("the hints' Redis is killed: a change is shown", alice, home, restarts(), lambda: killed >= 2)
    assert killed >= 2
