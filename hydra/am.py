"""To be the application master of a job: ask for containers, launch them, hear of them, and say how the job ends.

from hydra.am import ApplicationMaster

am = ApplicationMaster.from_env()
am.register()
am.ask("work", 3, command=["python3", "work.py"], files=am.files("work.py"))
for event in am.events():
    if event.kind == "ended" and not am.live("work"):
        break
am.finish("SUCCEEDED")

Every call may be repeated, and is while the control plane is away. A master
that fails is started again (``retries``) and finds its containers as it left
them: ``register`` tells. ``AsyncApplicationMaster`` is the same for asyncio.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

from hydra.calls import AMError, Gone, Transport
from hydra.specs import AskSpec, File, Output, Secret, Tracking

if TYPE_CHECKING:
    from typing import Unpack

__all__ = [
    "AMError",
    "ApplicationMaster",
    "AskSpec",
    "AsyncApplicationMaster",
    "Container",
    "Event",
    "Gone",
    "Session",
    "Tracking",
]

WAIT_S = 25  # the server holds a look for events for up to this long


@dataclass(frozen=True)
class Event:
    """Something that happened to a container of the job.

    kind: ``granted`` (``launch``: it waits for ``ApplicationMaster.launch``;
    ``granted``: so many of this ask by now; they come in no order of
    ``index``), ``started``, ``ended`` (with ``state``, ``reason``, ``exit_code``,
    and ``message`` where its whole sub-cluster is lost),
    ``warned`` (it will be stopped in ``stops_in_s``, for the reason in
    ``message``), ``spared`` (it will not after all), or ``missed``: there were
    so many that some are gone; ``containers`` was read again.
    """

    seq: int
    kind: str
    container: str = ""
    ask: str = ""
    index: int = 0
    tag: str | None = None
    at: str = ""
    node: str | None = None
    rack: str | None = None
    launch: bool | None = None
    granted: int | None = None
    expires_in_s: float | None = None
    state: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    message: str | None = None
    stops_in_s: float | None = None

    @property
    def succeeded(self) -> bool:
        return self.state == "SUCCEEDED"


@dataclass
class Container:
    """A live container. ``launched``: it knows what to run."""

    id: str
    ask: str
    index: int
    state: str
    launched: bool
    node: str = ""
    tag: str = ""


@dataclass(frozen=True)
class Session:
    """What ``register`` tells. ``attempt``: of this master, from 1. ``limits``: asks, containers, grant_s, requests."""

    job: int
    name: str
    queue: str
    user: str
    attempt: int
    container: str
    files: list[File]
    limits: dict[str, Any]


@dataclass
class _Ask:
    """What was asked for under one name. granted: containers it has had so far. said: what the server knows."""

    spec: AskSpec | None
    target: int
    granted: int = 0
    said: tuple[int, AskSpec | None] | None = None


class ApplicationMaster:
    """One application master. Safe to use from several threads; ``events`` from one at a time."""

    def __init__(self, url: str, token: str, *, ca_file: str = "", patience_s: float = 600.0) -> None:
        self._http = Transport(url, token, ca_file, patience_s)
        self._lock = threading.RLock()
        self._asks: dict[str, _Ask] = {}
        self._cursor = 0
        self._tracking: Tracking | None = None
        self.session: Session | None = None
        self.containers: dict[str, Container] = {}

    @classmethod
    def from_env(cls, **options: Any) -> ApplicationMaster:
        """With the address and the token that the node puts into a master's environment."""
        try:
            url, token = os.environ["HYDRA_API_URL"], os.environ["HYDRA_AM_TOKEN"]
        except KeyError as missing:
            raise AMError(0, f"{missing.args[0]} is not set: this is no container of an application master") from None
        return cls(url, token, ca_file=os.environ.get("HYDRA_API_CA", ""), **options)

    def register(self, tracking: Tracking | None = None) -> Session:
        """Begin, or begin again: afterwards ``containers`` holds those of former attempts that live.

        tracking: the application's page, ``{"port": "ui", "path": "/progress"}``;
        port is one of the master's ``ports`` in the job file. The job's page and
        ``/proxy/JOB/`` lead there. Left out: as this program said before, or none.
        """
        self._tracking = tracking or self._tracking
        raw = self._http.call("POST", "register", {"tracking": self._tracking} if self._tracking else {})
        with self._lock:
            known = {f.name for f in fields(Session)}
            self.session = Session(**{name: value for name, value in raw.items() if name in known})
            self._cursor = int(raw["cursor"])
            for ask in raw["asks"]:
                mine = self._asks.setdefault(ask["id"], _Ask(None, 0))
                mine.target, mine.granted = ask["target"], max(mine.granted, ask["granted"])
            self.containers = {
                c["container"]: Container(
                    c["container"], c["ask"], c["index"], c["state"], c["launched"], c["node"], c["tag"]
                )
                for c in raw["containers"]
            }
            return self.session

    def files(self, *paths: str) -> list[File]:
        """Files that the job brought for its master, by their paths in its work folder, for other containers too."""
        if self.session is None:
            self.register()
        assert self.session is not None
        known = {file["path"]: file for file in self.session.files}
        missing = [path for path in paths if path not in known]
        if missing:
            raise AMError(0, f"the job brought no file {missing[0]!r}; it has {', '.join(known) or 'none'}")
        return [known[path] for path in paths]

    def live(self, ask: str | None = None) -> list[Container]:
        """Containers that were granted and have not ended, of one ask or all, oldest first."""
        with self._lock:
            return sorted((c for c in self.containers.values() if ask in (None, c.ask)), key=lambda c: (c.ask, c.index))

    def granted(self, ask: str) -> int:
        """How many containers this ask has had over its whole life: its target less what it waits for."""
        with self._lock:
            return self._asks[ask].granted if ask in self._asks else 0

    def ask(self, name: str, target: int, **spec: Unpack[AskSpec]) -> None:
        """Want ``target`` containers under this name, over its whole life; a repeated call changes nothing.

        spec: what they are like (``AskSpec``), with a ``command`` if all of
        them run the same. Without one each grant waits for ``launch``. A later
        call may leave spec out; it cannot change it.
        """
        with self._lock:
            mine = self._asks.setdefault(name, _Ask(None, 0))
            if spec or mine.spec is None:
                mine.spec = spec
            if (target, mine.spec) == mine.said:
                return
            mine.target = target
            said: dict[str, Any] = {"id": name, "target": target, **mine.spec}
            body = {"asks": [said], "after": self._cursor}
        self._http.call("POST", "allocate", body)
        mine.said = (target, mine.spec)

    def scale(self, name: str, count: int, **spec: Unpack[AskSpec]) -> list[str]:
        """Have ``count`` live containers under this name: ask for more, or give some back. Those given back.

        First go those that were not launched, then the newest. What ends is not replaced until the next call.
        """
        live = self.live(name)
        order = sorted(live, key=lambda c: (c.launched, -c.index))
        surplus = [c.id for c in order[: max(0, len(live) - count)]]
        with self._lock:
            mine = self._asks.setdefault(name, _Ask(None, 0))
            target = mine.granted + max(0, count - len(live))
        self.ask(name, target, **spec)
        if surplus:
            self.release(surplus)
        return surplus

    def release(self, containers: Iterable[str]) -> None:
        """Stop these containers; each ends with an event."""
        self._http.call("POST", "allocate", {"release": list(containers), "after": self._cursor})

    def launch(
        self,
        container: str,
        command: list[str] | str,
        *,
        shell: bool = False,
        env: Mapping[str, str] | None = None,
        secrets: Sequence[Secret] = (),
        files: Sequence[File] = (),
        outputs: Sequence[Output] = (),
        timeout_s: int = 0,
        grace_s: float = 5.0,
        tag: str = "",
    ) -> None:
        """Say what a granted container runs; one that was taken back meanwhile raises ``AMError`` (status 409).

        ``tag`` comes back with its later events, and with ``live`` after a restart.
        """
        one: dict[str, Any] = {"container": container, "command": command, "shell": shell, "env": dict(env or {})}
        one.update(secrets=list(secrets), files=list(files), outputs=list(outputs))
        one.update(timeout_s=timeout_s, grace_s=grace_s, tag=tag)
        self.launch_all([one])

    def launch_all(self, launches: Sequence[Mapping[str, Any]]) -> None:
        """Launch many at once: mappings of ``container`` and the arguments of ``launch``. All or none."""
        self._http.call("POST", "launch", {"launches": [dict(one) for one in launches]})
        with self._lock:
            for one in launches:
                if one["container"] in self.containers:
                    mine = self.containers[one["container"]]
                    mine.launched, mine.tag = True, str(one.get("tag", ""))

    def poll(self, wait_s: int = 0) -> list[Event]:
        """Events that are news, in order; with ``wait_s`` waits so long for one."""
        raw = self._http.call("GET", f"events?after={self._cursor}&wait_s={wait_s}", timeout_s=wait_s + 15.0)
        if raw["missed"]:
            self.register()
            return [Event(self._cursor, "missed")]
        found = [_event(e) for e in raw["events"]]
        with self._lock:
            for event in found:
                if event.seq > self._cursor:  # another thread may have taken it
                    self._take(event)
                    self._cursor = event.seq
            self._cursor = max(self._cursor, int(raw["cursor"]))
        return found

    def events(self, timeout_s: float | None = None) -> Iterator[Event]:
        """Events as they come, for ever, or until none came for ``timeout_s``. Goes on where it was after any gap."""
        silent = 0.0
        while timeout_s is None or silent < timeout_s:
            wait_s = WAIT_S if timeout_s is None else max(1, min(WAIT_S, int(timeout_s - silent)))
            found = self.poll(wait_s)
            silent = 0.0 if found else silent + wait_s
            yield from found

    def history(self) -> Iterator[Event]:
        """What was told up to now, the newest 10,000 events of it: what a later attempt may want to know again."""
        after = 0
        while after < self._cursor:
            raw = self._http.call("GET", f"events?after={after}")
            found = [_event(e) for e in raw["events"] if e["seq"] <= self._cursor]
            yield from found
            after = found[-1].seq if found else self._cursor

    def _take(self, event: Event) -> None:
        """What the event, which is news, changes of what is live. ``register`` may have told it."""
        if event.kind == "granted":
            ask = self._asks.setdefault(event.ask, _Ask(None, 0))
            number = event.index + 1 if event.granted is None else event.granted
            new = number > ask.granted
            ask.granted = max(ask.granted, number)
            if new or event.container in self.containers:
                self.containers.setdefault(
                    event.container,
                    Container(event.container, event.ask, event.index, "ALLOCATED", not event.launch, event.node or ""),
                )
        elif event.kind == "started" and event.container in self.containers:
            self.containers[event.container].state = "RUNNING"
        elif event.kind == "ended":
            self.containers.pop(event.container, None)

    def output(self, container: str, name: str) -> bytes:
        """What a container that has succeeded left as its output ``name``."""
        return self._http.fetch(f"containers/{container}/outputs/{name}")

    def finish(self, status: str = "SUCCEEDED", message: str = "") -> None:
        """The job ends so (or FAILED). Its other containers are stopped; end this program within half a minute."""
        self._http.call("POST", "finish", {"status": status, "message": message}, done=409)


