"""Which secrets a job names, and whether it may: those of its owner, in what the owner has written himself.

Whoever writes a command that runs with somebody's secrets can read them. So nobody else's command gets any.
"""

from collections.abc import Mapping

from contract.jobspec import JobSpec
from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.router.named import Named
from controlplane.statestore.queries.accounts import secrets


def named(spec: JobSpec) -> Named:
    """All that the job names."""
    return [
        (f"{'master' if spec.master else f'groups.{no}'}.secrets.{i}.name", secret.name)
        for no, group in enumerate(spec.groups)
        for i, secret in enumerate(group.secrets)
    ]


def missing(user: User, jobs: Mapping[int, Named]) -> dict[int, list[FieldError]]:
    """What the account has no secret for, by job. One query, where anything is named."""
    names = {name for all_of in jobs.values() for _, name in all_of}
    lacking = names - secrets.known(user.pk, names) if names else names
    return {no: found for no, all_of in jobs.items() if (found := [_lacks(*e) for e in all_of if e[1] in lacking])}


def _lacks(field: str, name: str) -> FieldError:
    return FieldError(field, f"you have no secret {name!r}", f"put it first: hydractl secret put {name}")


def of_others(spec: JobSpec, owner: User) -> list[FieldError]:
    """What is told somebody else who writes what is to run in the owner's name."""
    remedy = f"let {owner.username} write it, or leave the secrets out"
    problem = f"whoever writes this could read a secret of {owner.username}"
    return [FieldError(field, problem, remedy) for field, _ in named(spec)]
