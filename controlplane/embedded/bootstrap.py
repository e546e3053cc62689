"""What a new cluster starts with: a policy with three queues, sub-clusters, two accounts, join tokens. Idempotent."""

import hashlib
from collections.abc import Mapping

from django.db import connection, transaction

from controlplane.accounts.models import Role, User
from controlplane.statestore.models import JoinToken, Lease, PolicyVersion, Queue, SubCluster

LOCK_KEY = 0x48594442  # for pg_advisory_xact_lock: two at once take turns
QUEUES = (
    # path, parent, guaranteed share of the parent, open to every tenant, leaf
    ("root", "", 1.0, False, False),
    ("root.default", "root", 0.3, True, True),
    ("root.prod", "root", 0.5, False, True),
    ("root.research", "root", 0.2, False, True),
)


@transaction.atomic
def run(sub_clusters: list[str], secrets: Mapping[str, str]) -> list[str]:
    """Make what is missing; returns what was made, one line each."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK_KEY])
    made = _policy()
    for name in sub_clusters:
        made += _sub_cluster(name, secrets.get(f"join_token_{name}", ""))
    made += _account("operator", Role.OPERATOR, secrets.get("operator_password", ""))
    made += _account("tenant", Role.TENANT, secrets.get("tenant_password", ""))
    return made


def _policy() -> list[str]:
    if PolicyVersion.objects.exists():
        return []
    document = {
        "queues": [
            {"path": path, "guaranteed": guaranteed, "maximum": 1.0, "open_to_all": is_open}
            for path, _, guaranteed, is_open, _ in QUEUES
        ]
    }
    version = PolicyVersion.objects.create(document=document, message="The default policy", active=True)
    Queue.objects.bulk_create(
        Queue(
            version=version, path=path, parent_path=parent, guaranteed=guaranteed, open_to_all=is_open, leaf=leaf
        )
        for path, parent, guaranteed, is_open, leaf in QUEUES
    )
    return ["the default policy"]


def _sub_cluster(name: str, token: str) -> list[str]:
    row, new = SubCluster.objects.get_or_create(name=name)
    Lease.objects.get_or_create(sub_cluster=row)
    if token:
        digest = hashlib.sha256(token.encode()).hexdigest()
        JoinToken.objects.get_or_create(sha256=digest, defaults={"sub_cluster": row, "note": "nodes of this host"})
    return [f"sub-cluster {name}"] if new else []


def _account(username: str, role: Role, password: str) -> list[str]:
    """Passwords are set once; later ones are the person's own."""
    if not password or User.objects.filter(username=username).exists():
        return []
    User.objects.create_user(username, password=password, role=role, is_staff=role == Role.OPERATOR)
    return [f"account {username}"]
