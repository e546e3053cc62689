"""Which fields of a group an update of a running service may change, and what it goes back to."""

from types import SimpleNamespace
from typing import Any

import pytest

from contract.jobs import RollbackRequest
from contract.jobspec import GroupSpec
from controlplane.router import updating
from controlplane.router.updating import KEPT as REFUSED
from controlplane.statestore.errors import Invalid

CHANGES = {
    "command", "shell", "env", "secrets", "files", "outputs", "timeout_s", "grace_s", "ports", "health_check",
    "resources", "locality", "node_labels", "placement", "estimated_duration_s",
}  # fmt: skip
KEPT = {"name", "count"}  # names are compared by themselves, and counts are left as they are


def test_every_field_of_a_group_either_changes_or_is_refused() -> None:
    """A field that is neither would change without anything of it reaching the tasks, or be lost without a word."""
    assert GroupSpec.model_fields.keys() == CHANGES | KEPT | set(REFUSED)
    assert not CHANGES & set(REFUSED)


class Service:
    """Revisions of a service, each by the command it runs; the last one is in force. asked: what its home was asked."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *commands: str, failed: tuple[int, ...] = ()):
        self.asked: list[int] = []
        self.job: Any = SimpleNamespace(pk=1, services={"revision": len(commands)}, spec_bytes=1)
        self.specs = [{"groups": [{"name": "web", "command": [command]}]} for command in commands]
        kept = [{"revision": n, "outcome": "failed" * (n in failed), "size": 1} for n in range(1, len(commands) + 1)]
        known = SimpleNamespace(values_list=lambda *a, **k: SimpleNamespace(get=lambda pk: self.specs[-1]))
        queries = SimpleNamespace(revisions=lambda job: kept, specification=lambda job, n: self.specs[n - 1])
        settled = lambda job, n: n == len(commands) and not job.services.get("rollout")  # noqa: E731
        actions = SimpleNamespace(refuse_others=lambda job: None, settled=settled)
        monkeypatch.setattr(updating, "Job", SimpleNamespace(objects=known))
        monkeypatch.setattr(updating, "services", queries)
        monkeypatch.setattr(updating, "actions", actions)
        monkeypatch.setattr(updating, "_claim", lambda *a: None)
        monkeypatch.setattr(updating, "_ask", lambda user, actor, job, asked, what: self.asked.append(what["back"]))

    def rollback(self, to: int | None = None) -> list[str] | None:
        nobody: Any = None
        return updating.rollback(nobody, nobody, self.job, RollbackRequest(revision=len(self.specs), to=to))


def test_what_was_undone_and_what_runs_again_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    undone = Service(monkeypatch, "first", "good", "broken", "good", failed=(3,))
    assert undone.rollback() == ["web.command"] and undone.asked == [1]
    back = Service(monkeypatch, "first", "second", "first")
    assert back.rollback() and back.asked == [2]


def test_where_nothing_else_served_a_rollback_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(monkeypatch, "good", "broken", "good", failed=(2,))
    with pytest.raises(Invalid) as refused:
        service.rollback()
    (error,) = refused.value.errors
    assert (error.field, error.remedy) == ("to", "name one of 1, 2")
    assert "served and ran anything else" in error.message and service.asked == []
    assert service.rollback(2) == ["web.command"] and service.asked == [2], "what failed may be named"


def test_a_rollback_to_what_runs_already_begins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(monkeypatch, "first", "good", "broken", "good", failed=(3,))
    assert [service.rollback(2), service.rollback(4)] == [None, None] and service.asked == []
    with pytest.raises(Invalid, match="nothing to go back to"):
        service.rollback(9)


def test_while_another_is_rolled_out_it_goes_to_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    service = Service(monkeypatch, "first", "same", "same")
    service.job.services["rollout"] = {"previous": 2, "back": False}
    assert service.rollback() == [] and service.asked == [2]
