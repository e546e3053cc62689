"""The agent: one loop that carries the core's instructions to the world and the world's news to the core.

Events come from the document reader, the container manager, the endpoints and the health checker; the core answers with
instructions, which the same parts carry out; the status updater tells the RM what has become of them.
"""

import selectors
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nodemanager import events as ev
from nodemanager import health, session
from nodemanager.checkpoint import Checkpoint
from nodemanager.clock import Clock
from nodemanager.config import Config
from nodemanager.containermanager import ContainerManager
from nodemanager.containers import Node
from nodemanager.core import Core
from nodemanager.documents import DocumentReader
from nodemanager.endpoints import Endpoints
from nodemanager.execs import Execs
from nodemanager.healthscript import HealthScript, configured_script
from nodemanager.http import Http
from nodemanager.isolation import Isolation
from nodemanager.localize import Cache, Localizer
from nodemanager.log import note
from nodemanager.mailbox import Background, Mailbox
from nodemanager.membership import Doubt, Membership
from nodemanager.redisconnection import RedisConnection
from nodemanager.state import Saved, StateFile
from nodemanager.statusupdater import StatusUpdater
from wire import keys

HEALTH_S = 5.0
STATUS_FILE_S = 2.0  # how often run/status.json is renewed
AWAY_S = 20.0  # without Redis, before it is asked whether it has moved
LIST_S = 0.02  # how often the supervisor is looked for while there is none


