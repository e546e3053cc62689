"""Sub-clusters join a running federation: a token from an operator, then a registration that it allows once."""

import datetime as dt
import re
from dataclasses import dataclass

from django.db import transaction

from contract.problems import FieldError
from controlplane.statestore.errors import Conflict, Forbidden, Invalid
from controlplane.statestore.lifeline import State
from controlplane.statestore.models import SubCluster, SubClusterToken

from . import nodes, subclusters
from .audit import Actor, record
from .credentials import hashed, new_secret
from .duty import database_now

NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
RESERVED = {"tokens", "register", "compare"}  # addresses of the API
JOIN_TOKEN_VALID = dt.timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Registered:
    """A new sub-cluster, and the text of a token with which its nodes register until ``expires_at``."""

    sub_cluster: SubCluster
    join_token: str
    expires_at: dt.datetime


def check_name(name: str) -> None:
    """``Invalid`` when no sub-cluster may be called that."""
    if not NAME.fullmatch(name) or name in RESERVED:
        remedy = "use up to 63 small letters, digits and '-'"
        raise Invalid("the name cannot be used", [FieldError("name", f"{name[:63]!r} is not a name", remedy)])


def new_token(actor: Actor, name: str, note: str, valid_s: int) -> tuple[SubClusterToken, str]:
    """Leave to register one sub-cluster, of this name where one is given. Its text is returned once, stored hashed."""
    if name:
        check_name(name)
        _free(name)
    secret = new_secret()
    with transaction.atomic():
        until = database_now() + dt.timedelta(seconds=valid_s)
        row = SubClusterToken.objects.create(
            sha256=hashed(secret), name=name, note=note, expires_at=until, created_by_id=actor.user_id
        )
        after = {"id": row.pk, "name": name, "note": note, "valid_s": valid_s}
        record(actor, "sub-cluster-token.create", f"sub-cluster/{name or '*'}", after=after)
    return row, secret


def revoke_token(actor: Actor, token: SubClusterToken) -> None:
    """No sub-cluster registers with it any more; one that did stays."""
    with transaction.atomic():
        SubClusterToken.objects.filter(pk=token.pk, used_at=None).update(expires_at=database_now())
        record(actor, "sub-cluster-token.revoke", f"sub-cluster/{token.name or '*'}", before={"id": token.pk})


def _free(name: str) -> None:
    held = SubCluster.objects.filter(name=name).first()
    if held is None:
        return
    remedy = (
        "choose another name"
        if held.state == State.DECOMMISSIONED
        else f"choose another name; nodes of it join with: hydractl sub-cluster join-token {name}"
    )
    raise Conflict(f"there is a sub-cluster {name} already, which is {held.state}; {remedy}")


def register(token: str, name: str, actor: Actor) -> Registered:
    """A new sub-cluster that waits for its RM and a node. The token is used up."""
    refused = Forbidden("the token is unknown, used or expired; ask an operator for a new one")
    with transaction.atomic():
        row = SubClusterToken.objects.select_for_update().filter(sha256=hashed(token)).first()
        now = database_now()
        if row is None or row.used_at is not None or row.expires_at <= now:
            raise refused
        if row.name and row.name != name:
            raise Forbidden(f"this token registers {row.name} and no other sub-cluster")
        check_name(name)
        _free(name)
        made = subclusters.create(actor, name, State.JOINING)
        row.used_at, row.sub_cluster = now, made
        row.save(update_fields=["used_at", "sub_cluster"])
        until = now + JOIN_TOKEN_VALID
        _, secret = nodes.new_join_token(actor, made, "made when the sub-cluster registered", until)
    return Registered(made, secret, until)
