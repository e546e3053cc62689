"""Getting and keeping the node's identity: registration, credential, lease keys."""

from dataclasses import asdict, fields
from typing import Any

from nodemanager import VERSION
from nodemanager.config import Config, advertised_host
from nodemanager.http import Http, HttpError
from nodemanager.isolation import Isolation
from wire import nodeapi
from wire.nodeapi import NodeSession, Register
from wire.resources import AXES


def parse(raw: Any, credential: str = "") -> NodeSession:
    """A session from JSON; ``ValueError`` when it is not one. ``credential`` fills in when the answer has none."""
    try:
        known = {f.name for f in fields(NodeSession)}
        session = NodeSession(**{"credential": credential, **{k: v for k, v in raw.items() if k in known and v != ""}})
        if not session.credential or not session.node_id:
            raise ValueError("no credential or node id")
        keys(session)
        return session
    except (TypeError, AttributeError) as error:
        raise ValueError(f"not a session: {error}") from None


def keys(session: NodeSession) -> dict[int, bytes]:
    """Lease keys by id."""
    return {int(number): bytes.fromhex(text) for number, text in session.lease_keys.items()}


def authorization(session: NodeSession) -> str:
    """The header by which the control plane knows this node."""
    return f"{nodeapi.AUTH_SCHEME} {session.node_id}:{session.credential}"


def to_json(session: NodeSession, config: Config) -> dict[str, Any]:
    """The session as local state keeps it, with what it was given for."""
    return asdict(session) | {"name": config.name, "host": advertised_host(config)}


def is_current(saved: dict[str, Any], config: Config) -> bool:
    """Whether a saved session is this node's, as the node describes itself now."""
    moved = config.join_token and saved.get("host", advertised_host(config)) != advertised_host(config)
    return saved.get("name") == config.name and not moved


def register(http: Http, config: Config, isolation: Isolation) -> NodeSession:
    """A new credential for this node's name. Raises ``HttpError`` or ``ValueError``."""
    if not config.join_token:
        raise HttpError(401, "this node has no credential and no join token; set join_token")
    request = Register(
        join_token=config.join_token,
        name=config.name,
        rack=config.rack,
        **{axis: getattr(config, axis) for axis in AXES},
        labels=config.labels,
        enforces=isolation.enforces,
        host=advertised_host(config),
        version=VERSION,
    )
    http.authorization = ""
    session = parse(http.request("POST", f"{nodeapi.PREFIX}/register", asdict(request)))
    http.authorization = authorization(session)
    return session


def refresh(http: Http, known: NodeSession) -> NodeSession:
    """The session as the control plane sees it now; it also restores this node's Redis user."""
    http.authorization = authorization(known)
    return parse(http.request("GET", f"{nodeapi.PREFIX}/session"), known.credential)


def renew(http: Http, config: Config, isolation: Isolation, known: NodeSession | None) -> NodeSession:
    """Refresh, or register again when the credential is refused and a join token is there."""
    if known is not None:
        try:
            return refresh(http, known)
        except HttpError as error:
            if error.status not in (401, 403) or not config.join_token:
                raise
    return register(http, config, isolation)
