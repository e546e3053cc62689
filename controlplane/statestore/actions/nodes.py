"""Register, describe, revoke and decommission nodes; their credentials and their Redis users."""

import datetime as dt
import hashlib
import hmac
import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import redis
import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import Q

from contract.problems import FieldError
from controlplane import clock, events
from controlplane.statestore import bus
from controlplane.statestore.errors import Forbidden, Gone, Invalid
from controlplane.statestore.models import Intent, JoinToken, Node, NodeCredential, SubCluster
from wire import desired, keys, nodeapi
from wire.nodeapi import NodeSession, Register
from wire.resources import AXES, RESOURCES

from .audit import SYSTEM, Actor, record
from .credentials import hashed, new_secret

log = structlog.get_logger(__name__)

# What a node says of itself when it registers, as columns of its row.
_DESCRIBED = ("rack", "labels", *AXES, "enforces", "host", "version")
NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
CREDENTIAL = re.compile(nodeapi.CREDENTIAL)
ACL_BATCH = 500


def new_join_token(
    actor: Actor,
    sub_cluster: SubCluster,
    note: str = "",
    expires_at: dt.datetime | None = None,
    node: str = "",
) -> tuple[JoinToken, str]:
    """A token that registers nodes in one sub-cluster. Its text is returned once and stored hashed.

    ``node``: it registers this name alone, and once; whoever has the name loses it.
    """
    if node and not NAME.fullmatch(node):
        wrong = FieldError("node", "is not a name of a node", "use up to 63 letters, digits, '-', '_' and '.'")
        raise Invalid("the token cannot be made", [wrong])
    secret = new_secret()
    with transaction.atomic():
        token = JoinToken.objects.create(
            sub_cluster=sub_cluster, sha256=hashed(secret), note=note, expires_at=expires_at, node=node
        )
        after = {"id": token.pk, "note": note} | ({"node": node} if node else {})
        record(actor, "join-token.create", f"sub-cluster/{sub_cluster.name}", after=after)
    return token, secret


def revoke_join_token(actor: Actor, token: JoinToken) -> None:
    """Nobody can register with it any more; nodes that did stay."""
    with transaction.atomic():
        JoinToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=clock.now())
        record(actor, "join-token.revoke", f"join-token/{token.pk}")


def check(r: Register) -> None:
    """``Invalid`` with every field that is wrong."""
    wrong = [
        FieldError(name, f"{given!r} is not a whole number from {least} to {most}", "correct the node's settings")
        for name, least, most in ((of.axis, of.least, of.most) for of in RESOURCES)
        if type(given := getattr(r, name)) is not int or not least <= given <= most
    ]
    for name in ("name", "rack"):
        if not isinstance(getattr(r, name), str) or not NAME.fullmatch(getattr(r, name)):
            wrong.append(FieldError(name, "is not a name", "use up to 63 letters, digits, '-', '_' and '.'"))
    if not _texts(r.labels, 64, 255):
        wrong.append(FieldError("labels", "is not a mapping of short texts", "use at most 64 labels of 255 characters"))
    if not isinstance(r.enforces, list) or not all(isinstance(v, str) and len(v) < 64 for v in r.enforces):
        wrong.append(FieldError("enforces", "is not a list of names", "correct it"))
    if r.credential and not (isinstance(r.credential, str) and CREDENTIAL.fullmatch(r.credential)):
        wrong.append(FieldError("credential", "is not one", "leave it out, or send 40 to 128 letters, digits, - and _"))
    wrong += [
        FieldError(name, "is not a short text", f"use at most {n} characters")
        for name, n in (("host", 255), ("version", 32))
        if not _text(getattr(r, name), n)
    ]
    if wrong:
        raise Invalid("the node cannot be registered as it describes itself", wrong)


def _text(value: Any, most: int) -> bool:
    return isinstance(value, str) and len(value) <= most and "\0" not in value and value.isascii()


