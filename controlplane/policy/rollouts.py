"""Drives the rollout under way: looked at every second, by any number of processes at once.

Looking takes no lock. What follows is done under the lock of policy changes
and the row's, if the row still is as it was seen; so a step that is doubled or
late does nothing.
"""

import datetime as dt
from collections.abc import Callable
from functools import partial
from typing import Any

from django.db import transaction

from contract.rollouts import Guards
from controlplane import events
from controlplane.policy import measuring, versions
from controlplane.policy.guards import Cause, StageComparison, breaches
from controlplane.policy.staging import Action, RolloutStatus, StagingDecision, decide
from controlplane.statestore.actions import policy as actions
from controlplane.statestore.actions import staged
from controlplane.statestore.actions.audit import SYSTEM, Actor, record
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.actions.policy import Origin, base_of
from controlplane.statestore.errors import Refused
from controlplane.statestore.models import PolicyVersion, Rollout
from controlplane.statestore.models.rollouts import is_everywhere
from controlplane.statestore.queries.policy import convergence

Json = dict[str, Any]
State = Rollout.State


def step(now: dt.datetime | None = None) -> Action:
    """Look at the rollout under way and do what follows. now: by the database's clock, which is asked without it."""
    row = Rollout.objects.select_related("version").filter(live=True).first()
    if row is None:
        return Action.WAIT
    now = now or database_now()
    metrics = _look(row, now) if row.state == State.SOAKING else None
    decision = decide(status_of(row, now, metrics))
    if decision.action is Action.WAIT:
        if metrics is not None:
            Rollout.objects.filter(pk=row.pk, state=row.state, stage=row.stage).update(metrics=metrics)
            events.hint("policy")
        return Action.WAIT
    return _apply(row, decision, metrics)


def status_of(row: Rollout, now: dt.datetime, metrics: Json | None = None) -> RolloutStatus:
    """What the decision rests on. Two queries at most."""
    stage = row.stages[row.stage]
    return RolloutStatus(
        state=row.state,
        stage=row.stage,
        stages=len(row.stages),
        soak_s=stage["soak_s"],
        in_stage_s=_since(row.stage_at, now),
        soaked_s=_since(row.soak_at, now),
        behind=tuple(_behind(row)),
        breaches=tuple(_breaches(row, metrics)) if metrics else (),
        rolls_back=row.on_breach == Rollout.OnBreach.ROLLBACK,
    )


def staged_sub_clusters(row: Rollout) -> list[str]:
    """The sub-clusters that have been told so far."""
    return [name for names in _names(row, row.stage) for name in names]


def _since(at: dt.datetime | None, now: dt.datetime) -> float:
    return max(0.0, (now - at).total_seconds()) if at else 0.0


def _behind(row: Rollout) -> list[str]:
    if row.state in (State.RUNNING, State.SOAKING):
        # What is in force may be the version with an override that began since.
        return convergence.behind(_active().pk if row.everywhere else row.version_id, staged_sub_clusters(row))
    if row.state == State.ROLLING_BACK and row.rollback_version_id:
        return convergence.behind(_active().pk, staged_sub_clusters(row))
    return []


def _active() -> PolicyVersion:
    return PolicyVersion.objects.defer("document", "written").get(active=True)


def _look(row: Rollout, now: dt.datetime) -> Json:
    stages = _names(row, row.stage)
    found = measuring.measure(stages, _since(row.soak_at, now), len(stages))
    return measuring.smoothed(found, row.metrics)[1]


def _breaches(row: Rollout, metrics: Json) -> list[str]:
    guards, found = Guards.model_validate(row.guards), []
    for at, values in enumerate(metrics["stages"]):
        if row.everywhere and at < row.stage:
            continue  # part of the whole now, and with nothing left to compare it with
        before = StageComparison.model_validate(row.baseline.get(str(at), {}))
        where = ", ".join(row.stages[at]["sub_clusters"]) or "the whole cluster"
        now = StageComparison.model_validate(values)
        found += breaches(guards, before, now, where, partial(_named, row, at, now.staged.window_s))
    return found


def _named(row: Rollout, at: int, window_s: float, cause: Cause) -> str:
    return measuring.named(_names(row, at)[at], window_s, cause)


