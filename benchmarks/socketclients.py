"""A thousand browsers' ends of the live socket in one process: what they follow, how they fail, what they know.

``python -m benchmarks.socketclients``, with a stack's settings. Each line on standard output is a JSON object.
"""

import argparse
import asyncio
import base64
import json
import random
import re
import resource
import time
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

CHANGE = re.compile(r"change (\d+)")
HEAD = re.compile(r'{"topic":"([^"]*)","seq":(\d+),"(snapshot|delta)":')
CONNECTING = 25  # at a time
AWAY_S = (0.3, 1.5)
REST_S = 2.0
# What each of twenty tabs of an account follows, as pages do.
TABS = [["overview"]] * 6 + [["jobs"]] * 5 + [["job"]] * 5 + [["fleet", "overview"]] * 2 + [["queues", "queueuse"]] * 2
# Ages and moments of reading: they differ from second to second although nothing has happened.
MOVING = {"at", "summary_age_s", "lease_age_s", "age_s", "shares_age_s"}


@dataclass(slots=True)
class Account:
    """Somebody with a job that changes. changes: numbers and moments of its changes, ascending."""

    id: int
    cookie: str
    job: int
    changes: list[tuple[int, float]] = field(default_factory=list)


@dataclass(slots=True)
class Faults:
    """Parts of one: of the sockets that are cut off in a second, of the messages that are left out and asked for."""

    drops: float
    losses: float
    on: bool = True
    dropped: int = 0
    resyncs: int = 0


@dataclass(slots=True)
class Tab:
    """One socket. state: by topic, the last snapshot; of the fleet its columns by sub-cluster and name."""

    account: Account
    topics: list[str]
    url: str
    origin: Any  # the site itself, as a browser says
    faults: Faults
    rng: random.Random
    socket: ClientConnection | None = None
    state: dict[str, Any] = field(default_factory=dict)
    seq: dict[str, int] = field(default_factory=dict)
    seen: int = 0
    since: float = 0.0
    took_ms: list[float] = field(default_factory=list)
    gaps: int = 0
    messages: int = 0
    characters: int = 0

    async def run(self, gate: asyncio.Semaphore) -> None:
        """Follow the topics; connect again after every end."""
        while True:
            try:
                async with gate:
                    headers = {"Cookie": self.account.cookie}
                    self.socket = await connect(
                        self.url, origin=self.origin, additional_headers=headers, max_size=None, open_timeout=60
                    )
                self.seq.clear()
                await self._say(subscribe=self.topics)
                self.since = time.monotonic()
                async for text in self.socket:
                    await self._hear(str(text))
            except (ConnectionClosed, OSError, TimeoutError):
                pass
            self.socket = None
            await asyncio.sleep(self.rng.uniform(*AWAY_S))

    async def _say(self, **message: Any) -> None:
        assert self.socket is not None
        await self.socket.send(json.dumps(message))

    def drop(self) -> None:
        """Cut the line, without a word."""
        if self.socket is not None:
            self.faults.dropped += 1
            self.socket.transport.abort()

    async def _hear(self, text: str) -> None:
        self.messages += 1
        self.characters += len(text)
        now, head = time.monotonic(), HEAD.match(text)
        if head is None:
            return  # an error, or an answer to a ping
        topic, seq, what = head[1], int(head[2]), head[3]
        gap = seq != self.seq.get(topic, 0) + 1
        lost = self.faults.on and self.rng.random() < self.faults.losses
        if lost or (gap and what == "delta"):
            self.gaps += gap
            self.faults.resyncs += 1
            await self._say(resync=[topic])
            return
        self.seq[topic] = seq
        self._take(topic, what, text)
        if topic.startswith("job"):
            self._changed(text, now)

    def _take(self, topic: str, what: str, text: str) -> None:
        """Snapshots stay the text that came: they are read when somebody looks at them."""
        if topic != "fleet":
            self.state[topic] = text
        elif what == "snapshot":
            self.state[topic] = {p["name"]: columns(p) for p in json.loads(text)["snapshot"]["sub_clusters"]}
        else:
            self._step(json.loads(text)["delta"])

    def _step(self, delta: dict[str, Any]) -> None:
        known = self.state["fleet"]
        for part in delta["sub_clusters"]:
            if "names" in part or ("columns" in part and "rows" not in part):
                known[part["name"]] = columns(part)
            elif "columns" in part:
                rows = np.frombuffer(base64.b64decode(part["rows"]), "<u4")
                for name, values in columns(part).items():
                    known[part["name"]][name][rows] = values

    def _changed(self, text: str, now: float) -> None:
        last = max((int(n) for n in CHANGE.findall(text)), default=0)
        for number, at in self.account.changes:
            if self.seen < number <= last:
                self.took_ms.append((now - max(at, self.since)) * 1000)
        self.seen = max(self.seen, last)


def columns(part: dict[str, Any]) -> dict[str, np.ndarray]:
    from controlplane.statestore.queries.nodes.fleetrows import COLUMNS

    told = part.get("columns", {})
    return {name: np.frombuffer(base64.b64decode(told[name]), COLUMNS[name]).copy() for name in told}


def accounts(number: int) -> list[Account]:
    """One in five is an operator; each has a session and a job of its own."""
    from django.conf import settings
    from django.test import Client

    from controlplane.accounts.models import Role, User
    from controlplane.statestore.models import Job

    found = []
    pattern = Job.objects.order_by("id").first()
    assert pattern is not None
    for n in range(number):
        role = Role.OPERATOR if n % 5 == 0 else Role.TENANT
        user = User.objects.create(username=f"watcher-{n:03}", role=role, password="!")
        browser = Client()
        browser.force_login(user)
        cookie = f"{settings.SESSION_COOKIE_NAME}={browser.cookies[settings.SESSION_COOKIE_NAME].value}"
        job = Job.objects.get(pk=pattern.pk)
        job.pk, job.owner, job.name, job._state.adding = None, user, f"watched-{n:03}", True
        job.save()
        found.append(Account(user.pk, cookie, job.id))
    return found