def _texts(value: Any, entries: int, most: int) -> bool:
    return (
        isinstance(value, dict)
        and len(value) <= entries
        and all(_text(k, most) and _text(v, most) for k, v in value.items())
    )


def _described(r: Register) -> dict[str, Any]:
    return {name: getattr(r, name) for name in _DESCRIBED}


def register(r: Register, address: str | None = None) -> NodeSession:
    """A new node by a join token; a known one by its credential, which it keeps, or by a token for its name.

    With such a token the credential that was good until then ends. Raises ``Forbidden`` where neither allows it.
    """
    token, known = _token(r.join_token), _known_by(r)
    if token is None and known is None:
        raise Forbidden("the join token is unknown, used, expired or revoked; ask an operator for a new one")
    check(r)
    sub_cluster = token.sub_cluster if token else known.node.sub_cluster  # type: ignore[union-attr]
    if sub_cluster.state == SubCluster.State.DECOMMISSIONED:
        raise Gone(f"sub-cluster {sub_cluster.name} is decommissioned")
    with transaction.atomic():
        _not_retired(sub_cluster, r.name)
        described = _described(r)
        node, created = Node.objects.select_for_update().get_or_create(
            sub_cluster=sub_cluster, name=r.name, defaults=described
        )
        keeps = not created and known is not None and known.node_id == node.pk
        if not keeps:
            _use(token, node, created)
        secret = r.credential or new_secret()
        if not created:
            Node.objects.filter(pk=node.pk).update(**described)
        NodeCredential.objects.update_or_create(
            node=node, defaults={"sha256": hashed(secret), "revoked_at": None, "created_at": clock.now()}
        )
        after = described | ({} if created or keeps else {"by_token": token.pk})  # type: ignore[union-attr]
        record(Actor(None, address), "node.register" if created else "node.reregister", f"node/{node.pk}", after=after)
    grant_redis(sub_cluster.pk, [(node.pk, hashed(secret))])
    if not created:
        _silence_former(sub_cluster.pk, node.pk)
    with transaction.atomic():  # the RM counts the node's statuses anew from now on
        Intent.objects.create(sub_cluster=sub_cluster, kind=Intent.Kind.NODE, node_id=node.pk)
        transaction.on_commit(lambda: _after_change(sub_cluster.pk))
    return session(node, sub_cluster, secret)


def _token(text: Any) -> JoinToken | None:
    """The join token of that text, if it is good now."""
    if not isinstance(text, str) or not text:
        return None
    good = Q(expires_at=None) | Q(expires_at__gt=clock.now())
    rows = JoinToken.objects.select_related("sub_cluster").filter(good, revoked_at=None, used_at=None)
    return rows.filter(sha256=hashed(text)).first()


def _known_by(r: Register) -> NodeCredential | None:
    """Of the node of that name that has, or had last, this credential."""
    if not (isinstance(r.credential, str) and CREDENTIAL.fullmatch(r.credential) and _text(r.name, 63)):
        return None
    of_name = NodeCredential.objects.filter(
        node__sub_cluster__in=SubCluster.objects.values("pk"), node__name=r.name, sha256=hashed(r.credential)
    )
    return of_name.select_related("node__sub_cluster").first()


def _use(token: JoinToken | None, node: Node, new: bool) -> None:
    """``Forbidden`` unless the token gives the name: any gives a new one, and one for the name gives it once."""
    if token is not None and token.node not in ("", node.name):
        raise Forbidden(f"the join token is for a node called {token.node}")
    if token is not None and token.node:
        if not JoinToken.objects.filter(pk=token.pk, used_at=None).update(used_at=clock.now()):
            raise Forbidden("the join token is used; ask an operator for a new one")
    elif token is None or not new:
        raise Forbidden(
            f"node {node.name} is registered, and this machine has not its credential; an operator gives it the name"
            f" with: hydractl sub-cluster join-token {node.sub_cluster.name} --node {node.name}"
        )


