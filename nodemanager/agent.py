"""The agent: one loop that carries the core's instructions to the world and the world's news to the core."""

import functools
import selectors
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import hiredis

from nodemanager import events as ev
from nodemanager import health, limits, session
from nodemanager.clock import Clock
from nodemanager.config import Config
from nodemanager.core import Core, Node
from nodemanager.healthscript import HealthScript
from nodemanager.http import Http, HttpError
from nodemanager.lifecycle import Container
from nodemanager.limits import Limits
from nodemanager.link import Link
from nodemanager.localize import Cache, Localizer
from nodemanager.log import note
from nodemanager.logs import LogPusher
from nodemanager.mailbox import Mailbox
from nodemanager.runtimes import Happened
from nodemanager.runtimes.process import ProcessRuntime
from nodemanager.serving import Servers
from nodemanager.state import SEQ_RESERVE, Saved, StateFile
from nodemanager.transfers import Transfers
from nodemanager.usage import Rates
from wire import desired, keys, policy, status, template
from wire.ids import format_container
from wire.nodeapi import NodeSession
from wire.states import NodeHealth

COALESCE_S = 0.02  # least time between two statuses
HEALTH_S = 5.0
REPORT_S = 2.0  # how often run/status.json is renewed
RENEW_S = 5.0  # least time between two session requests
TRANSFERS = 4  # downloads and uploads at the same time


