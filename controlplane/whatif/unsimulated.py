"""What policies say of submitting, which web sees to and no simulation does: jobs come as they were recorded."""

from collections.abc import Mapping, Sequence

from controlplane.statestore.actions.policy import QueueRow

NAMED = 3  # queues in a note
_LIMIT = "no job is refused for what its account has live already"
_FIELDS = {
    "state": "jobs of a stopped queue are taken all the same",
    "max_live_jobs_per_user": _LIMIT,
    "max_live_tasks_per_user": _LIMIT,
    "max_live_mib_per_user": _LIMIT,
    "max_priority": "jobs keep the priorities that they came with, however high",
    "default_priority": "jobs keep the priorities that they came with",
}  # fmt: skip


def notes(policies: Sequence[Mapping[str, QueueRow]]) -> list[str]:
    """One for each field in which they differ, with the queues. policies: the leaves that all of them have, by path."""
    found = []
    for field, meaning in _FIELDS.items():
        values = {path: {getattr(rows[path], field) for rows in policies} for path in policies[0]}
        if differ := [path for path, each in values.items() if len(each) > 1]:
            names = ", ".join(differ[:NAMED]) + (" and others" if len(differ) > NAMED else "")
            found.append(f"{field}, in which the policies differ for {names}, is not simulated: {meaning}.")
    return found
