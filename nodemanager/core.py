"""The node's decisions: events in, instructions out. Pure: no I/O and no clock of its own.

The desired document says which containers a node should hold; the core's work
is the difference. The life of one container is in ``nodemanager.lifecycle``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from nodemanager import events as ev
from nodemanager.checks import Check
from nodemanager.events import Exit, Instruction
from nodemanager.lifecycle import TRANSITIONS, Container, Phase, by_order, from_meta, judge, report
from wire.desired import WRITER_RM, Desired, Lease
from wire.ids import format_container
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.states import Want
from wire.status import MAX_ENTRIES, PATIENT_ENTRIES, NodeStatus
from wire.template import Template

TEMPLATE_WAIT_S = 30.0  # how long a missing template may stay missing
OMITTED_GRACE_S = 0.5  # what the control plane has given up may already run elsewhere


@dataclass(slots=True)
class Node:
    """What the node is, as far as decisions go. ``one_tenant``: it cannot keep tenants apart."""

    node_id: int
    sub_cluster: int
    max_disconnect_s: float
    one_tenant: bool = False


@dataclass(slots=True)
class Core:
    node: Node
    epoch: int = 0
    generation: int = 0
    policy_version: int = 0
    policy_epoch: int = 0  # of the leader that named it
    containers: dict[int, Container] = field(default_factory=dict)
    templates: dict[bytes, Template] = field(default_factory=dict)
    health: int = 0
    disk_free_mib: int = 0
    last_contact: float | None = None
    out: list[Instruction] = field(default_factory=list)

    def handle(self, event: ev.Event) -> list[Instruction]:
        """The only entry: one event in, what is to be done about it out."""
        self.out = []
        HANDLERS[type(event)](self, event)
        return self.out

    # --- the desired document

    def on_desired(self, event: ev.DesiredRead) -> None:
        doc = event.doc
        if doc.writer != WRITER_RM or doc.sub_cluster != self.node.sub_cluster:
            self.note("warning", "a document of another writer or sub-cluster is ignored")
            return
        if (doc.epoch, doc.generation) <= (self.epoch, self.generation):
            return
        new_epoch = doc.epoch != self.epoch
        self.epoch, self.generation = doc.epoch, doc.generation
        self.heed(doc.epoch, doc.policy_version)
        for container in list(self.containers.values()):
            if container.container_id not in doc.entries:
                self.omit(container, event.at)
        for cid, want in doc.entries.items():
            self.entry(doc, cid, want, event)
        self.out += [ev.Persist(durable=new_epoch), self.progress()]

    def on_policy(self, event: ev.PolicyTold) -> None:
        if self.heed(event.epoch, event.version):
            self.out.append(ev.Report())

    def heed(self, epoch: int, version: int) -> bool:
        """Whether this names a newer policy version than is known. It is said in every status, and that is all."""
        newer = epoch >= self.epoch and (epoch, version) > (self.policy_epoch, self.policy_version)
        if newer:
            self.policy_epoch, self.policy_version = epoch, version
        return newer

    def entry(self, doc: Desired, cid: int, want: int, event: ev.DesiredRead) -> None:
        known = self.containers.get(cid)
        if want == Want.RUN and known is None and cid in doc.leases:
            self.take(doc.leases[cid], event)
        elif want == Want.STOP and known is not None:
            self.stop(known, State.KILLED, Reason.STOPPED, event.at)

    def omit(self, container: Container, at: float) -> None:
        first, container.omitted = not container.omitted, True
        container.grace_s = min(container.grace_s, OMITTED_GRACE_S)
        if first and container.phase is Phase.STOPPING:
            self.out.append(ev.Stop(container.container_id, container.grace_s))  # no longer than this
        self.stop(container, State.KILLED, Reason.STOPPED, at)
        self.forget_if_done(container)

    def take(self, lease: Lease, event: ev.DesiredRead) -> None:
        container = Container(lease.container_id, lease, since=event.at)
        self.containers[lease.container_id] = container
        refusal = self.refusal(lease, event)
        if refusal:
            self.note("warning", "lease refused", container=lease.container_id, why=refusal)
            self.end(container, State.FAILED, Reason.LEASE)
            return
        template = self.templates.get(lease.template)
        if template is None:
            self.out.append(ev.FetchTemplate(lease.template))
        else:
            self.with_template(container, template)

    def refusal(self, lease: Lease, event: ev.DesiredRead) -> str:
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
                return "this node does not run as root, so it serves one tenant at a time, and another one's runs"
        return ""

    def on_session(self, event: ev.SessionRenewed) -> None:
        node = self.node
        if (event.node_id, event.sub_cluster) != (node.node_id, node.sub_cluster):
            self.note("warning", "registered as another node", was=node.node_id, now=event.node_id)
            self.epoch = self.generation = self.policy_epoch = 0
            node.node_id, node.sub_cluster = event.node_id, event.sub_cluster
        node.max_disconnect_s = event.max_disconnect_s

    # --- from template to process

    def on_template(self, event: ev.TemplateRead) -> None:
        if event.template is not None:
            self.templates[event.digest] = event.template
        for container in self.waiting_for(event.digest):
            if event.template is None:
                self.note("error", "the template does not match its digest", container=container.container_id)
                self.move(container, "template_failed", Phase.ENDED)
                self.end(container, State.FAILED, Reason.LOCALIZATION)
            else:
                self.with_template(container, event.template)

    def waiting_for(self, digest: bytes) -> list[Container]:
        return [
            c for c in self.containers.values() if c.phase is Phase.FETCHING and c.lease and c.lease.template == digest
        ]

    def with_template(self, container: Container, template: Template) -> None:
        container.template = template
        container.grace_s = template.grace_s
        container.collects = bool(template.outputs)
        container.check = Check(template.health_check) if template.health_check else None
        self.move(container, "template", Phase.LOCALIZING)
        self.out.append(ev.Localise(container.container_id))

    def on_localised(self, event: ev.Localised) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase is not Phase.LOCALIZING:
            return
        if event.error:
            self.note("error", "localisation failed", container=event.container_id, why=event.error)
            self.move(container, "localise_failed", Phase.ENDED)
            self.end(container, State.FAILED, Reason.LOCALIZATION)
            return
        if container.template and container.template.ports:
            taken = frozenset(
                p for c in self.containers.values() if c.live and c is not container for p in c.ports.values()
            )
            self.out.append(ev.FindPorts(container.container_id, len(container.template.ports), taken))
        else:
            self.start(container)

    def on_ports(self, event: ev.PortsFound) -> None:
        container = self.containers.get(event.container_id)
        wanted = container.template.ports if container and container.template else []
        if container is None or container.phase is not Phase.LOCALIZING or not wanted:
            self.out.append(ev.Withdraw(event.container_id, tuple(event.ports)))
            return
        if event.error:
            self.note("error", "no ports for it", container=event.container_id, why=event.error)
            self.move(container, "localise_failed", Phase.ENDED)
            self.end(container, State.FAILED, Reason.START)
            return
        container.ports = {p.name: number for p, number in zip(wanted, event.ports, strict=True)}
        self.start(container)

    def start(self, container: Container) -> None:
        self.move(container, "localised", Phase.STARTING)
        self.out.append(ev.Start(container.container_id))

    def on_started(self, event: ev.Started) -> None:
        container = self.containers.get(event.container_id)
        if container is None or not container.live:
            return
        container.started_at = event.at
        if container.phase is Phase.STARTING:
            self.move(container, "started", Phase.RUNNING)
            self.announce(container)

    def on_start_failed(self, event: ev.StartFailed) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase not in (Phase.STARTING, Phase.STOPPING):
            return
        self.note("error", "the command could not be started", container=event.container_id, why=event.error)
        state, reason = container.verdict or (State.FAILED, Reason.START)
        self.move(container, "start_failed", Phase.ENDED)
        self.end(container, state, reason, exit_code=127)

    # --- ends

    def stop(self, container: Container, state: State, reason: Reason, at: float) -> None:
        """Bring a live container to its end with this verdict; the first verdict stands."""
        if not container.live or container.phase is Phase.STOPPING:
            return
        if container.phase in (Phase.STARTING, Phase.RUNNING):
            container.verdict = (state, reason)
            self.move(container, "stop", Phase.STOPPING)
            self.out += [ev.Stop(container.container_id, container.grace_s), ev.Persist()]
        else:
            self.move(container, "stop", Phase.ENDED)
            self.end(container, state, reason)

    def on_exited(self, event: ev.Exited) -> None:
        container = self.containers.get(event.container_id)
        if container is None or "exited" not in TRANSITIONS[container.phase]:
            return
        self.exited(container, event.exit, "exited")

    def exited(self, container: Container, how: Exit, cause: str) -> None:
        container.ran_ms = max(container.ran_ms, how.ran_ms)
        container.cpu_ms = max(container.cpu_ms, how.cpu_ms)
        container.peak_mib = max(container.peak_mib, how.peak_mib)
        state, reason, code = judge(container.verdict, how)
        container.exit_code = code
        if state is State.SUCCEEDED and container.collects:
            self.move(container, cause, Phase.COLLECTING)
            self.out += [ev.Collect(container.container_id), ev.Persist()]
            return
        self.move(container, cause, Phase.ENDED)
        self.end(container, state, reason, exit_code=code)

    def on_collected(self, event: ev.Collected) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase is not Phase.COLLECTING:
            return
        if event.error:
            self.note("error", "outputs could not be stored", container=event.container_id, why=event.error)
            self.move(container, "collect_failed", Phase.ENDED)
            self.end(container, State.FAILED, Reason.OUTPUT)
        else:
            self.move(container, "collected", Phase.ENDED)
            self.end(container, State.SUCCEEDED, Reason.NONE)

    def end(self, container: Container, state: State, reason: Reason, exit_code: int | None = None) -> None:
        container.phase = Phase.ENDED
        container.state, container.reason = state, reason
        if exit_code is not None:
            container.exit_code = exit_code
        if container.ports:
            self.out.append(ev.Withdraw(container.container_id, tuple(container.ports.values())))
        self.out += [ev.Persist(), ev.Report()]
        self.forget_if_done(container)

    def forget_if_done(self, container: Container) -> None:
        if container.omitted and not container.live and container.container_id in self.containers:
            del self.containers[container.container_id]
            self.out += [ev.Forget(container.container_id), ev.Persist(), self.progress()]
            self.drop_template(container.lease)

    def drop_template(self, lease: Lease | None) -> None:
        """Templates are kept only while some container here was leased with them."""
        if lease and not any(c.lease and c.lease.template == lease.template for c in self.containers.values()):
            self.templates.pop(lease.template, None)

    # --- the runtime's list: after a restart of the agent or of the supervisor

    def on_listed(self, event: ev.RuntimeListed) -> None:
        held = {record.container_id: record for record in event.held}
        if self.last_contact is None:
            self.last_contact = event.at
        for record in event.held:
            self.adopt(record, event.at)
        for container in list(self.containers.values()):
            if container.container_id not in held and "missing" in TRANSITIONS[container.phase]:
                self.missing(container)
        self.out += [ev.Persist(), ev.Report()]

    def adopt(self, record: ev.Adopted, at: float) -> None:
        container = self.containers.get(record.container_id)
        if container is None:
            container = from_meta(record, at)
            self.containers[record.container_id] = container
            self.note("warning", "adopted a container local state did not know", container=record.container_id)
        elif container.phase < Phase.STOPPING:
            by_order(container, record)
        if container.phase is Phase.ENDED:
            if record.exit is None:  # ended for us, yet it runs: cannot be wanted
                self.out.append(ev.Kill(record.container_id))
            return
        container.started_at = at - record.ran_ms / 1000
        container.ran_ms = record.ran_ms
        if record.exit is not None:
            if container.phase is not Phase.COLLECTING:
                cause = "exited" if "exited" in TRANSITIONS[container.phase] else "adopt"
                self.exited(container, record.exit, cause)
        elif container.phase in (Phase.FETCHING, Phase.LOCALIZING, Phase.STARTING):
            self.move(container, "adopt", Phase.RUNNING)
        elif container.phase is Phase.STOPPING:
            self.out.append(ev.Stop(container.container_id, container.grace_s))
        if container.live:
            self.announce(container)

    def missing(self, container: Container) -> None:
        if container.phase is Phase.STARTING and container.lease:
            self.move(container, "missing", Phase.FETCHING)
            self.resume(container)
            return
        state, reason = container.verdict or (State.FAILED, Reason.EXIT_UNKNOWN)
        self.note("warning", "the runtime does not hold it any more", container=container.container_id)
        self.move(container, "missing", Phase.ENDED)
        self.end(container, state, reason)

    def resume(self, container: Container) -> None:
        """Take up again what a restart interrupted before there was a process."""
        if container.phase is Phase.COLLECTING:
            self.out.append(ev.Collect(container.container_id))
        if container.phase is not Phase.FETCHING or container.lease is None:
            return
        template = self.templates.get(container.lease.template)
        if template is None:
            self.out.append(ev.FetchTemplate(container.lease.template))
        else:
            self.with_template(container, template)

    def on_recovered(self, event: ev.Recovered) -> None:
        for container in list(self.containers.values()):
            self.resume(container)

    # --- time, measures, health

    def on_tick(self, event: ev.Tick) -> None:
        for container in list(self.containers.values()):
            self.check_time(container, event.at)
        if self.last_contact is None:
            self.last_contact = event.at
        if event.at - self.last_contact > self.node.max_disconnect_s:
            self.cut_off(event.at)

    def check_time(self, container: Container, at: float) -> None:
        if container.phase is Phase.FETCHING and container.lease:
            if at - container.since > TEMPLATE_WAIT_S:
                self.note("error", "its template never came", container=container.container_id)
                self.move(container, "template_failed", Phase.ENDED)
                self.end(container, State.FAILED, Reason.LOCALIZATION)
            else:
                self.out.append(ev.FetchTemplate(container.lease.template))
        elif container.phase is Phase.RUNNING and container.started_at is not None:
            container.ran_ms = int((at - container.started_at) * 1000)
            if container.lease and 0 < container.lease.timeout_s <= at - container.started_at:
                self.stop(container, State.FAILED, Reason.TIMEOUT, at)
            elif container.check and container.check.rule.port in container.ports and container.check.due(at):
                rule = container.check.rule
                self.out.append(ev.Probe(container.container_id, container.ports[rule.port], rule.http, rule.timeout_s))

    # --- containers that serve

    def announce(self, container: Container) -> None:
        if container.ports:
            self.out.append(ev.Announce(container.container_id))

    def on_probed(self, event: ev.Probed) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase is not Phase.RUNNING or container.check is None:
            return
        ran_s = event.at - (container.started_at if container.started_at is not None else event.at)
        if container.check.answered(not event.wrong, ran_s):
            self.out.append(ev.Persist())
            self.announce(container)
        if container.check.given_up:
            self.note("warning", "its health check failed too often", container=event.container_id, why=event.wrong)
            self.stop(container, State.FAILED, Reason.UNHEALTHY, event.at)

    def cut_off(self, at: float) -> None:
        live = [c for c in self.containers.values() if c.live and c.phase is not Phase.STOPPING]
        if live:
            self.note("error", "cut off for longer than allowed: containers are stopped", count=len(live))
        for container in live:
            self.stop(container, State.KILLED, Reason.DISCONNECTED, at)

    def on_stop_all(self, event: ev.StopAll) -> None:
        for container in list(self.containers.values()):
            self.stop(container, State.KILLED, Reason.STOPPED, event.at)

    def on_sampled(self, event: ev.Sampled) -> None:
        container = self.containers.get(event.container_id)
        if container is not None and container.live:
            container.memory_mib = event.memory_mib
            container.peak_mib = max(container.peak_mib, event.memory_mib)
            container.cpu_ms = max(container.cpu_ms, event.cpu_ms)

    def on_health(self, event: ev.HealthRead) -> None:
        changed = event.health != self.health
        self.health, self.disk_free_mib = event.health, event.disk_free_mib
        if changed:
            self.note("warning" if event.health else "info", "health changed", health=event.health)
            self.out.append(ev.Report())

    def on_contact(self, event: ev.Contact) -> None:
        self.last_contact = event.at

    # --- helpers

    def move(self, container: Container, cause: str, to: Phase) -> None:
        if to not in TRANSITIONS[container.phase].get(cause, ()):
            raise AssertionError(f"{container.phase.name} does not become {to.name} by {cause}")
        container.phase = to
        self.out.append(self.progress())

    def progress(self) -> ev.Report:
        """A container gets on. With many of them nobody waits for that of one; its end is another report."""
        return ev.Report(patient=len(self.containers) >= PATIENT_ENTRIES)

    def note(self, level: str, text: str, container: int | None = None, **fields: object) -> None:
        if container is not None:
            fields["container"] = format_container(container)
        self.out.append(ev.Note(level, text, fields))

    def status(self, seq: int, cpu_milli: int = 0) -> NodeStatus:
        """Complete: every live container and every ended one not yet acknowledged."""
        reports = [report(c) for c in self.containers.values()][:MAX_ENTRIES]
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
    ev.DesiredRead: Core.on_desired,
    ev.PolicyTold: Core.on_policy,
    ev.TemplateRead: Core.on_template,
    ev.Localised: Core.on_localised,
    ev.Started: Core.on_started,
    ev.StartFailed: Core.on_start_failed,
    ev.Exited: Core.on_exited,
    ev.Collected: Core.on_collected,
    ev.Sampled: Core.on_sampled,
    ev.RuntimeListed: Core.on_listed,
    ev.Recovered: Core.on_recovered,
    ev.SessionRenewed: Core.on_session,
    ev.HealthRead: Core.on_health,
    ev.Contact: Core.on_contact,
    ev.Tick: Core.on_tick,
    ev.PortsFound: Core.on_ports,
    ev.Probed: Core.on_probed,
    ev.StopAll: Core.on_stop_all,
}