class Agent:
    """Everything runs on the loop's thread except transfers, log pushes and connecting."""

    def __init__(
        self, *, config: Config, found: Limits, containers: Path, cgroup: str, http: Http, clock: Clock, saved: Saved
    ) -> None:
        self.config, self.limits, self.containers = config, found, containers
        self.http, self.clock, self.saved = http, clock, saved
        self.selector = selectors.DefaultSelector()
        self.mailbox = Mailbox(self.selector)
        self.post = self.mailbox.post
        self.pool = ThreadPoolExecutor(TRANSFERS, "transfer")
        self.stopping = threading.Event()
        self.state = StateFile(config.dir)
        self.session: NodeSession = session.parse(saved.session)
        self.lease_keys = session.keys(self.session)
        self.heartbeat_s = config.heartbeat_s or self.session.heartbeat_s
        self.core = self._core()
        self.runtime = ProcessRuntime(
            root=config.dir,
            containers=containers,
            cgroup=cgroup,
            max_disconnect_s=self.session.max_disconnect_s,
            selector=self.selector,
            tell=self.happened,
        )
        self.link = Link(
            selector=self.selector,
            threads=self.pool,
            post=self.post,
            on_ready=self.ready,
            on_wake=self.ask,
            on_denied=self.denied,
        )
        self.logs = LogPusher(http, note)
        cache = Cache(config.dir / "cache", config.cache_mib << 20)
        self.transfers = Transfers(self, containers, Localizer(http, cache, self.stopping))
        self.servers = Servers(config, self.core, self.selector, http, self.hear, time.monotonic)
        self.seq = max(saved.seq, int(clock.unix() * 1000))
        self.seq_reserved = 0
        self.last_document = self.last_policy = b""
        self.asking = self.ask_again = self.listed = False
        self.changed = self.persist = self.durable = False
        self.published_at = self.health_at = self.report_at = self.tick_at = 0.0
        self.heartbeat_at = self.ask_at = 0.0  # the next status, the next look at the document are due
        self.renewing = False
        self.renewed_at = float("-inf")
        self.fetching: set[bytes] = set()
        self.script = HealthScript(limits.health_script(config, found), http, lambda: self.post(self._check_health))
        self.rates = Rates()
        self.finish = False
        self.finish_by = float("inf")
        self.stop_containers = False

    def _core(self) -> Core:
        node = Node(
            self.session.node_id,
            self.session.sub_cluster_id,
            self.session.max_disconnect_s,
            not self.limits.separates_users,
        )
        core = Core(node, self.saved.epoch, self.saved.generation)
        core.containers = {c.container_id: c for c in self.saved.containers}
        return core

    # --- the loop

    def run(self) -> None:
        self._prepare()
        while not self.done():
            for key, mask in self.selector.select(self._timeout()):
                key.data(mask)
            self.mailbox.deliver()
            self._timers(time.monotonic())
        self._close()

    def _prepare(self) -> None:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self.shut_down())
        self.logs.thread.start()
        self.script.start()
        self.servers.start(self.pool)
        self.configure()  # what was valid last time; a control plane that hangs must not make this node silent
        self.renew()
        self.runtime.tend(time.monotonic())

    def shut_down(self) -> None:
        self.finish = True

    def done(self) -> bool:
        if not self.finish:
            return False
        if not self.stop_containers:
            return True
        live = [c for c in self.core.containers.values() if c.live]
        if self.finish_by == float("inf"):
            grace_s = max((c.grace_s for c in live), default=0.0)
            self.finish_by = time.monotonic() + grace_s + 10.0
            self.hear(ev.StopAll(time.monotonic()))
            note("info", "stopping containers", count=len(live))
            return False
        return not live or time.monotonic() > self.finish_by

    def _timeout(self) -> float:
        now = time.monotonic()
        due = min(self.heartbeat_at, self.ask_at, self.tick_at)
        if self.changed:
            due = min(due, self.published_at + COALESCE_S)
        if not self.listed:
            due = min(due, now + 0.02)
        return max(0.0, due - now)

    def _timers(self, now: float) -> None:
        if not self.listed:
            self.runtime.tend(now)
        if now >= self.tick_at:
            self.tick_at = now + min(1.0, self.heartbeat_s)
            self.runtime.tend(now)
            self.servers.prober.tend(now)
            if self.listed:
                self.link.tend(now)
                self.hear(ev.Tick(now))
        if now >= self.health_at:
            self.health_at = now + HEALTH_S
            self._check_health()
        if self.listed and (now >= self.heartbeat_at or (self.changed and now >= self.published_at + COALESCE_S)):
            self.heartbeat_at = now + self.heartbeat_s  # any status is a heartbeat
            self.publish(now)
        if self.listed and now >= self.ask_at:
            self.ask_at = now + self.heartbeat_s
            self.ask()
        self._save()
        if now >= self.report_at:
            self.report_at = now + REPORT_S
            self._write_report(now)

    def _check_health(self) -> None:
        flags, free = health.check(self.config.dir, self.config.disk_reserve_mib)
        flags |= self.script.flag
        if self.runtime.connection is None:
            flags |= NodeHealth.SUPERVISOR_DOWN
        self.hear(ev.HealthRead(flags, free))

    def _write_report(self, now: float) -> None:
        contact = self.core.last_contact
        health.write_report(
            self.config.dir,
            node_id=self.session.node_id,
            sub_cluster=self.session.sub_cluster,
            supervisor_pid=self.runtime.pid,
            epoch=self.core.epoch,
            generation=self.core.generation,
            lag_s=round(now - contact, 3) if contact is not None else None,
            connected=self.link.ready,
            health=self.core.health,
            containers=sum(c.live for c in self.core.containers.values()),
        )

    def _close(self) -> None:
        self.stopping.set()
        self.script.close()
        self.servers.close()
        self.publish(time.monotonic())
        self._save()
        self.logs.close(3.0 if self.stop_containers else 1.0)
        self.runtime.close(quit_runtime=self.stop_containers)
        self.pool.shutdown(wait=False, cancel_futures=True)
        note("info", "stopped", containers="stopped" if self.stop_containers else "left running")

    # --- events and instructions

    def hear(self, event: ev.Event) -> None:
        self.obey(self.core.handle(event))

    def obey(self, instructions: list[ev.Instruction]) -> None:
        for instruction in list(instructions):
            DOES[type(instruction)](self, instruction)

    def do_persist(self, instruction: ev.Persist) -> None:
        self.persist = True
        self.durable |= instruction.durable

    def do_announce(self, instruction: ev.Announce) -> None:
        self._save()
        self.servers.announce(instruction)

    def do_report(self, news: ev.Report) -> None:
        self.changed |= not news.patient

    def do_fetch(self, instruction: ev.FetchTemplate) -> None:
        digest = instruction.digest
        if digest in self.fetching or not self.link.ready:
            return  # the core asks again at every tick
        self.fetching.add(digest)
        self.link.send(
            lambda answer: self._template(digest, answer),
            "GET",
            keys.template(self.session.sub_cluster_id, digest.hex()),
        )

    def _template(self, digest: bytes, answer: Any) -> None:
        self.fetching.discard(digest)
        if not isinstance(answer, bytes):
            return
        try:
            read = template.decode(answer, digest)
        except (ValueError, TypeError, KeyError):
            read = None
        self.hear(ev.TemplateRead(digest, read, time.monotonic()))

    def folder(self, cid: int) -> Path:
        return self.transfers.folder(cid)

    def held(self, cid: int) -> Container:
        return self.core.containers[cid]

    def do_localise(self, instruction: ev.Localise) -> None:
        container = self.held(instruction.container_id)
        assert container.lease is not None
        assert container.template is not None
        uid = limits.uid_of(self.config, self.limits, container.lease.tenant)
        self.transfers.localise(container.container_id, container.template, uid)

    def localised(self, cid: int, error: str) -> None:
        if cid in self.core.containers:
            self.hear(ev.Localised(cid, error, time.monotonic()))
        else:
            self.transfers.remove(cid)  # forgotten while its files came

    def do_start(self, instruction: ev.Start) -> None:
        cid = instruction.container_id
        folder = str(self.folder(cid))
        token = self.transfers.tokens.pop(cid, "")
        order = limits.order(self.held(cid), self.config, self.limits, folder, self.session.sub_cluster, token)
        self.runtime.start(order)
        self.logs.watch(format_container(cid), folder)

    def do_stop(self, instruction: ev.Stop) -> None:
        self.runtime.stop(instruction.container_id, instruction.grace_s)

    def do_kill(self, instruction: ev.Kill) -> None:
        self.runtime.stop(instruction.container_id, 0.0)

    def do_collect(self, instruction: ev.Collect) -> None:
        self.transfers.collect(instruction.container_id)

    def collected(self, cid: int, error: str) -> None:
        self.hear(ev.Collected(cid, error, time.monotonic()))

    def do_forget(self, instruction: ev.Forget) -> None:
        cid = instruction.container_id
        self.runtime.forget(cid)
        self.logs.forget(format_container(cid), lambda: self.transfers.remove(cid))

    # --- the runtime's news

    def happened(self, news: Happened) -> None:
        now, cid = time.monotonic(), news.container_id
        if news.kind == "list":
            self._list(news, now)
        elif news.kind == "started":
            self.hear(ev.Started(cid, now))
        elif news.kind == "start_failed":
            self.logs.end(format_container(cid), -1)  # its stderr says why
            self.hear(ev.StartFailed(cid, news.error, now))
        elif news.kind == "exit" and news.exit is not None:
            self.rates.forget(cid)
            self.logs.end(format_container(cid), news.log_bytes)
            self.hear(ev.Exited(cid, news.exit, now))
        elif news.kind == "sample":
            self.rates.sample(cid, news.cpu_ms, now)
            self.hear(ev.Sampled(cid, news.memory_mib, news.cpu_ms))
        elif news.kind == "down":
            note("error", "the supervisor is gone; starting another")
            self.listed = False
            self._check_health()
        elif news.kind == "refused":
            note("error", "the supervisor refused an order", why=news.error)

    def _list(self, news: Happened, now: float) -> None:
        first, self.listed = not self.runtime.seen, True
        self.runtime.seen = True
        if self.core.last_contact is None:
            self.core.last_contact = now
        held = {record.container_id for record in news.held}
        self.hear(ev.RuntimeListed(list(news.held), now))
        for cid in held:
            if cid in self.core.containers:
                self.logs.watch(format_container(cid), str(self.folder(cid)))
        for record in news.held:
            if record.exit is not None:
                self.logs.end(format_container(record.container_id), -1)
        if first:
            self.obey(self.core.resume_all())
            self._sweep(held)
            note("info", "ready", held=len(held), epoch=self.core.epoch, generation=self.core.generation)
        self._check_health()

    def _sweep(self, held: set[int]) -> None:
        """Folders of containers nobody knows any more: their last logs travel, then they go."""
        for cid in self.transfers.folders_of() - set(self.core.containers) - held:
            name = format_container(cid)
            self.logs.watch(name, str(self.transfers.folder(cid)))
            self.logs.forget(name, functools.partial(self.transfers.remove, cid))

    # --- Redis

    def ready(self) -> None:
        note("info", "connected", redis=self.link.url)
        self.fetching.clear()
        self.asking = False
        self.heartbeat_at = self.ask_at = 0.0

    def denied(self, why: str) -> None:
        note("warning", "Redis refused this node; asking for its user to be restored", why=why)
        self.renew()

    def ask(self) -> None:
        """Read the desired document; a hint that comes meanwhile is not lost."""
        if not self.link.ready or not self.listed or self.finish:
            return
        if self.asking:
            self.ask_again = True
            return
        self.asking, self.ask_at = True, time.monotonic() + self.heartbeat_s
        s, n = self.session.sub_cluster_id, self.session.node_id
        self.link.send(self._answered, "MGET", keys.desired(s, n), keys.policy(s))

    def _answered(self, answer: Any) -> None:
        document, told = answer if isinstance(answer, list) else (answer, None)
        self._document(document)
        if isinstance(told, bytes) and told != self.last_policy and not self.finish:
            self.last_policy = told
            try:
                self.hear(ev.PolicyTold(*policy.decode(told)))
            except policy.PolicyError as error:
                note("warning", "what names the policy version cannot be read", why=str(error))

    def _document(self, answer: Any) -> None:
        self.asking = False
        if self.finish:
            return  # nothing new is started on the way out
        if self.ask_again:
            self.ask_again = False
            self.ask()
        now = time.monotonic()
        if not isinstance(answer, hiredis.ReplyError):
            self.hear(ev.Contact(now))
        if not isinstance(answer, bytes) or answer == self.last_document:
            return  # absent is not empty
        try:
            doc = desired.decode(answer, self.session.node_id, self.lease_keys)
        except desired.DesiredError as error:
            note("warning", "a desired document is refused", why=str(error))
            if "unknown key" in str(error):
                self.renew()
            return
        self.last_document = answer
        self.hear(ev.DesiredRead(doc, now, self.clock.unix()))

    def publish(self, now: float) -> None:
        """The complete status."""
        if not self.link.ready:
            return
        self.seq += 1
        self.persist |= self.seq >= self.seq_reserved
        self._save()
        data = status.encode(self.core.status(self.seq, self.rates.total()))
        s, n = self.session.sub_cluster_id, self.session.node_id
        self.link.send(self._published, "SET", keys.status(s, n), data)
        if self.changed:
            self.link.send(self._published, "ZADD", keys.dirty(s), "0", str(n))
        self.changed = False
        self.published_at = now

    def _published(self, answer: Any) -> None:
        if isinstance(answer, hiredis.ReplyError):
            note("warning", "Redis refused the status", why=str(answer))

    # --- identity and local state

    def renew(self) -> None:
        """Ask the control plane who we are; it restores our Redis user on the way."""
        if self.renewing or time.monotonic() - self.renewed_at < RENEW_S:
            return
        self.renewing, self.renewed_at = True, time.monotonic()
        known = self.session

        def work() -> None:
            try:
                fresh = session.renew(self.http, self.config, self.limits, known)
            except (HttpError, ValueError) as error:
                text = str(error)
                self.post(lambda: self._not_renewed(text))
            else:
                self.post(lambda: self._renewed(fresh))

        self.pool.submit(work)

    def _not_renewed(self, why: str) -> None:
        self.renewing = False
        note("warning", "the control plane did not renew the session", why=why)

    def _renewed(self, fresh: NodeSession) -> None:
        self.renewing = False
        if (fresh.node_id, fresh.sub_cluster_id) != (self.session.node_id, self.session.sub_cluster_id):
            note("warning", "registered as another node", was=self.session.node_id, now=fresh.node_id)
            self.core.epoch = self.core.generation = self.core.policy_epoch = 0
            self.core.node.node_id, self.core.node.sub_cluster = fresh.node_id, fresh.sub_cluster_id
        if fresh != self.session:
            self.persist = self.durable = True
        self.session = fresh
        self.core.node.max_disconnect_s = fresh.max_disconnect_s
        self.lease_keys = session.keys(fresh)
        self.heartbeat_s = self.config.heartbeat_s or fresh.heartbeat_s
        self.last_document = self.last_policy = b""
        self.configure()
        self.link.tend(time.monotonic())

    def configure(self) -> None:
        s = self.session
        channels = keys.wake_channel(s.sub_cluster_id, s.node_id), keys.policy_wake(s.sub_cluster_id)
        self.link.configure(s.redis_url, s.redis_user, s.credential, self.config.ca_file, channels)

    def _save(self) -> None:
        """What is new, before it is told: the control plane hears nothing that a restart would not know."""
        if not self.persist:
            return
        self.seq_reserved = self.seq + SEQ_RESERVE
        value = session.to_json(self.session, self.config)
        try:
            self.state.save(value, self.config.control_plane, self.core, self.seq_reserved, self.durable)
        except OSError as error:
            note("error", "local state could not be written", why=error.strerror)
            return  # tried again with the next change
        self.persist = self.durable = False


DOES: dict[type, Callable[[Agent, Any], None]] = {
    ev.FetchTemplate: Agent.do_fetch,
    ev.Localise: Agent.do_localise,
    ev.Start: Agent.do_start,
    ev.Stop: Agent.do_stop,
    ev.Kill: Agent.do_kill,
    ev.Collect: Agent.do_collect,
    ev.Forget: Agent.do_forget,
    ev.FindPorts: lambda agent, instruction: agent.servers.find(instruction),
    ev.Announce: Agent.do_announce,
    ev.Withdraw: lambda agent, instruction: agent.servers.withdraw(instruction),
    ev.Probe: lambda agent, instruction: agent.servers.probe(instruction),
    ev.Persist: Agent.do_persist,
    ev.Report: Agent.do_report,
    ev.Note: lambda agent, instruction: note(instruction.level, instruction.text, **instruction.fields),
}
