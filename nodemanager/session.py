"""Getting and keeping the node's identity: registration, credential, lease keys."""

import hashlib
import os
import re
import secrets
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from nodemanager import VERSION, jsonfiles
from nodemanager.config import Config, advertised_host
from nodemanager.http import Http, HttpError
from nodemanager.isolation import Isolation
from nodemanager.log import note
from wire import nodeapi
from wire.nodeapi import NodeSession, Register
from wire.resources import AXES


def parse(raw: Any, credential: str = "") -> NodeSession:
    """A session from JSON; ``ValueError`` when it is not one. ``credential`` fills in when the answer has none."""
    try:
        known = {f.name for f in fields(NodeSession)}
        said: dict[str, Any] = {"credential": credential}
        session = NodeSession(**said | {k: v for k, v in raw.items() if k in known and v != ""})
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


def to_json(session: NodeSession, config: Config, isolation: Isolation) -> dict[str, Any]:
    """The session as local state keeps it, with what it was given for."""
    return asdict(session) | {"name": config.name, "host": advertised_host(config), "enforces": isolation.enforces}


def is_current(saved: dict[str, Any], config: Config, isolation: Isolation) -> bool:
    """Whether a saved session is this node's, as the node describes itself now."""
    told = saved.get("host", advertised_host(config)), saved.get("enforces", isolation.enforces)
    return saved.get("name") == config.name and told == (advertised_host(config), isolation.enforces)


def credential_path(config: Config) -> Path:
    """Where the node keeps the secret that its name is registered with, apart from state that may be lost."""
    mark = hashlib.sha256(f"{config.control_plane} {config.name}".encode()).hexdigest()[:16]
    return config.dir / "run" / f"credential-{mark}.json"


def own_credential(config: Config) -> str:
    """The secret of this node's name at this control plane; made up and kept on first use. Raises OSError."""
    kept = (jsonfiles.read_json(str(credential_path(config))) or {}).get("credential")
    if isinstance(kept, str) and re.fullmatch(nodeapi.CREDENTIAL, kept):
        return kept
    made = secrets.token_urlsafe(32)
    keep_credential(config, made)
    return made


def keep_credential(config: Config, credential: str) -> None:
    """Have ``own_credential`` answer this from now on. Raises OSError."""
    jsonfiles.write_json(str(credential_path(config)), {"credential": credential}, durable=True)


def join_token(config: Config) -> str:
    """The token as it is given now; empty where there is none (any more)."""
    if config.join_token or not config.join_token_file:
        return config.join_token
    try:
        return Path(config.join_token_file).read_text().strip()
    except (OSError, ValueError):
        return ""


def no_token(config: Config) -> str:
    """Why a node that is not known has nothing to register with."""
    if config.join_token_file:
        return f"no join token can be read from {config.join_token_file}"
    return "neither join_token nor join_token_file gives a join token"


def drop_join_token(config: Config) -> None:
    """Remove the token's file: what has joined needs it no more."""
    try:
        if config.join_token_file:
            os.unlink(config.join_token_file)
    except FileNotFoundError:
        pass
    except OSError as error:
        note("warning", "remove the join token's file: it is not needed any more", why=str(error))


def register(http: Http, config: Config, isolation: Isolation, credential: str) -> NodeSession:
    """This node under its name, by its credential, or where that is new by a token. ``HttpError``, ``ValueError``."""
    request = Register(
        join_token=join_token(config),
        credential=credential,
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
    drop_join_token(config)
    return session


def refresh(http: Http, known: NodeSession) -> NodeSession:
    """The session as the control plane sees it now; it also restores this node's Redis user."""
    http.authorization = authorization(known)
    return parse(http.request("GET", f"{nodeapi.PREFIX}/session"), known.credential)


def renew(http: Http, config: Config, isolation: Isolation, known: NodeSession) -> NodeSession:
    """Refresh, or register again when the credential is refused: an operator may have taken the node back."""
    try:
        return refresh(http, known)
    except HttpError as error:
        if error.status not in (401, 403):
            raise
    return register(http, config, isolation, known.credential)