def _not_retired(sub_cluster: SubCluster, name: str) -> None:
    """Whose credential ended with a decommission may not come back by itself."""
    retired = Node.objects.filter(sub_cluster=sub_cluster, name=name, duty=Node.Duty.DECOMMISSIONED)
    if retired.filter(credential__revoked_at__isnull=False).exists():
        raise Gone(f"node {name} is decommissioned; an operator takes it back with: hydractl node uncordon {name}")


def set_health_text(node_id: int, text: str) -> None:
    """Keep what the node's health script says, for operators to read."""
    changed = Node.objects.filter(pk=node_id).exclude(health_text=text).update(health_text=text)
    if changed:
        events.hint("nodes")


def _after_change(sub_cluster_id: int) -> None:
    bus.wake([sub_cluster_id])
    events.hint("nodes", "overview")


def bulk_register(sub_cluster: SubCluster, nodes: Sequence[Register]) -> list[NodeSession]:
    """Many new nodes at once, for the process that plays them. Join tokens are not looked at."""
    for r in nodes:
        check(r)
    secrets = [new_secret() for _ in nodes]
    with transaction.atomic():
        rows = Node.objects.bulk_create(
            [Node(sub_cluster=sub_cluster, name=r.name, **_described(r)) for r in nodes],
            update_conflicts=True,
            unique_fields=["sub_cluster", "name"],
            update_fields=_DESCRIBED,
        )
        NodeCredential.objects.bulk_create(
            [NodeCredential(node=n, sha256=hashed(s), revoked_at=None) for n, s in zip(rows, secrets, strict=True)],
            update_conflicts=True,
            unique_fields=["node"],
            update_fields=["sha256", "revoked_at"],
        )
        Intent.objects.bulk_create([Intent(sub_cluster=sub_cluster, kind=Intent.Kind.NODE, node_id=n.pk) for n in rows])
        record(SYSTEM, "node.register", f"sub-cluster/{sub_cluster.name}", after={"nodes": len(rows)})
        transaction.on_commit(lambda: _after_change(sub_cluster.pk))
    grant_redis(sub_cluster.pk, [(n.pk, hashed(s)) for n, s in zip(rows, secrets, strict=True)])
    return [session(n, sub_cluster, s) for n, s in zip(rows, secrets, strict=True)]


def lease_master() -> bytes:
    """The secret from which every node's lease key is derived."""
    return hmac.digest(settings.SECRET_KEY.encode(), b"container leases", hashlib.sha256)


def lease_keys(node_id: int) -> dict[str, str]:
    """The node's signing keys, current and previous: key id -> hex."""
    master, current = lease_master(), settings.HYDRA["lease_key_id"]
    return {str(k): desired.node_key(master, k, node_id).hex() for k in (current, current - 1) if k > 0}


def bare_url(url: str) -> str:
    """The address without user and password, which are web's own; options in the query stay, but not those two."""
    parts = urlsplit(url)
    query = [(k, v) for k, v in parse_qsl(parts.query) if k not in {"username", "password"}]
    bare = parts._replace(netloc=parts.netloc.rpartition("@")[2], query=urlencode(query)).geturl()
    return bare.replace("unix:/", "unix:///", 1) if bare.startswith("unix:/") and bare[6:7] != "/" else bare


def session(node: Node, sub_cluster: SubCluster, credential: str = "") -> NodeSession:
    """What the node needs to work: where, as whom, and how often."""
    return NodeSession(
        node_id=node.pk,
        sub_cluster_id=sub_cluster.pk,
        sub_cluster=sub_cluster.name,
        redis_url=bare_url(settings.NODE_REDIS_URL),
        redis_user=keys.acl_user(node.pk),
        lease_keys=lease_keys(node.pk),
        heartbeat_s=settings.HYDRA["heartbeat_s"],
        max_disconnect_s=settings.HYDRA["max_disconnect_s"],
        credential=credential,
        output_max_bytes=int(settings.HYDRA["artifact_max_mib"]) << 20,
    )