class Changes:
    """Changes of jobs as a home RM makes them: a row, then a hint that may be lost."""

    def __init__(self, accounts: list[Account]) -> None:
        self.accounts, self.number = accounts, 0

    def one(self, account: Account) -> None:
        from controlplane import events
        from controlplane.statestore.models import Job

        self.number += 1
        Job.objects.filter(pk=account.job).update(message=f"change {self.number}")
        account.changes.append((self.number, time.monotonic()))
        events.job_changed({account.job: account.id})


def still(value: Any) -> Any:
    """Without what moves by itself."""
    if isinstance(value, dict):
        return {key: still(each) for key, each in value.items() if key not in MOVING}
    return [still(each) for each in value] if isinstance(value, list) else value


def truth(account: int, topic: str) -> Any:
    """What the stores say now of a topic, read anew by this process."""
    from controlplane.dashboard import snapshots
    from controlplane.dashboard.topics import parse
    from controlplane.statestore.queries.looks import Look

    name = parse(topic)
    assert name is not None
    found = snapshots.read(account, name, Look())
    if topic == "fleet":
        return {p["name"]: columns(p) for p in json.loads(found.whole())["sub_clusters"]}  # type: ignore[union-attr]
    return still(json.loads(found.body))  # type: ignore[union-attr]


def equal(topic: str, known: Any, true: Any) -> bool:
    if known is None:
        return False
    if topic != "fleet":
        return bool(still(json.loads(known)["snapshot"]) == true)
    return known.keys() == true.keys() and all(
        np.array_equal(known[sub][name], values) for sub, named in true.items() for name, values in named.items()
    )


def diverged(tabs: list[Tab]) -> dict[str, int]:
    """How many tabs know something else than the stores say, by topic."""
    read: dict[tuple[int, str], Any] = {}
    found: dict[str, int] = defaultdict(int)
    for tab in tabs:
        for topic in tab.topics:
            key = (tab.account.id, topic)
            if key not in read:
                read[key] = truth(*key)
            found[topic.partition(":")[0]] += not equal(topic, tab.state.get(topic), read[key])
    return dict(found)


async def watch(options: argparse.Namespace, people: list[Account]) -> None:
    faults, rng = Faults(options.drops, options.losses), random.Random(1)
    url = options.url.replace("http", "ws") + "/ws/v1"
    tabs = []
    for n in range(options.sockets):
        account = people[n % len(people)]
        topics = [f"job:{account.job}" if t == "job" else t for t in TABS[n // len(people) % len(TABS)]]
        tabs.append(Tab(account, topics, url, options.url, faults, random.Random(n)))
    gate = asyncio.Semaphore(CONNECTING)
    faults.on = False
    running = [asyncio.create_task(tab.run(gate)) for tab in tabs]
    began = time.monotonic()
    while not all(len(tab.state) == len(tab.topics) for tab in tabs):
        await asyncio.wait(running, timeout=0.1, return_when=asyncio.FIRST_EXCEPTION)
        for failed in (each for each in running if each.done()):
            failed.result()
    say(open=len(tabs), opened_s=round(time.monotonic() - began, 1))
    faults.on = True
    await trouble(tabs, Changes(people), faults, rng, options)
    say(resting=True)  # whoever reads this stops the leaders
    await asyncio.to_thread(input)
    await asyncio.sleep(REST_S)
    for each in running:
        each.cancel()  # what a tab knows is looked at as it is now
    say(**figures(tabs, faults), diverged=await asyncio.to_thread(diverged, tabs))


async def trouble(tabs: list[Tab], changes: Changes, faults: Faults, rng: random.Random, o: argparse.Namespace) -> None:
    """So many seconds of changes, of cut lines and of messages left out."""
    until, turn = time.monotonic() + o.seconds, 0
    while time.monotonic() < until:
        await asyncio.to_thread(changes.one, changes.accounts[turn % len(changes.accounts)])
        for tab in tabs:
            if rng.random() < faults.drops / o.changes_per_s:
                tab.drop()
        turn += 1
        await asyncio.sleep(1 / o.changes_per_s)
    faults.on = False


def figures(tabs: list[Tab], faults: Faults) -> dict[str, Any]:
    took = sorted(each for tab in tabs for each in tab.took_ms)
    followers = [tab for tab in tabs if any(topic.startswith("job") for topic in tab.topics)]
    missed = sum(tab.seen < tab.account.changes[-1][0] for tab in followers if tab.account.changes)
    return {
        "took_ms": [round(each, 1) for each in took], "missed": missed, "dropped": faults.dropped,
        "resyncs": faults.resyncs, "gaps": sum(tab.gaps for tab in tabs),
        "messages": sum(tab.messages for tab in tabs), "characters": sum(tab.characters for tab in tabs),
    }  # fmt: skip


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


def begin() -> None:
    import django

    django.setup()
    parser = argparse.ArgumentParser(prog="benchmarks.socketclients")
    parser.add_argument("--url", required=True)
    parser.add_argument("--sockets", type=int, required=True)
    parser.add_argument("--accounts", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--changes-per-s", type=float, required=True)
    parser.add_argument("--drops", type=float, required=True)
    parser.add_argument("--losses", type=float, required=True)
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, options.sockets + 1000), hard))
    asyncio.run(watch(options, accounts(options.accounts)))


if __name__ == "__main__":
    begin()