def _apply(seen: Rollout, decision: StagingDecision, metrics: Json | None) -> Action:
    """What this call did: nothing, where another did it."""
    with transaction.atomic():
        actions.lock()
        row = (
            Rollout.objects.select_for_update(of=("self",))
            .select_related("version")
            .filter(pk=seen.pk, live=True, state=seen.state, stage=seen.stage, stage_at=seen.stage_at)
            .first()
        )
        if row is None:
            return Action.WAIT
        row.message = decision.message or row.message
        if metrics is not None:
            row.metrics = metrics
        before = str(row.state)
        done = _perform(decision.action, row)
        row.save()
        record(
            SYSTEM, f"policy.rollout.{done}", f"rollout/{row.pk}", {"state": before},
            {"state": str(row.state), "stage": row.stage, "message": row.message},
        )  # fmt: skip
        transaction.on_commit(lambda: events.hint("policy", "overview"))
    return done


def _perform(action: Action, row: Rollout) -> Action:
    """Do it; what cannot be done waits for an operator, who is told why."""
    at = row.stage
    try:
        with transaction.atomic():
            _ACTIONS[action](row)
    except Refused as refused:
        row.refresh_from_db()
        what = "taken back" if action is Action.ROLL_BACK else "put in force everywhere"
        row.stage, row.state, row.message = at, State.PAUSED, f"it cannot be {what}: {refused.detail}"
        return Action.PAUSE
    return action


def _begin(row: Rollout) -> None:
    _start_stage(row, 0)


def _advance(row: Rollout) -> None:
    _start_stage(row, row.stage + 1)


def _start_stage(row: Rollout, stage: int) -> None:
    soak_s = row.stages[stage]["soak_s"]
    measured = measuring.measure(_names(row, stage), measuring.before_s(soak_s), stage + 1)
    row.baseline[str(stage)] = measured[stage].model_dump()
    row.stage, row.state, row.stage_at, row.soak_at = stage, State.RUNNING, database_now(), None
    if row.everywhere:
        row.save()  # so that putting it in force does not end it
        versions.activate(SYSTEM, row.version)
    else:
        staged.tell(row.version, row.stages[stage]["sub_clusters"])


def _names(row: Rollout, stage: int) -> list[list[str]]:
    """The sub-clusters of each stage up to this one."""
    return [measuring.all_running() if is_everywhere(s) else s["sub_clusters"] for s in row.stages[: stage + 1]]


def _soak(row: Rollout) -> None:
    row.state, row.soak_at, row.metrics = State.SOAKING, database_now(), {}


def _complete(row: Rollout) -> None:
    if not row.everywhere:
        versions.activate(SYSTEM, row.version)
    row.state, row.live, row.ended_at = State.COMPLETED, False, database_now()


def _pause(row: Rollout) -> None:
    row.state = State.PAUSED


def roll_back(row: Rollout, actor: Actor = SYSTEM) -> None:
    """Put what was before in force as a version of its own. The caller holds the locks and saves the row.

    What was before is what holds elsewhere, or, once the version is in force
    for all, what it was made from, with the overrides of this moment.
    ``Conflict`` when jobs live in a queue that would vanish.
    """
    active = PolicyVersion.objects.get(active=True)
    before = row.from_version if row.everywhere else active
    origin = Origin(written=before.written, base=base_of(before), overrides=before.overrides)
    message = f"roll back version {row.version_id}: {row.message}"[: versions.MAX_MESSAGE]
    old = actions.create_version(
        actor, before.document, actions.rows_of(before), message, parent=active.pk, origin=origin
    )
    row.rollback_version, row.state, row.stage_at = old, State.ROLLING_BACK, database_now()
    row.save()
    versions.activate(actor, old)


def _rolled_back(row: Rollout) -> None:
    row.state, row.live, row.ended_at = State.ROLLED_BACK, False, database_now()


_ACTIONS: dict[Action, Callable[[Rollout], None]] = {
    Action.BEGIN: _begin,
    Action.ADVANCE: _advance,
    Action.SOAK: _soak,
    Action.COMPLETE: _complete,
    Action.PAUSE: _pause,
    Action.ROLL_BACK: roll_back,
    Action.ROLLED_BACK: _rolled_back,
}
