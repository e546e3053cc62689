"""The node's decisions: events in, instructions out. Pure: no I/O and no clock of its own.

The desired document says which containers a node should hold; the core's work
is the difference. The way of one container is ``nodemanager.containers``.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from nodemanager import events as ev
from nodemanager.containers import Containers
from nodemanager.events import Instruction
from nodemanager.lifecycle import TRANSITIONS, Container, Phase, apply_meta, container_report, from_meta
from wire.desired import WRITER_RM, Desired, Lease
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.states import Want
from wire.status import MAX_ENTRIES, NodeStatus

TEMPLATE_WAIT_S = 30.0  # how long a missing template may stay missing
OMITTED_GRACE_S = 0.5  # what the control plane has given up may already run elsewhere


@dataclass(slots=True)
class Core(Containers):
    """All that the node knows and decides. ``health``: of ``wire.states.NodeHealth``; times as in ``events``."""

    epoch: int = 0
    generation: int = 0
    policy_version: int = 0
    policy_epoch: int = 0  # of the leader that named it
    health: int = 0
    disk_free_mib: int = 0
    last_contact: float | None = None

    def handle(self, event: ev.Event) -> list[Instruction]:
        """The only entry: one event in, what is to be done about it out."""
        self.out = []
        HANDLERS[type(event)](self, event)
        return self.out

    # --- the desired document

    def _on_desired(self, event: ev.DesiredRead) -> None:
        doc = event.doc
        if doc.writer != WRITER_RM or doc.sub_cluster != self.node.sub_cluster:
            self._note("warning", "a document of another writer or sub-cluster is ignored")
            return
        if (doc.epoch, doc.generation) <= (self.epoch, self.generation):
            return
        new_epoch = doc.epoch != self.epoch
        self.epoch, self.generation = doc.epoch, doc.generation
        self._update_policy_version(doc.epoch, doc.policy_version)
        for container in list(self.containers.values()):
            if container.container_id not in doc.entries:
                self._omit(container)
        for cid, want in doc.entries.items():
            self._entry(doc, cid, want, event)
        self.out += [ev.Persist(durable=new_epoch), self._progress()]

    def _on_policy(self, event: ev.PolicyVersionRead) -> None:
        if self._update_policy_version(event.epoch, event.version):
            self.out.append(ev.PublishStatus())

    def _update_policy_version(self, epoch: int, version: int) -> bool:
        """Whether this names a newer policy version than is known. It is said in every status, and that is all."""
        newer = epoch >= self.epoch and (epoch, version) > (self.policy_epoch, self.policy_version)
        if newer:
            self.policy_epoch, self.policy_version = epoch, version
        return newer

    def _entry(self, doc: Desired, cid: int, want: int, event: ev.DesiredRead) -> None:
        known = self.containers.get(cid)
        if want == Want.RUN and known is None and cid in doc.leases:
            self._accept(doc.leases[cid], event)
        elif want == Want.STOP and known is not None:
            self._stop(known, State.KILLED, Reason.STOPPED)

    def _omit(self, container: Container) -> None:
        first, container.omitted = not container.omitted, True
        container.grace_s = min(container.grace_s, OMITTED_GRACE_S)
        if first and container.phase is Phase.STOPPING:
            self.out.append(ev.Stop(container.container_id, container.grace_s))  # no longer than this
        self._stop(container, State.KILLED, Reason.STOPPED)
        self._forget_if_done(container)

    def _accept(self, lease: Lease, event: ev.DesiredRead) -> None:
        container = Container(lease.container_id, lease, since=event.at)
        self.containers[lease.container_id] = container
        refusal = self._refusal(lease, event)
        if refusal:
            self._note("warning", "lease refused", container=lease.container_id, why=refusal)
            self._end(container, State.FAILED, Reason.LEASE)
            return
        template = self.templates.get(lease.template)
        if template is None:
            self.out.append(ev.FetchTemplate(lease.template))
        else:
            self._with_template(container, template)

    def _refusal(self, lease: Lease, event: ev.DesiredRead) -> str:
        """Why this lease may not be started; "" when it may. Its signature has been checked."""
        if lease.node_id != self.node.node_id:
            return f"it is for node {lease.node_id}"
        if lease.expires_at <= event.unix:
            return f"it expired {event.unix - lease.expires_at:.0f} s ago"
        if lease.epoch > event.doc.epoch:
            return f"its epoch {lease.epoch} is above the document's {event.doc.epoch}"
        if self.node.one_tenant:
            others = [c for c in self.containers.values() if c.live and c.lease and c.lease.tenant != lease.tenant]
            if others:
                return (
                    "all tasks of this node run as one user, so it serves one tenant at a time, and another one's run"
                )
        return ""

    def _on_session(self, event: ev.SessionRenewed) -> None:
        node = self.node
        if (event.node_id, event.sub_cluster) != (node.node_id, node.sub_cluster):
            self._note("warning", "registered as another node", was=node.node_id, now=event.node_id)
            self.epoch = self.generation = self.policy_epoch = 0
            node.node_id, node.sub_cluster = event.node_id, event.sub_cluster
        node.max_disconnect_s = event.max_disconnect_s

    # --- the runtime's list: after a restart of the agent or of the supervisor

    def _on_listed(self, event: ev.RuntimeListed) -> None:
        held = {record.container_id: record for record in event.containers}
        if self.last_contact is None:
            self.last_contact = event.at
        for record in event.containers:
            self._adopt(record, event.at)
        for container in list(self.containers.values()):
            if container.container_id not in held and "missing" in TRANSITIONS[container.phase]:
                self._missing(container)
        self.out += [ev.Persist(), ev.PublishStatus()]

    def _adopt(self, record: ev.RuntimeContainer, at: float) -> None:
        container = self.containers.get(record.container_id)
        if container is None:
            container = from_meta(record, at)
            self.containers[record.container_id] = container
            self._note("warning", "adopted a container local state did not know", container=record.container_id)
        elif container.phase < Phase.STOPPING:
            apply_meta(container, record)
        if container.phase is Phase.ENDED:
            if record.exit is None:  # ended for us, yet it runs: cannot be wanted
                self.out.append(ev.Kill(record.container_id))
            return
        container.started_at = at - record.ran_ms / 1000
        container.ran_ms = record.ran_ms
        if record.exit is not None:
            if container.phase is not Phase.COLLECTING:
                cause = "exited" if "exited" in TRANSITIONS[container.phase] else "adopt"
                self._exited(container, record.exit, cause)
        elif container.phase in (Phase.FETCHING, Phase.LOCALIZING, Phase.STARTING):
            self._move(container, "adopt", Phase.RUNNING)
        elif container.phase is Phase.STOPPING:
            self.out.append(ev.Stop(container.container_id, container.grace_s))
        if container.live:
            self._announce(container)

    def _missing(self, container: Container) -> None:
        if container.phase is Phase.STARTING and container.lease:
            self._move(container, "missing", Phase.FETCHING)
            self._resume(container)
            return
        state, reason = container.verdict or (State.FAILED, Reason.EXIT_UNKNOWN)
        self._note("warning", "the runtime does not hold it any more", container=container.container_id)
        self._move(container, "missing", Phase.ENDED)
        self._end(container, state, reason)

    def _on_recovered(self, event: ev.Recovered) -> None:
        for container in list(self.containers.values()):
            self._resume(container)

    def _resume(self, container: Container) -> None:
        """Take up again what a restart interrupted before there was a process."""
        if container.phase is Phase.COLLECTING:
            self.out.append(ev.Collect(container.container_id))
        if container.phase is not Phase.FETCHING or container.lease is None:
            return
        template = self.templates.get(container.lease.template)
        if template is None:
            self.out.append(ev.FetchTemplate(container.lease.template))
        else:
            self._with_template(container, template)

    # --- time, health and contact

    def _on_tick(self, event: ev.Tick) -> None:
        for container in list(self.containers.values()):
            self._check_time(container, event.at)
        if self.last_contact is None:
            self.last_contact = event.at
        if event.at - self.last_contact > self.node.max_disconnect_s:
            self._stop_disconnected()

    def _check_time(self, container: Container, at: float) -> None:
        if container.phase is Phase.FETCHING and container.lease:
            if at - container.since > TEMPLATE_WAIT_S:
                self._note("error", "its template never came", container=container.container_id)
                self._move(container, "template_failed", Phase.ENDED)
                self._end(container, State.FAILED, Reason.UNREACHABLE)
            else:
                self.out.append(ev.FetchTemplate(container.lease.template))
        elif container.phase is Phase.RUNNING and container.started_at is not None:
            container.ran_ms = int((at - container.started_at) * 1000)
            if container.lease and 0 < container.lease.timeout_s <= at - container.started_at:
                self._stop(container, State.FAILED, Reason.TIMEOUT)
            elif container.check and container.check.rule.port in container.ports and container.check.due(at):
                rule = container.check.rule
                self.out.append(ev.Probe(container.container_id, container.ports[rule.port], rule.http, rule.timeout_s))

    def _stop_disconnected(self) -> None:
        live = [c for c in self.containers.values() if c.live and c.phase is not Phase.STOPPING]
        if live:
            self._note("error", "cut off for longer than allowed: containers are stopped", count=len(live))
        for container in live:
            self._stop(container, State.KILLED, Reason.DISCONNECTED)

    def _on_stop_all(self, event: ev.StopAll) -> None:
        for container in list(self.containers.values()):
            self._stop(container, State.KILLED, Reason.STOPPED)

    def _on_health(self, event: ev.HealthRead) -> None:
        changed = event.health != self.health
        self.health, self.disk_free_mib = event.health, event.disk_free_mib
        if changed:
            self._note("warning" if event.health else "info", "health changed", health=event.health)
            self.out.append(ev.PublishStatus())

    def _on_contact(self, event: ev.Contact) -> None:
        self.last_contact = event.at

    # --- what is told

    def status(self, seq: int, cpu_milli: int = 0) -> NodeStatus:
        """Complete: every live container and every ended one not yet acknowledged."""
        reports = [container_report(c) for c in self.containers.values()][:MAX_ENTRIES]
        return NodeStatus(
            self.node.node_id,
            seq,
            self.epoch,
            self.generation,
            self.policy_version,
            self.health,
            self.disk_free_mib,
            cpu_milli,
            sum(c.memory_mib for c in self.containers.values() if c.live),
            reports,
        )


HANDLERS: dict[type, Callable[[Core, Any], None]] = {
    ev.DesiredRead: Core._on_desired,
    ev.PolicyVersionRead: Core._on_policy,
    ev.TemplateRead: Core._on_template,
    ev.Localized: Core._on_localized,
    ev.Started: Core._on_started,
    ev.StartFailed: Core._on_start_failed,
    ev.Exited: Core._on_exited,
    ev.Collected: Core._on_collected,
    ev.Sampled: Core._on_sampled,
    ev.RuntimeListed: Core._on_listed,
    ev.Recovered: Core._on_recovered,
    ev.SessionRenewed: Core._on_session,
    ev.HealthRead: Core._on_health,
    ev.Contact: Core._on_contact,
    ev.Tick: Core._on_tick,
    ev.PortsFound: Core._on_ports,
    ev.Probed: Core._on_probed,
    ev.StopAll: Core._on_stop_all,
}
