"""What operators want of rollouts: begin one, hold it, let it go on, or take it back."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction

from contract.problems import FieldError
from contract.rollouts import Guards
from controlplane import events
from controlplane.policy import documents, proposals, rollouts, versions
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions import staged
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.errors import Conflict, Invalid, NotFound
from controlplane.statestore.models import PolicyProposal, Rollout, SubCluster
from controlplane.statestore.models.rollouts import is_everywhere

Json = dict[str, Any]
State = Rollout.State
NO_GUARDS = Guards()
_PAUSED = "paused by an operator"


@dataclass(frozen=True, slots=True)
class RolloutPlan:
    """on_breach: ``pause`` or ``rollback``.

    stages: [{"sub_clusters": names, "soak_s": seconds}]; the last one may instead be {"everywhere": true}.
    """

    stages: list[Json]
    guards: Guards = NO_GUARDS
    on_breach: str = Rollout.OnBreach.ROLLBACK

    def as_json(self) -> Json:
        guards = self.guards.model_dump(exclude_none=True)
        return {"stages": self.stages, "guards": guards, "on_breach": str(self.on_breach)}


@dataclass(frozen=True, slots=True)
class Ordered:
    """The rollout, or the proposal that waits for a second operator."""

    rollout: Rollout | None = None
    proposal: PolicyProposal | None = None


def begin(actor: Actor, document: Any, message: str, plan: RolloutPlan, *, parent: int | None = None) -> Ordered:
    """Store the document as a version and begin to put it in force in stages; or propose that.

    ``Stale``, ``Invalid``: as of a push. ``Conflict`` while another rollout is under way.
    """
    if not message.strip():
        wrong = FieldError("message", "is empty", "say what changes and why: others read it in the list of versions")
        raise Invalid("the change has no message", [wrong])
    valid, _ = documents.validate(document)
    with transaction.atomic():
        actions.lock()
        staged.refuse_another()
        _check_stages(plan.stages)
        before = versions.active()
        if before is None:
            raise Conflict(
                "no policy is in force yet", [FieldError("stages", "needs one", "push without stages first")]
            )
        actions.check_parent(before, parent)
        if proposals.needed(actor, before):
            changes = versions.changes(versions.written(before), valid)
            payload = {"document": valid, "plan": plan.as_json()}
            return Ordered(proposal=proposals.propose(actor, "rollout", payload, message, before, changes))
        return Ordered(rollout=_create(actor, valid, message, plan))


def execute_proposal(approver: Actor, proposal: PolicyProposal) -> Json:
    """A proposal to roll a document out was approved."""
    staged.refuse_another()
    plan = proposal.payload["plan"]
    _check_stages(plan["stages"])
    found = RolloutPlan(plan["stages"], Guards.model_validate(plan["guards"]), plan["on_breach"])
    row = _create(approver, proposal.payload["document"], proposal.message, found, author=proposal.author_id)
    return {"rollout": row.pk, "version": row.version_id}


def _create(actor: Actor, document: Json, message: str, plan: RolloutPlan, author: int | None = None) -> Rollout:
    before = versions.active()
    assert before is not None
    version = versions.create(actor, document, message, author=author)
    row = Rollout.objects.create(
        version=version, from_version=before, author_id=author or actor.user_id, created_at=database_now(),
        **plan.as_json(),
    )  # fmt: skip
    texts = [c["text"] for c in versions.brief(versions.changes(versions.written(before), document))]
    after = {"version": version.pk, "message": message, "changes": texts} | plan.as_json()
    record(actor, "policy.rollout.create", f"rollout/{row.pk}", {"version": before.pk}, after)
    transaction.on_commit(lambda: events.hint("policy", "overview"))
    return row


def _check_stages(stages: list[Json]) -> None:
    states = dict(SubCluster.objects.values_list("name", "state"))
    wrong: list[FieldError] = []
    seen: set[str] = set()
    for at, stage in enumerate(stages):
        wrong += _check_kind(at, stage, len(stages))
        for no, name in enumerate(stage["sub_clusters"]):
            where, found = f"stages.{at}.sub_clusters.{no}", states.get(name)
            if found is None:
                wrong.append(FieldError(where, f"there is no sub-cluster {name!r}", f"use {', '.join(sorted(states))}"))
            elif found not in (SubCluster.State.RUNNING, SubCluster.State.DRAINING):
                wrong.append(FieldError(where, f"{name} is {found}", "name one that runs"))
            elif name in seen:
                wrong.append(FieldError(where, f"{name} stands twice", "name each once"))
            seen.add(name)
    if wrong:
        raise Invalid("the stages have errors", wrong)


def _check_kind(at: int, stage: Json, stages: int) -> Iterator[FieldError]:
    """It names sub-clusters, or is everywhere and the last."""
    named, everywhere = stage["sub_clusters"], is_everywhere(stage)
    if everywhere and named:
        yield FieldError(f"stages.{at}.sub_clusters", "names some of what is everywhere", "leave them out")
    elif everywhere and at + 1 < stages:
        yield FieldError(f"stages.{at}.everywhere", "is not the last stage", "put it last, or name sub-clusters")
    elif not everywhere and not named:
        yield FieldError(f"stages.{at}.sub_clusters", "names none", "name some, or give everywhere: true")


# --- while it is under way

_PAUSED = "paused by an operator"


def pause(actor: Actor, number: int, message: str = "") -> Rollout:
    """Nothing more is told the version; those that run it go on."""

    def act(row: Rollout) -> None:
        _only(row, State.PENDING, State.RUNNING, State.SOAKING)
        row.state, row.message = State.PAUSED, message or _PAUSED

    return _order(actor, number, "pause", act)


def resume(actor: Actor, number: int, message: str = "") -> Rollout:
    """Go on with the stage it is in, which soaks anew."""

    def act(row: Rollout) -> None:
        _only(row, State.PAUSED)
        row.state = State.RUNNING if row.stage_at else State.PENDING
        row.stage_at, row.soak_at = database_now() if row.stage_at else None, None
        row.message = message or "resumed by an operator"

    return _order(actor, number, "resume", act)


def abort(actor: Actor, number: int, message: str = "") -> Rollout:
    """Take it back: where it was told, the old content is put in force again."""

    def act(row: Rollout) -> None:
        _only(row, State.PENDING, State.RUNNING, State.SOAKING, State.PAUSED)
        why = "" if row.state != State.PAUSED or row.message in ("", _PAUSED) else f"; it was paused: {row.message}"
        row.message = f"{message or 'aborted by an operator'}{why}"
        if row.stage_at:
            rollouts.roll_back(row, actor)
        else:
            row.state, row.live, row.ended_at = State.ROLLED_BACK, False, database_now()

    return _order(actor, number, "abort", act)


def _order(actor: Actor, number: int, name: str, act: Callable[[Rollout], None]) -> Rollout:
    with transaction.atomic():
        actions.lock()
        found = Rollout.objects.select_for_update() if 0 < number < 2**63 else Rollout.objects.none()
        row = found.filter(pk=number).first()
        if row is None:
            raise NotFound(f"there is no rollout {number}")
        before = str(row.state)
        act(row)
        row.save()
        after = {"state": str(row.state), "message": row.message}
        record(actor, f"policy.rollout.{name}", f"rollout/{row.pk}", {"state": before}, after)
        transaction.on_commit(lambda: events.hint("policy", "overview"))
    return row


def _only(row: Rollout, *states: State) -> None:
    if row.state not in states:
        words = " or ".join(states)
        wrong = FieldError("rollout", f"it is {row.state}", f"this is for one that is {words}")
        raise Conflict(f"rollout {row.pk} is {row.state}", [wrong])
