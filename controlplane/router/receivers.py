"""Which receivers a job names: its owner has them."""

from collections.abc import Mapping

from contract.jobspec import JobSpec
from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.statestore.queries.accounts import receivers


def missing(user: User, specs: Mapping[int, JobSpec]) -> dict[int, list[FieldError]]:
    """What the account has no receiver for, by job. One query, where anything is named."""
    named = {no: [(i, each.receiver) for i, each in enumerate(spec.notify)] for no, spec in specs.items()}
    names = {name for all_of in named.values() for _, name in all_of}
    lacking = names - receivers.known(user.pk, names) if names else names
    return {
        no: found
        for no, all_of in named.items()
        if (found := [_lacks(f"notify.{i}.receiver", name) for i, name in all_of if name in lacking])
    }


def _lacks(field: str, name: str) -> FieldError:
    return FieldError(field, f"you have no receiver {name!r}", f"make it first: hydractl receiver put {name}")
