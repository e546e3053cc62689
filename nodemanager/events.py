"""Events that the node's core takes in and instructions that it gives: plain values, no behaviour.

Times called ``at`` are seconds of a monotonic clock; ``unix`` is wall time as
the control plane tells it.
"""

from dataclasses import dataclass, field

from wire.desired import Desired
from wire.states import ContainerReason
from wire.template import Template


@dataclass(frozen=True, slots=True)
class Exit:
    """How a container's process ended. ``unknown``: nobody was there to record it."""

    code: int = 0
    signal: int = 0
    unknown: bool = False
    over_memory: bool = False
    not_started: bool = False  # the command never ran
    disconnected: bool = False  # the supervisor stopped it because no agent came back
    ran_ms: int = 0
    cpu_ms: int = 0
    peak_mib: int = 0


@dataclass(frozen=True, slots=True)
class RuntimeContainer:
    """One container the runtime holds. ``exit`` is None while it runs; ``meta`` is what Start gave it."""

    container_id: int
    meta: dict[str, object]
    ran_ms: int = 0
    exit: Exit | None = None


# --- events in


@dataclass(frozen=True, slots=True)
class DesiredRead:
    """A document whose signatures are right; whether it is newer than the last is for the core to say."""

    doc: Desired
    at: float
    unix: float


@dataclass(frozen=True, slots=True)
class PolicyVersionRead:
    """The policy version the sub-cluster runs, as the leader of that epoch says."""

    epoch: int
    version: int


@dataclass(frozen=True, slots=True)
class TemplateRead:
    """``template`` is None when the bytes were there but are not what the digest names."""

    digest: bytes
    template: Template | None


@dataclass(frozen=True, slots=True)
class Localized:
    """The work folder is ready; or, with an ``error``, it cannot be made so, for this reason."""

    container_id: int
    error: str
    reason: ContainerReason = ContainerReason.LOCALIZATION


@dataclass(frozen=True, slots=True)
class Started:
    """The command runs: its exec has succeeded."""

    container_id: int
    at: float


@dataclass(frozen=True, slots=True)
class StartFailed:
    """The command never ran; ``error`` is what fork or exec said."""

    container_id: int
    error: str


@dataclass(frozen=True, slots=True)
class Exited:
    """The first process has ended and so has all its tree, and its output is on disk."""

    container_id: int
    exit: Exit


@dataclass(frozen=True, slots=True)
class Collected:
    """The outputs are stored; or, with an ``error``, one that had to be there is not, for this reason."""

    container_id: int
    error: str
    reason: ContainerReason = ContainerReason.OUTPUT


@dataclass(frozen=True, slots=True)
class Sampled:
    """What a live container uses now. ``cpu_ms``: of processor time since its start."""

    container_id: int
    memory_mib: int
    cpu_ms: int


@dataclass(frozen=True, slots=True)
class RuntimeListed:
    """All that the runtime holds, after the agent (re)connected to it."""

    containers: list[RuntimeContainer]
    at: float


@dataclass(frozen=True, slots=True)
class Recovered:
    """After the runtime's first list since the agent's start: what a restart interrupted goes on."""


@dataclass(frozen=True, slots=True)
class SessionRenewed:
    """Who this node is, as the control plane says now; another identity begins without documents."""

    node_id: int
    sub_cluster: int
    max_disconnect_s: float


@dataclass(frozen=True, slots=True)
class HealthRead:
    """``health``: flags of ``wire.states.NodeHealth``."""

    health: int
    disk_free_mib: int


@dataclass(frozen=True, slots=True)
class Contact:
    """Redis has taken a status. ``at``: when that was sent; what the RM hears of the node is no older."""

    at: float


@dataclass(frozen=True, slots=True)
class Tick:
    """Time has passed: at least once a second, whatever else happens."""

    at: float


@dataclass(frozen=True, slots=True)
class PortsFound:
    """Free ports, claimed for the container, in the order of its template; or why there are none."""

    container_id: int
    ports: list[int]
    error: str


@dataclass(frozen=True, slots=True)
class Probed:
    """What a container answered its health check: ``wrong`` is empty when all is well."""

    container_id: int
    wrong: str
    at: float


@dataclass(frozen=True, slots=True)
class StopAll:
    """The operator takes the node down together with its containers."""


Event = (
    DesiredRead
    | PolicyVersionRead
    | TemplateRead
    | Localized
    | Started
    | StartFailed
    | Exited
    | Collected
    | Sampled
    | RuntimeListed
    | Recovered
    | SessionRenewed
    | HealthRead
    | Contact
    | Tick
    | PortsFound
    | Probed
    | StopAll
)


# --- instructions out


@dataclass(frozen=True, slots=True)
class FetchTemplate:
    """Read a template. Asked again at every tick until it comes, so an order may be lost."""

    digest: bytes


@dataclass(frozen=True, slots=True)
class Localize:
    """Make the container's folder and bring its files; ``Localized`` answers."""

    container_id: int


@dataclass(frozen=True, slots=True)
class Start:
    """Run the command; ``Started`` or ``StartFailed`` answers."""

    container_id: int


@dataclass(frozen=True, slots=True)
class Stop:
    """Polite signal to the whole tree, the kill after ``grace_s``."""

    container_id: int
    grace_s: float


@dataclass(frozen=True, slots=True)
class Kill:
    """The whole tree, without grace."""

    container_id: int


@dataclass(frozen=True, slots=True)
class Collect:
    """Upload the outputs the template names."""

    container_id: int


@dataclass(frozen=True, slots=True)
class Forget:
    """The control plane has acknowledged the end: remove every trace."""

    container_id: int


@dataclass(frozen=True, slots=True)
class FindPorts:
    """``taken``: ports of the containers here, whether they have bound them or not."""

    container_id: int
    count: int
    taken: frozenset[int]


@dataclass(frozen=True, slots=True)
class Announce:
    """Tell the control plane the container's ports and health."""

    container_id: int


@dataclass(frozen=True, slots=True)
class Withdraw:
    """The container has ended; its ports are free."""

    container_id: int
    ports: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """Ask the container's health: GET ``path``, or with "" a connection."""

    container_id: int
    port: int
    path: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Persist:
    """Local state has changed; it is written before the next status tells of it."""

    durable: bool = False  # must survive a power cut


@dataclass(frozen=True, slots=True)
class PublishStatus:
    """The status has news. ``patient``: they may wait for the next heartbeat."""

    patient: bool = False


@dataclass(frozen=True, slots=True)
class Note:
    """A line for the node's own log."""

    level: str
    text: str
    fields: dict[str, object] = field(default_factory=dict)


Instruction = (
    FetchTemplate
    | Localize
    | Start
    | Stop
    | Kill
    | Collect
    | Forget
    | FindPorts
    | Announce
    | Withdraw
    | Probe
    | Persist
    | PublishStatus
    | Note
)
