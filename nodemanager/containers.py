"""The containers of a node, and the way of each from its lease to its end. Pure.

Which phase may follow which is ``nodemanager.lifecycle``'s; here is what has to be done on the way.
"""

from dataclasses import dataclass, field

from nodemanager import events as ev
from nodemanager.checks import Check
from nodemanager.events import Exit, Instruction
from nodemanager.lifecycle import TRANSITIONS, Container, Phase, terminal_state
from wire.desired import Lease
from wire.ids import format_container
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.status import PATIENT_ENTRIES
from wire.template import Template


@dataclass(slots=True)
class Node:
    """What the node is, as far as decisions go. ``one_tenant``: it cannot keep tenants apart."""

    node_id: int
    sub_cluster: int
    max_disconnect_s: float
    one_tenant: bool = False


@dataclass(slots=True)
class Containers:
    """What the node holds. ``out``: the instructions of the event that is being handled."""

    node: Node
    containers: dict[int, Container] = field(default_factory=dict, kw_only=True)
    templates: dict[bytes, Template] = field(default_factory=dict, kw_only=True)
    out: list[Instruction] = field(default_factory=list, kw_only=True)

    # --- from template to process

    def _on_template(self, event: ev.TemplateRead) -> None:
        if event.template is not None:
            self.templates[event.digest] = event.template
        for container in self._waiting_for(event.digest):
            if event.template is None:
                self._note("error", "the template does not match its digest", container=container.container_id)
                self._move(container, "template_failed", Phase.ENDED)
                self._end(container, State.FAILED, Reason.LOCALIZATION)
            else:
                self._with_template(container, event.template)

    def _waiting_for(self, digest: bytes) -> list[Container]:
        return [
            c for c in self.containers.values() if c.phase is Phase.FETCHING and c.lease and c.lease.template == digest
        ]

    def _with_template(self, container: Container, template: Template) -> None:
        container.template = template
        container.grace_s = template.grace_s
        container.collects = bool(template.outputs)
        container.check = Check(template.health_check) if template.health_check else None
        self._move(container, "template", Phase.LOCALIZING)
        self.out.append(ev.Localize(container.container_id))

    def _on_localized(self, event: ev.Localized) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase is not Phase.LOCALIZING:
            return
        if event.error:
            self._note("error", "localisation failed", container=event.container_id, why=event.error)
            self._move(container, "localize_failed", Phase.ENDED)
            self._end(container, State.FAILED, event.reason)
            return
        if container.template and container.template.ports:
            taken = frozenset(
                p for c in self.containers.values() if c.live and c is not container for p in c.ports.values()
            )
            self.out.append(ev.FindPorts(container.container_id, len(container.template.ports), taken))
        else:
            self._start(container)

    def _on_ports(self, event: ev.PortsFound) -> None:
        container = self.containers.get(event.container_id)
        wanted = container.template.ports if container and container.template else []
        if container is None or container.phase is not Phase.LOCALIZING or not wanted:
            self.out.append(ev.Withdraw(event.container_id, tuple(event.ports)))
            return
        if event.error:
            self._note("error", "no ports for it", container=event.container_id, why=event.error)
            self._move(container, "localize_failed", Phase.ENDED)
            self._end(container, State.FAILED, Reason.START)
            return
        container.ports = {p.name: number for p, number in zip(wanted, event.ports, strict=True)}
        self._start(container)

    def _start(self, container: Container) -> None:
        self._move(container, "localized", Phase.STARTING)
        self.out.append(ev.Start(container.container_id))

    def _on_started(self, event: ev.Started) -> None:
        container = self.containers.get(event.container_id)
        if container is None or not container.live:
            return
        container.started_at = event.at
        if container.phase is Phase.STARTING:
            self._move(container, "started", Phase.RUNNING)
            self._announce(container)

    def _on_start_failed(self, event: ev.StartFailed) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase not in (Phase.STARTING, Phase.STOPPING):
            return
        self._note("error", "the command could not be started", container=event.container_id, why=event.error)
        state, reason = container.verdict or (State.FAILED, Reason.START)
        self._move(container, "start_failed", Phase.ENDED)
        self._end(container, state, reason, exit_code=127)

    # --- while it runs

    def _announce(self, container: Container) -> None:
        if container.ports:
            self.out.append(ev.Announce(container.container_id))

    def _on_probed(self, event: ev.Probed) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase is not Phase.RUNNING or container.check is None:
            return
        ran_s = event.at - (container.started_at if container.started_at is not None else event.at)
        if container.check.record_result(not event.wrong, ran_s):
            self.out.append(ev.Persist())
            self._announce(container)
        if container.check.given_up:
            self._note("warning", "its health check failed too often", container=event.container_id, why=event.wrong)
            self._stop(container, State.FAILED, Reason.UNHEALTHY)

    def _on_sampled(self, event: ev.Sampled) -> None:
        container = self.containers.get(event.container_id)
        if container is not None and container.live:
            container.memory_mib = event.memory_mib
            container.peak_mib = max(container.peak_mib, event.memory_mib)
            container.cpu_ms = max(container.cpu_ms, event.cpu_ms)

    # --- ends

    def _stop(self, container: Container, state: State, reason: Reason) -> None:
        """Bring a live container to its end with this verdict; the first verdict stands."""
        if not container.live or container.phase is Phase.STOPPING:
            return
        if container.phase in (Phase.STARTING, Phase.RUNNING):
            container.verdict = (state, reason)
            self._move(container, "stop", Phase.STOPPING)
            self.out += [ev.Stop(container.container_id, container.grace_s), ev.Persist()]
        else:
            self._move(container, "stop", Phase.ENDED)
            self._end(container, state, reason)

    def _on_exited(self, event: ev.Exited) -> None:
        container = self.containers.get(event.container_id)
        if container is None or "exited" not in TRANSITIONS[container.phase]:
            return
        self._exited(container, event.exit, "exited")

    def _exited(self, container: Container, how: Exit, cause: str) -> None:
        container.ran_ms = max(container.ran_ms, how.ran_ms)
        container.cpu_ms = max(container.cpu_ms, how.cpu_ms)
        container.peak_mib = max(container.peak_mib, how.peak_mib)
        state, reason, code = terminal_state(container.verdict, how)
        container.exit_code = code
        if state is State.SUCCEEDED and container.collects:
            self._move(container, cause, Phase.COLLECTING)
            self.out += [ev.Collect(container.container_id), ev.Persist()]
            return
        self._move(container, cause, Phase.ENDED)
        self._end(container, state, reason, exit_code=code)

    def _on_collected(self, event: ev.Collected) -> None:
        container = self.containers.get(event.container_id)
        if container is None or container.phase is not Phase.COLLECTING:
            return
        if event.error:
            self._note("error", "outputs could not be stored", container=event.container_id, why=event.error)
            self._move(container, "collect_failed", Phase.ENDED)
            self._end(container, State.FAILED, event.reason)
        else:
            self._move(container, "collected", Phase.ENDED)
            self._end(container, State.SUCCEEDED, Reason.NONE)

    def _end(self, container: Container, state: State, reason: Reason, exit_code: int | None = None) -> None:
        container.phase = Phase.ENDED
        container.state, container.reason = state, reason
        if exit_code is not None:
            container.exit_code = exit_code
        if container.ports:
            self.out.append(ev.Withdraw(container.container_id, tuple(container.ports.values())))
        self.out += [ev.Persist(), ev.PublishStatus()]
        self._forget_if_done(container)

    def _forget_if_done(self, container: Container) -> None:
        if container.omitted and not container.live and container.container_id in self.containers:
            del self.containers[container.container_id]
            self.out += [ev.Forget(container.container_id), ev.Persist(), self._progress()]
            self._drop_template(container.lease)

    def _drop_template(self, lease: Lease | None) -> None:
        """Templates are kept only while some container here was leased with them."""
        if lease and not any(c.lease and c.lease.template == lease.template for c in self.containers.values()):
            self.templates.pop(lease.template, None)

    # --- helpers

    def _move(self, container: Container, cause: str, to: Phase) -> None:
        if to not in TRANSITIONS[container.phase].get(cause, ()):
            raise AssertionError(f"{container.phase.name} does not become {to.name} by {cause}")
        container.phase = to
        self.out.append(self._progress())

    def _progress(self) -> ev.PublishStatus:
        """A container gets on. With many of them nobody waits for that of one; its end is another report."""
        return ev.PublishStatus(patient=len(self.containers) >= PATIENT_ENTRIES)

    def _note(self, level: str, text: str, container: int | None = None, **fields: object) -> None:
        if container is not None:
            fields["container"] = format_container(container)
        self.out.append(ev.Note(level, text, fields))
