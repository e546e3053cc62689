"""Which fields of a group an update of a running service may change."""

from contract.jobspec import GroupSpec
from controlplane.router.updating import KEPT as REFUSED

CHANGES = {
    "command", "shell", "env", "secrets", "files", "outputs", "timeout_s", "grace_s", "ports", "health_check",
    "resources", "locality", "node_labels", "placement", "estimated_duration_s",
}  # fmt: skip
KEPT = {"name", "count"}  # names are compared by themselves, and counts are left as they are


def test_every_field_of_a_group_either_changes_or_is_refused() -> None:
    """A field that is neither would change without anything of it reaching the tasks, or be lost without a word."""
    assert GroupSpec.model_fields.keys() == CHANGES | KEPT | set(REFUSED)
    assert not CHANGES & set(REFUSED)
