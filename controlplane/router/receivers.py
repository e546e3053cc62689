"""Which receivers a job names: its owner has them."""

from collections.abc import Mapping

from contract.jobspec import JobSpec
from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.router.named import Named
from controlplane.statestore.queries.accounts import receivers


def named(spec: JobSpec) -> Named:
    """All that the job names."""
    return [(f"notify.{i}.receiver", each.receiver) for i, each in enumerate(spec.notify)]


def missing(user: User, jobs: Mapping[int, Named]) -> dict[int, list[FieldError]]:
    """What the account has no receiver for, by job. One query, where anything is named."""
    names = {name for all_of in jobs.values() for _, name in all_of}
    lacking = names - receivers.known(user.pk, names) if names else names
    return {no: found for no, all_of in jobs.items() if (found := [_lacks(*e) for e in all_of if e[1] in lacking])}


def _lacks(field: str, name: str) -> FieldError:
    return FieldError(field, f"you have no receiver {name!r}", f"make it first: hydractl receiver put {name}")
