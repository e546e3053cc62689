"""What accounts keep of artifacts, and its bounds.

Whoever wants an artifact has a row that says so, and nobody deletes its bytes but with the artifact's row locked and
no such row left. Locks are taken in this order: the artifact's, the account's, a container's.
"""

from collections.abc import Iterable
from typing import Any

from django.conf import settings
from django.db import connection

from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.statestore.errors import Conflict
from controlplane.statestore.models import ArtifactOwner
from controlplane.statestore.queries.accounts.artifacts import kept

GIB = 1 << 30
# Also for whom an operator chose what the account had not uploaded.
_KEEP = """
WITH there AS MATERIALIZED (
    SELECT digest, size FROM statestore_artifact WHERE digest = ANY(%(digests)s::text[]) ORDER BY digest FOR KEY SHARE
), held AS (
    INSERT INTO statestore_artifactowner (artifact_id, owner_id, size)
    SELECT digest, %(owner)s, size FROM there ON CONFLICT DO NOTHING
)
SELECT digest FROM there
"""


def most_files() -> int | None:
    """Distinct artifacts that an account may keep; None: as many as it likes."""
    return int(settings.HYDRA["artifacts_user_files"]) or None


def most_bytes() -> int | None:
    """Bytes that they may come to; None: as many as it likes."""
    return int(settings.HYDRA["artifacts_user_gib"] * GIB) or None


def check(owner_id: int, digest: str, size: int) -> None:
    """``Conflict`` unless the account keeps these bytes already, or may keep so many more."""
    files, most = most_files(), most_bytes()
    if (files, most) == (None, None) or _keeps(owner_id, digest):
        return
    have = kept(owner_id)
    if files is not None and have.files >= files:
        problem = f"you keep {have.files:,} artifacts, and may keep {files:,} (HYDRA_ARTIFACTS_USER_FILES)"
    elif most is not None and have.size + size > most:
        of = f"you keep {_gib(have.size)} of artifacts, and may keep {_gib(most)} (HYDRA_ARTIFACTS_USER_GIB)"
        problem = f"{of}; this one has {_gib(size)}"
    else:
        return
    unused = f"those that nobody uses are removed after {settings.HYDRA['artifact_days']:g} days"
    remedy = f"delete some (hydractl artifacts list, hydractl artifacts rm DIGEST), or wait: {unused}"
    raise Conflict(f"{problem}; {remedy}", [FieldError("sha256", problem, remedy)])


def _gib(size: int) -> str:
    return f"{size / GIB:,.4g} GiB"


def _keeps(owner_id: int, digest: str) -> bool:
    return ArtifactOwner.objects.filter(artifact_id=digest, owner_id=owner_id).exists()


def keep(owner_id: int, digest: str, size: int) -> bool:
    """The account keeps it from now on; whether it did not before. ``Conflict`` where it may keep no more.

    Within the transaction that has locked the artifact's row.
    """
    if _keeps(owner_id, digest):
        return False
    User.objects.select_for_update(no_key=True).get(pk=owner_id)  # two at once must not go past the bound
    check(owner_id, digest, size)
    _, made = ArtifactOwner.objects.get_or_create(artifact_id=digest, owner_id=owner_id, defaults={"size": size})
    return made


def named(spec: dict[str, Any]) -> Iterable[str]:
    """Digests of files that a stored specification names, or one of a group, an ask or a launch."""
    groups = [g for g in spec.get("groups", []) if isinstance(g, dict)]
    for part in [spec, *groups]:
        for file in part.get("files") or []:
            if isinstance(file, dict) and file.get("digest"):
                yield file["digest"]


def keep_named(owner_id: int, digests: Iterable[str]) -> None:
    """What a live job or schedule of the account names stays for it. ``Conflict`` where some is not there any more.

    Within the transaction that stores who names them.
    """
    if not (wanted := set(digests)):
        return
    with connection.cursor() as cursor:
        cursor.execute(_KEEP, {"digests": list(wanted), "owner": owner_id})
        gone = wanted - {digest for (digest,) in cursor.fetchall()}
    if gone:
        raise Conflict(f"the artifact {min(gone)} was deleted meanwhile; upload it again")