def decommission(actor: Actor, node: Node) -> None:
    """Take the node out for good, now: its credential ends, and what runs there is lost and starts again elsewhere.

    Its connections to Redis are cut at once.
    """
    with transaction.atomic():
        Node.objects.filter(pk=node.pk).update(duty=Node.Duty.DECOMMISSIONED)
        NodeCredential.objects.filter(node=node, revoked_at=None).update(revoked_at=clock.now())
        Intent.objects.create(
            sub_cluster_id=node.sub_cluster_id, kind=Intent.Kind.NODE, node_id=node.pk, payload={"decommission": True}
        )
        record(actor, "node.decommission", f"node/{node.pk}")
        transaction.on_commit(lambda: _after_change(node.sub_cluster_id))
    _remove_redis_user(node.pk)


def _save_acl(r: redis.Redis) -> None:
    """Keep users over a restart; without an ACL file Redis says so, and ``restore_acl`` is what remains."""
    try:
        r.execute_command("ACL SAVE")
    except redis.ResponseError as error:
        log.debug("Redis keeps no file of its users", problem=str(error))


def grant_redis(sub_cluster_id: int, nodes: Sequence[tuple[int, str]]) -> bool:
    """(Re-)create the nodes' Redis users from their hashes. False when Redis did not answer."""
    try:
        r = bus.client(timeout_s=2.0)
        for at in range(0, len(nodes), ACL_BATCH):
            pipe = r.pipeline(transaction=False)
            for node_id, sha256 in nodes[at : at + ACL_BATCH]:
                rules = keys.acl_rules(sub_cluster_id, node_id, sha256)
                pipe.execute_command("ACL SETUSER", keys.acl_user(node_id), *rules)
            pipe.execute()
        _save_acl(r)
    except redis.RedisError as error:
        log.warning(
            "Redis users not set; set again when a node asks for its session", nodes=len(nodes), problem=str(error)
        )
        return False
    return True


def _remove_redis_user(node_id: int) -> None:
    try:
        r = bus.client(timeout_s=2.0)
        r.execute_command("ACL DELUSER", keys.acl_user(node_id))
        _save_acl(r)
    except redis.RedisError as error:
        log.error(
            "Redis user of a revoked node not removed; the next clean-up removes it", node=node_id, problem=str(error)
        )


def _silence_former(sub_cluster_id: int, node_id: int) -> None:
    """Nothing more is heard of who had the node's name: a status of his would be newer than any of the next one's."""
    try:
        r = bus.client(timeout_s=2.0)
        r.execute_command("CLIENT KILL USER", keys.acl_user(node_id))
        r.delete(keys.status(sub_cluster_id, node_id))
    except redis.RedisError as error:
        log.warning("a node's former connections may be open still", node=node_id, problem=str(error))


def ensure_redis_user(node: Node, sha256: str) -> None:
    """Create the node's Redis user again if Redis has lost it."""
    user = keys.acl_user(node.pk)
    try:
        missing = bus.client(timeout_s=2.0).execute_command("ACL GETUSER", user) is None
    except redis.RedisError as error:
        log.warning("cannot look for a Redis user", user=user, problem=str(error))
        return
    if missing:
        grant_redis(node.sub_cluster_id, [(node.pk, sha256)])


def restore_acl(sub_cluster_id: int) -> int:
    """Make Redis' users those of the StateStore: valid nodes have theirs, revoked ones none. How many are valid."""
    rows = NodeCredential.objects.filter(node__sub_cluster_id=sub_cluster_id).values_list(
        "node_id", "sha256", "revoked_at"
    )
    valid = [(node_id, sha256) for node_id, sha256, revoked_at in rows if revoked_at is None]
    revoked = [keys.acl_user(node_id) for node_id, _, revoked_at in rows if revoked_at is not None]
    if revoked:
        try:
            bus.client(timeout_s=2.0).execute_command("ACL DELUSER", *revoked)
        except redis.RedisError as error:
            log.warning("Redis users of revoked nodes not removed", problem=str(error))
    grant_redis(sub_cluster_id, valid)
    return len(valid)
