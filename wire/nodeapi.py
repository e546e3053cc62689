"""What a node manager says to the control plane over HTTP, and what it hears.

Everything is JSON except artifact bodies. The node authenticates with
``Authorization: Node <node id>:<credential>``; only a new node's registration
uses a join token. The credential is also the node's Redis password.
"""

from dataclasses import dataclass, field

PREFIX = "/node/v1"
AUTH_SCHEME = "Node"
CREDENTIAL = r"[A-Za-z0-9_-]{40,128}"
ONE_TENANT = "one_tenant_at_a_time"  # in ``Register.enforces``: all tasks run as one user, so tenants take turns
TIME_HEADER = "Hydra-Time"  # of each answer: seconds since 1970 by the clock that leases expire by
DECOMMISSIONED = 410  # the status of a refused registration: an operator has taken the node out for good
HEALTH_TEXT_MAX = 200  # characters of ``POST /node/v1/health {"text"}``: what the health script complains of


@dataclass(frozen=True, slots=True)
class Register:
    """``POST /node/v1/register``: a new node by a join token, or one that is known, by its credential.

    ``credential``: what the node has, or has made up to have from now on (``CREDENTIAL``), so that a registration
    whose answer was lost is repeated with the same outcome. Without one the control plane makes it.
    """

    join_token: str
    name: str
    rack: str
    memory_mib: int
    vcores_milli: int
    gpus: int = 0
    labels: dict[str, str] = field(default_factory=dict)
    enforces: list[str] = field(default_factory=list)  # names of the limits this node enforces
    host: str = ""
    version: str = ""
    credential: str = ""


FORMER_FIELDS = frozenset({"extended"})  # of a registration: node managers of older versions send them; ignored


@dataclass(frozen=True, slots=True)
class NodeSession:
    """The answer to ``register`` (with ``credential``) and to ``GET /node/v1/session`` (without)."""

    node_id: int
    sub_cluster_id: int
    sub_cluster: str
    redis_url: str  # without user and password; rediss:// where TLS is on
    redis_user: str
    lease_keys: dict[str, str]  # key id (decimal) -> hex key; current and previous
    heartbeat_s: float
    max_disconnect_s: float
    credential: str = ""
    output_max_bytes: int = 0  # larger outputs are refused; 0: a control plane that does not say


@dataclass(frozen=True, slots=True)
class LogChunk:
    """One piece of ``POST /node/v1/logs`` ``{"chunks": [...]}``; repeating one changes nothing.

    ``offset``: bytes of the stream before this piece, counting skipped ones. A
    piece without data says that the stream has ended there.
    ``skipped``: bytes dropped just before this piece because of the cap.
    """

    container: str  # wire.ids text form
    stream: str  # "stdout" or "stderr"
    offset: int
    data: str  # base64
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class Serving:
    """``POST /node/v1/containers/<id>/endpoints``: all ports of a live container; repeating it changes nothing.

    They are on the host the node registered with. ``healthy``: what its health
    check says; null before the first verdict and without a check.
    """

    endpoints: dict[str, int]  # the port's name -> its number
    healthy: bool | None = None


@dataclass(frozen=True, slots=True)
class InputFile:
    """One entry of ``GET /node/v1/containers/<id>/inputs`` ``{"inputs": [...]}``."""

    path: str
    digest: str
    size: int


@dataclass(frozen=True, slots=True)
class Secrets:
    """``GET /node/v1/containers/<id>/secrets``: of those that a live container's group names, as they are now.

    ``wrong``: names without a value, and the end of a sentence that says why.
    """

    secrets: dict[str, str]
    wrong: dict[str, str] = field(default_factory=dict)
