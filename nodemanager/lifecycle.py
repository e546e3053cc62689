"""One container's life on a node: its phases, what may follow what, and how an end is judged. Pure."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from nodemanager import checks
from nodemanager.checks import Check
from nodemanager.events import Exit, RuntimeContainer
from wire.desired import Lease
from wire.ids import format_container
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.status import ContainerReport
from wire.template import Template


class Phase(IntEnum):
    """How far a container has come here; finer than the states that the RM is told."""

    FETCHING = 0  # waits for its template
    LOCALIZING = 1
    STARTING = 2
    RUNNING = 3
    STOPPING = 4
    COLLECTING = 5  # ended well; its outputs travel
    ENDED = 6


P = Phase
# phase -> cause -> phases that may follow. Whatever is not here does not happen.
TRANSITIONS: dict[Phase, dict[str, frozenset[Phase]]] = {
    P.FETCHING: {
        "template": frozenset({P.LOCALIZING}),
        "template_failed": frozenset({P.ENDED}),
        "stop": frozenset({P.ENDED}),
        "adopt": frozenset({P.RUNNING, P.COLLECTING, P.ENDED}),
    },
    P.LOCALIZING: {
        "localized": frozenset({P.STARTING}),
        "localize_failed": frozenset({P.ENDED}),
        "stop": frozenset({P.ENDED}),
        "adopt": frozenset({P.RUNNING, P.COLLECTING, P.ENDED}),
    },
    P.STARTING: {
        "started": frozenset({P.RUNNING}),
        "start_failed": frozenset({P.ENDED}),
        "exited": frozenset({P.COLLECTING, P.ENDED}),
        "stop": frozenset({P.STOPPING}),
        "adopt": frozenset({P.RUNNING}),
        "missing": frozenset({P.FETCHING}),  # the runtime never took it: begin again
    },
    P.RUNNING: {
        "exited": frozenset({P.COLLECTING, P.ENDED}),
        "stop": frozenset({P.STOPPING}),
        "missing": frozenset({P.ENDED}),
    },
    P.STOPPING: {
        "start_failed": frozenset({P.ENDED}),
        "exited": frozenset({P.ENDED}),
        "missing": frozenset({P.ENDED}),
    },
    P.COLLECTING: {
        "collected": frozenset({P.ENDED}),
        "collect_failed": frozenset({P.ENDED}),
        "stop": frozenset({P.ENDED}),
    },
    P.ENDED: {},
}

WIRE_STATE: dict[Phase, State] = {
    P.FETCHING: State.ALLOCATED,
    P.LOCALIZING: State.LOCALIZING,
    P.STARTING: State.LOCALIZING,
    P.RUNNING: State.RUNNING,
    P.STOPPING: State.RUNNING,
    P.COLLECTING: State.RUNNING,
}


@dataclass(slots=True)
class Container:
    """One container as the core knows it. ``lease`` is None only after local state was lost."""

    container_id: int
    lease: Lease | None
    phase: Phase = Phase.FETCHING
    since: float = 0.0  # when it came here, monotonic
    template: Template | None = None
    grace_s: float = 5.0
    collects: bool = False  # the template names outputs
    verdict: tuple[State, Reason] | None = None  # decided before the process is gone
    state: State = State.ALLOCATED
    reason: Reason = Reason.NONE
    exit_code: int = 0
    started_at: float | None = None
    ran_ms: int = 0
    memory_mib: int = 0
    peak_mib: int = 0
    cpu_ms: int = 0
    omitted: bool = False  # the control plane no longer names it: forget once dead
    ports: dict[str, int] = field(default_factory=dict)  # name -> number, once the node has found them
    check: Check | None = None

    @property
    def live(self) -> bool:
        """Whether it holds its resources still: also before its process is there, and until its outputs are stored."""
        return self.phase is not Phase.ENDED


def terminal_state(verdict: tuple[State, Reason] | None, how: Exit) -> tuple[State, Reason, int]:
    """State, reason and exit code of a process that ended this way."""
    code = 128 + how.signal if how.signal else how.code
    if verdict is not None:
        return (*verdict, code)
    if how.not_started:
        return State.FAILED, Reason.START, 127
    state, reason = next(
        (end for happened, end in ENDS if happened(how)),
        (State.SUCCEEDED, Reason.NONE),
    )
    return state, reason, code


# The first that fits says how a process ended that nobody here stopped.
ENDS: list[tuple[Callable[[Exit], object], tuple[State, Reason]]] = [
    (lambda how: how.disconnected, (State.KILLED, Reason.DISCONNECTED)),
    (lambda how: how.unknown, (State.FAILED, Reason.EXIT_UNKNOWN)),
    (lambda how: how.over_memory, (State.FAILED, Reason.MEMORY)),
    (lambda how: how.signal, (State.FAILED, Reason.SIGNAL)),
    (lambda how: how.code, (State.FAILED, Reason.EXIT_CODE)),
]


def container_report(c: Container) -> ContainerReport:
    """As the status tells of it; an ended container shows its peak, a live one what it uses now."""
    if c.live:
        return ContainerReport(c.container_id, WIRE_STATE[c.phase], 0, 0, c.ran_ms, c.memory_mib, c.cpu_ms)
    return ContainerReport(c.container_id, c.state, c.reason, c.exit_code, c.ran_ms, c.peak_mib, c.cpu_ms)


def from_meta(record: RuntimeContainer, at: float) -> Container:
    """A container rebuilt from what the runtime kept about it."""
    raw = record.meta.get("lease")
    lease = lease_from_json(raw) if isinstance(raw, dict) else None
    container = Container(record.container_id, lease, Phase.RUNNING, at)
    apply_meta(container, record)
    return container


def apply_meta(c: Container, record: RuntimeContainer) -> None:
    """Take in what the launch context says; local state may have been saved before the template came."""
    grace = record.meta.get("grace_s")
    if isinstance(grace, (int, float)):
        c.grace_s = float(grace)
    if "outputs" in record.meta:
        c.collects = bool(record.meta["outputs"])
    if isinstance(ports := record.meta.get("ports"), dict):
        c.ports = {str(name): int(number) for name, number in ports.items()}
    known, c.check = c.check, checks.from_json(record.meta.get("health_check"))
    if known and c.check:
        c.check.healthy = known.healthy


def meta(c: Container) -> dict[str, Any]:
    """What the launch context keeps about a container, for ``from_meta``."""
    assert c.lease is not None
    assert c.template is not None
    return {
        "name": format_container(c.container_id),
        "lease": lease_to_json(c.lease),
        "grace_s": c.grace_s,
        "outputs": [[o.name, o.path, o.optional] for o in c.template.outputs],
        "ports": c.ports,
        "health_check": checks.to_json(c.check),
    }


def lease_to_json(lease: Lease) -> dict[str, Any]:
    """As local state and the launch context keep it; its signature has been checked and is not kept."""
    values = {name: getattr(lease, name) for name in Lease.__dataclass_fields__}
    values["template"] = lease.template.hex()
    return values


def lease_from_json(raw: dict[str, Any]) -> Lease:
    """Inverse of ``lease_to_json``; ``ValueError``, ``TypeError`` or ``KeyError`` when it is not one."""
    values = {name: raw[name] for name in Lease.__dataclass_fields__}
    values["template"] = bytes.fromhex(values["template"])
    return Lease(**values)
