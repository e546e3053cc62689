"""What a new cluster starts with: a policy with three queues, sub-clusters, two accounts, join tokens. Idempotent."""

import datetime as dt
import os
from collections.abc import Mapping

from django.db import connection, transaction

from controlplane import clock
from controlplane.accounts.models import Role, User
from controlplane.policy import versions
from controlplane.statestore.actions import accounts
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.actions.credentials import hashed
from controlplane.statestore.models import JoinToken, Lease, PolicyVersion, SubCluster

JOIN_TOKEN_DAYS = 30  # of a host's own nodes, from each time that this runs
LOCK_KEY = 0x48594442  # for pg_advisory_xact_lock: two at once take turns
POLICY = {
    "queues": {
        "default": {"guaranteed": 0.3, "open_to_all": True},
        "prod": {"guaranteed": 0.5},
        "research": {"guaranteed": 0.2},
    }
}


@transaction.atomic
def run(sub_clusters: list[str], secrets: Mapping[str, str]) -> list[str]:
    """Make what is missing; returns what was made, one line each."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
    made = []
    for name in sub_clusters:
        made += _sub_cluster(name, secrets.get(f"join_token_{name}", ""))
    made += _policy()
    operator_password = secrets.get("operator_password") or os.environ.get("HYDRA_OPERATOR_PASSWORD", "")
    made += _account("operator", Role.OPERATOR, operator_password)
    made += _account("tenant", Role.TENANT, secrets.get("tenant_password", ""))
    return made


def _policy() -> list[str]:
    if PolicyVersion.objects.exists():
        return []
    versions.publish(SYSTEM, POLICY, "The default policy")
    return ["the default policy"]


def _sub_cluster(name: str, token: str) -> list[str]:
    row, new = SubCluster.objects.get_or_create(name=name)
    Lease.objects.get_or_create(sub_cluster=row)
    if token:
        until = {"expires_at": clock.now() + dt.timedelta(days=JOIN_TOKEN_DAYS)}
        made = until | {"sub_cluster": row, "note": "nodes of this host"}
        JoinToken.objects.update_or_create(sha256=hashed(token), defaults=until, create_defaults=made)
    return [f"sub-cluster {name}"] if new else []


def _account(username: str, role: Role, password: str) -> list[str]:
    """Passwords are set once; later ones are the person's own."""
    if not password or User.objects.filter(username=username).exists():
        return []
    accounts.create(SYSTEM, username, password, role)
    return [f"account {username}"]
