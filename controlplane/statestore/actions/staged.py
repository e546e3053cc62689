"""What a rollout writes beside its own row: who is told to run which version, and how it gives way to a push."""

from collections.abc import Collection

from django.db import transaction
from django.db.models.functions import Now

from contract.problems import FieldError
from controlplane import events
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict
from controlplane.statestore.models import Intent, PolicyVersion, Rollout, SubCluster

from .audit import Actor, record


def tell(version: PolicyVersion, names: Collection[str]) -> None:
    """From now on these sub-clusters run the version's component policies. In the caller's transaction."""
    found = SubCluster.objects.filter(name__in=names).exclude(state=SubCluster.State.DECOMMISSIONED)
    ids = list(found.values_list("pk", flat=True))
    SubCluster.objects.filter(pk__in=ids).update(components_version=version, components_at=Now())
    Intent.objects.bulk_create(
        [Intent(sub_cluster_id=i, kind=Intent.Kind.POLICY, payload={"version": version.pk}) for i in ids]
    )
    transaction.on_commit(lambda: _wake(ids))


def give_way(actor: Actor, version: PolicyVersion, *, derived: bool, force: bool) -> None:
    """Another version is about to be put in force. In that transaction, under the lock of policy changes.

    ``derived``: it holds what the one in force holds but for temporary
    overrides, and changes nothing for a rollout. ``Conflict`` when it would
    cross one, unless ``force``, which gives the rollout up.
    """
    row = Rollout.objects.select_for_update().filter(live=True).first()
    if row is None:
        return
    if version.pk == row.version_id:
        if not row.everywhere:  # else it holds for all, and is watched on
            row.state, row.live, row.ended_at = Rollout.State.COMPLETED, False, Now()
    elif version.pk != row.rollback_version_id:
        if derived:
            return
        if not force:
            raise _crossed(row)
        row.state, row.live, row.ended_at = Rollout.State.FAILED, False, Now()
        row.message = f"version {version.pk} was put in force with force meanwhile"
        record(actor, "policy.rollout.fail", f"rollout/{row.pk}", after={"message": row.message})
    row.save(update_fields=["state", "live", "ended_at", "message"])
    SubCluster.objects.exclude(components_version=None).update(components_version=None, components_at=None)


def refuse_another() -> None:
    """``Conflict`` while a rollout is under way."""
    row = Rollout.objects.filter(live=True).first()
    if row is not None:
        raise _crossed(row)


def _crossed(row: Rollout) -> Conflict:
    text = f"version {row.version_id} is being rolled out in stages (rollout {row.pk}, {row.state})"
    ended = f"end it with hydractl policy rollout abort {row.pk}"
    remedy = f"wait for it, {ended}, or push to everybody with --force, which gives it up"
    return Conflict(text, [FieldError("force", text, remedy)])


def _wake(sub_clusters: list[int]) -> None:
    bus.wake(sub_clusters)
    events.hint("policy", "overview")