class Agent:
    """Puts the parts together and runs them; all on the loop's thread except transfers, log pushes and connecting."""

    def __init__(
        self,
        *,
        config: Config,
        isolation: Isolation,
        containers: Path,
        cgroup: str,
        http: Http,
        clock: Clock,
        saved: Saved,
        stop_containers: bool,
    ) -> None:
        self.config, self.stop_containers = config, stop_containers
        self.stopping = False
        self.stop_by = float("inf")
        self.health_at = self.status_file_at = self.tick_at = 0.0
        self.selector = selectors.DefaultSelector()
        self.mailbox = Mailbox(self.selector)
        self.background = Background(self.mailbox.post)
        self._set_up_membership(isolation, http, saved)
        self._set_up_containers(isolation, containers, cgroup, http)
        self._set_up_redis(clock, saved)
        self.handlers = self._instructions()

    # --- putting together

    def _set_up_membership(self, isolation: Isolation, http: Http, saved: Saved) -> None:
        """Who the node is, and what it knew before a restart."""
        known = session.parse(saved.session)
        self.membership = Membership(
            config=self.config,
            isolation=isolation,
            http=http,
            background=self.background,
            known=known,
            renewed=self._renewed,
        )
        node = Node(known.node_id, known.sub_cluster_id, known.max_disconnect_s, isolation.one_tenant)
        self.core = Core(node, saved.epoch, saved.generation)
        self.core.containers = {c.container_id: c for c in saved.containers}

    def _set_up_containers(self, isolation: Isolation, containers: Path, cgroup: str, http: Http) -> None:
        """What runs containers, and what looks after the machine."""
        script = HealthScript(
            configured_script(self.config, isolation), http, lambda: self.mailbox.post(self.health.check)
        )
        self.health = health.HealthChecker(
            [self.config.dir, *([] if containers.is_relative_to(self.config.dir) else [containers])],
            self.config.disk_reserve_mib,
            script,
            supervisor_up=lambda: self.containers.runtime.connection is not None or self.containers.runtime.resting,
            on_health=lambda flags, free: self.dispatch(ev.HealthRead(flags, free)),
        )
        cache = Cache(self.config.dir / "cache", self.config.cache_mib << 20)
        self.containers = ContainerManager(
            config=self.config,
            isolation=isolation,
            core=self.core,
            membership=self.membership,
            containers=containers,
            localizer=Localizer(http, cache, self.background.stopping),
            cgroup=cgroup,
            selector=self.selector,
            background=self.background,
            dispatch=self.dispatch,
            on_supervisor_change=self.health.check,
        )
        self.endpoints = Endpoints(
            self.config,
            self.containers.transfers.user_of,
            self.core,
            self.selector,
            http,
            self.dispatch,
            time.monotonic,
        )
        entrance = str(self.config.dir / "run" / "exec.sock")
        self.execs = Execs(http, self.config.ca_file, entrance, lambda: session.authorization(self.membership.session))

    def _set_up_redis(self, clock: Clock, saved: Saved) -> None:
        """What reads from Redis and writes to it, and what is on disk before."""
        self.redis = RedisConnection(
            selector=self.selector,
            background=self.background,
            on_ready=self._connected,
            on_wake=self._woken,
            on_denied=self._denied,
            on_unreachable=self._unreachable,
        )
        self.unreachable = ""  # why, as it was said
        self.doubt = Doubt(self.membership.renew, AWAY_S)
        seq = max(saved.seq, int(clock.unix() * 1000))
        self.checkpoint = Checkpoint(StateFile(self.config.dir), self.core, self.membership, seq)
        self.updater = StatusUpdater(
            self.redis, self.core, self.membership, self.checkpoint, self.containers.rates, self.dispatch
        )
        self.documents = DocumentReader(
            self.redis, self.membership, clock, self.dispatch, may_read=lambda: self.containers.listed
        )

    def _instructions(self) -> dict[type, Callable[[Any], None]]:
        """Who carries out what the core asks for."""
        return {
            ev.FetchTemplate: self.documents.fetch,
            ev.Localize: self.containers.localize,
            ev.Start: self.containers.start,
            ev.Stop: self.containers.stop,
            ev.Kill: self.containers.kill,
            ev.Collect: self.containers.collect,
            ev.Forget: self.containers.forget,
            ev.FindPorts: self.endpoints.find_ports,
            ev.Announce: self._announce,
            ev.Withdraw: self.endpoints.withdraw,
            ev.Probe: self.endpoints.probe,
            ev.Persist: lambda persist: self.checkpoint.mark_dirty(persist.durable),
            ev.PublishStatus: self.updater.request_publish,
            ev.Note: lambda line: note(line.level, line.text, **line.fields),
        }

    # --- the loop

    def run(self) -> None:
        """Until a signal, and with ``stop_containers`` until nothing runs any more."""
        self._prepare()
        while not self._done():
            for key, mask in self.selector.select(self._timeout()):
                key.data(mask)
            self.mailbox.deliver()
            self._timers(time.monotonic())
        self._close()

    def _prepare(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._shut_down())
        self.containers.logs.thread.start()
        self.containers.leftovers.start()
        self.health.script.start()
        self.endpoints.start(self.background.contact)
        self._configure()  # what was valid last time; a control plane that hangs must not make this node silent
        self.membership.renew()
        self.containers.runtime.tick(time.monotonic())

    def _shut_down(self) -> None:
        self.stopping = True
        self.documents.close()

    def _done(self) -> bool:
        if not self.stopping:
            return False
        if not self.stop_containers:
            return True
        live = [c for c in self.core.containers.values() if c.live]
        if self.stop_by == float("inf"):
            grace_s = max((c.grace_s for c in live), default=0.0)
            self.stop_by = time.monotonic() + grace_s + 10.0
            self.dispatch(ev.StopAll())
            note("info", "stopping containers", count=len(live))
            return False
        return not live or time.monotonic() > self.stop_by

    def _timeout(self) -> float:
        """Seconds to sleep when nothing happens."""
        if not self.containers.listed:
            return LIST_S  # nothing is published or read before
        due = min(self.updater.due(), self.documents.due, self.tick_at)
        return max(0.0, due - time.monotonic())

    def _timers(self, now: float) -> None:
        if not self.containers.listed:
            self.containers.runtime.tick(now)
        if now >= self.tick_at:
            self._tick(now)
        if now >= self.health_at:
            self.health_at = now + HEALTH_S
            self.health.check()
        if self.containers.listed:
            self.updater.tick(now)
            self.documents.tick(now)
        self.checkpoint.save()
        if now >= self.status_file_at:
            self.status_file_at = now + STATUS_FILE_S
            self._write_status_file(now)

    def _tick(self, now: float) -> None:
        self.tick_at = now + min(1.0, self.membership.heartbeat_s)
        self.containers.runtime.tick(now)
        if self.membership.decommissioned:
            self.containers.rest()
            self.membership.renew()  # an operator may take it back
        self.endpoints.prober.tick(now)
        if self.containers.listed:
            self.redis.tick(now)
            self.dispatch(ev.Tick(now))

    def _write_status_file(self, now: float) -> None:
        contact = self.core.last_contact
        health.write_status_file(
            self.config.dir,
            node_id=self.membership.session.node_id,
            sub_cluster=self.membership.session.sub_cluster,
            supervisor_pid=self.containers.runtime.pid,
            epoch=self.core.epoch,
            generation=self.core.generation,
            lag_s=round(now - contact, 3) if contact is not None else None,
            connected=self.redis.ready,
            health=self.core.health,
            enforces=self.membership.isolation.enforces,
            containers=sum(c.live for c in self.core.containers.values()),
        )

    def _close(self) -> None:
        self.background.stopping.set()
        self.health.script.close()
        self.endpoints.close()
        self.execs.close()
        self.updater.publish(time.monotonic())
        self.checkpoint.save()
        self.containers.logs.close(3.0 if self.stop_containers else 1.0)
        self.containers.runtime.close(quit_runtime=self.stop_containers)
        self.background.close()
        note("info", "stopped", containers="stopped" if self.stop_containers else "left running")

    # --- events and instructions

    def dispatch(self, event: ev.Event) -> None:
        """One event to the core, and what it decides to those who do it."""
        for instruction in list(self.core.handle(event)):
            self.handlers[type(instruction)](instruction)

    def _announce(self, instruction: ev.Announce) -> None:
        self.checkpoint.save()
        self.endpoints.announce(instruction)

    # --- Redis and the session

    def _unreachable(self, why: str) -> None:
        if why != self.unreachable:
            note("warning", "Redis cannot be reached", redis=self.redis.url, why=why)
        self.unreachable = why
        self.doubt.rise(time.monotonic())  # it may have moved

    def _connected(self) -> None:
        note("info", "connected", redis=self.redis.url)
        self.unreachable = ""
        self.doubt.end()
        self.documents.restart()
        self.updater.publish_soon()

    def _woken(self, what: bytes) -> None:
        if what == keys.EXECS:
            self.execs.look()
        else:
            self.documents.read()

    def _denied(self, why: str) -> None:
        if not self.membership.decommissioned:
            note("warning", "Redis refused this node; asking for its user to be restored", why=why)
        self.membership.renew()

    def _renewed(self, changed: bool) -> None:
        self.containers.wake()
        fresh = self.membership.session
        self.dispatch(ev.SessionRenewed(fresh.node_id, fresh.sub_cluster_id, fresh.max_disconnect_s))
        if changed:
            self.checkpoint.mark_dirty(durable=True)
        self.documents.forget()
        self._configure()
        self.redis.tick(time.monotonic())

    def _configure(self) -> None:
        s = self.membership.session
        self.redis.configure(s.redis_url, s.redis_user, s.credential, self.config.ca_file, self.membership.channels)