def _event(raw: Mapping[str, Any]) -> Event:
    known = {f.name for f in fields(Event)}
    return Event(**{name: value for name, value in raw.items() if name in known})


@dataclass
class AsyncApplicationMaster:
    """``ApplicationMaster`` for asyncio: the same calls, awaited; each holds a thread while it lasts."""

    am: ApplicationMaster
    _events: asyncio.Lock = field(default_factory=asyncio.Lock)

    @classmethod
    def from_env(cls, **options: Any) -> AsyncApplicationMaster:
        return cls(ApplicationMaster.from_env(**options))

    @property
    def session(self) -> Session | None:
        return self.am.session

    @property
    def containers(self) -> dict[str, Container]:
        return self.am.containers

    def live(self, ask: str | None = None) -> list[Container]:
        return self.am.live(ask)

    def files(self, *paths: str) -> list[File]:
        """As of ``ApplicationMaster``; register first."""
        return self.am.files(*paths)

    async def register(self, tracking: Tracking | None = None) -> Session:
        return await asyncio.to_thread(self.am.register, tracking)

    async def ask(self, name: str, target: int, **spec: Unpack[AskSpec]) -> None:
        await asyncio.to_thread(self.am.ask, name, target, **spec)

    async def scale(self, name: str, count: int, **spec: Unpack[AskSpec]) -> list[str]:
        return await asyncio.to_thread(self.am.scale, name, count, **spec)

    async def release(self, containers: Iterable[str]) -> None:
        await asyncio.to_thread(self.am.release, containers)

    async def launch(self, container: str, command: list[str] | str, **options: Any) -> None:
        await asyncio.to_thread(self.am.launch, container, command, **options)

    async def launch_all(self, launches: Sequence[Mapping[str, Any]]) -> None:
        await asyncio.to_thread(self.am.launch_all, launches)

    async def poll(self, wait_s: int = 0) -> list[Event]:
        async with self._events:
            return await asyncio.to_thread(self.am.poll, wait_s)

    async def events(self, timeout_s: float | None = None) -> AsyncIterator[Event]:
        silent = 0.0
        while timeout_s is None or silent < timeout_s:
            wait_s = WAIT_S if timeout_s is None else max(1, min(WAIT_S, int(timeout_s - silent)))
            found = await self.poll(wait_s)
            silent = 0.0 if found else silent + wait_s
            for event in found:
                yield event

    async def history(self) -> list[Event]:
        return await asyncio.to_thread(lambda: list(self.am.history()))

    async def output(self, container: str, name: str) -> bytes:
        return await asyncio.to_thread(self.am.output, container, name)

    async def finish(self, status: str = "SUCCEEDED", message: str = "") -> None:
        await asyncio.to_thread(self.am.finish, status, message)
