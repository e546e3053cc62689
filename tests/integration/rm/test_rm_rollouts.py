"""Policy versions that are put in force in stages: several RMs and their nodes over real stores."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from django.db import connection, connections

from controlplane.policy import measuring, overrides, rolloutorders, rollouts, versions
from controlplane.policy.guards import Cause, Guards
from controlplane.policy.rolloutorders import RolloutPlan
from controlplane.policy.staging import Action
from controlplane.rm.driver.acknowledge import Acknowledger
from controlplane.rm.driver.load import LoadReporter
from controlplane.statestore.actions.audit import SYSTEM, Actor
from controlplane.statestore.errors import Conflict, Invalid, Stale
from controlplane.statestore.models import AuditEntry, Job, PolicyVersion, Rollout, SubCluster
from tests.integration.rm.cluster import Cluster, Leading
from tests.integration.rm.federation import another
from wire.states import ContainerState, JobState

QUEUES = {"default": {"guaranteed": 1.0, "open_to_all": True}}
Json = dict[str, Any]


class Member:
    """One sub-cluster: its RM, its nodes, and what it says."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster, self.leader = cluster, cluster.lead()
        self.acknowledger = Acknowledger()

    def turn(self, *cut: int) -> None:
        """The RM takes in what is new, its nodes hear of it, and all say so."""
        for _ in range(2):
            self.leader.round()
            self.tell()
            self.cluster.nodes.step(*cut)
        self.leader.round()
        self.leader.clock.ahead_s += 1.0
        self.tell()

    def tell(self) -> None:
        it = self.leader
        self.acknowledger.report(it.memory, it.store, it.bus, it.clock)

    @property
    def leading(self) -> Leading:
        return self.leader

    @property
    def runs(self) -> tuple[int, str]:
        """The version whose components it runs, and one of them."""
        queues = self.leader.memory.queues
        return queues.target, queues.components.placement.policy


class Federation:
    def __init__(self, cluster: Cluster) -> None:
        self.west, self.east, self.north = (
            Member(each) for each in (cluster, another(cluster, "east"), another(cluster, "north"))
        )
        self.members = (self.west, self.east, self.north)
        self.turn()

    def turn(self) -> None:
        for member in self.members:
            member.turn()

    def step(self) -> Action:
        self.turn()
        return rollouts.step()


@pytest.fixture
def federation(cluster: Cluster) -> Federation:
    return Federation(cluster)


def document(fill: str = "pack", **queues: Any) -> Json:
    return {"queues": QUEUES | queues, "components": {"placement": {"policy": fill}}}


def plan(*stages: tuple[str, ...], soak_s: float = 0.0, on_breach: str = "rollback", **guards: float) -> RolloutPlan:
    return RolloutPlan(
        [{"sub_clusters": list(names), "soak_s": soak_s} for names in stages], Guards(**guards), on_breach
    )


def begin(the_plan: RolloutPlan, fill: str = "pack") -> Rollout:
    row = rolloutorders.begin(SYSTEM, document(fill), "try it", the_plan).rollout
    assert row is not None
    return row


def now(row: Rollout) -> Rollout:
    return Rollout.objects.get(pk=row.pk)


def active() -> int:
    return PolicyVersion.objects.get(active=True).pk


def soaked(row: Rollout) -> None:
    """The soak time is over."""
    Rollout.objects.filter(pk=row.pk).update(soak_at=now(row).soak_at - dt.timedelta(seconds=3600))


def test_each_stage_reaches_its_sub_clusters_only_and_the_last_one_all(federation: Federation) -> None:
    f, old = federation, active()
    row = begin(plan(("west",), ("east",), soak_s=3600))
    new = row.version_id
    assert [m.runs for m in f.members] == [(old, "spread")] * 3 and active() == old
    assert f.step() is Action.BEGIN
    f.turn()
    assert [m.runs for m in f.members] == [(new, "pack"), (old, "spread"), (old, "spread")]
    assert set(f.west.leader.memory.nodes.policy_version[:2].tolist()) == {new}
    assert f.step() is Action.SOAK
    assert f.step() is Action.WAIT and now(row).state == "soaking" and now(row).metrics["looks"] == 1
    soaked(row)
    assert f.step() is Action.ADVANCE
    assert f.step() is Action.SOAK
    assert [m.runs[0] for m in f.members] == [new, new, old]
    soaked(row)
    assert f.step() is Action.COMPLETE
    f.turn()
    assert [m.runs for m in f.members] == [(new, "pack")] * 3
    assert (now(row).state, now(row).live, active()) == ("completed", False, new)
    assert not SubCluster.objects.exclude(components_version=None).exists()
    assert f.step() is Action.WAIT
    told = (
        AuditEntry.objects.filter(action__startswith="policy.rollout.").order_by("pk").values_list("action", flat=True)
    )
    assert [name.rpartition(".")[2] for name in told] == [
        "create", "begin", "soak", "advance", "soak", "complete"
    ]  # fmt: skip


def test_one_document_gives_each_rm_the_components_it_names_for_it(federation: Federation) -> None:
    f = federation
    own = {"components": {"placement": {"policy": "align"}, "preemption": {"policy": "off"}}}
    versions.publish(SYSTEM, document("pack") | {"sub_clusters": {"east": own}}, "A/B")
    f.turn()
    assert [m.runs for m in f.members] == [(active(), "pack"), (active(), "align"), (active(), "pack")]
    assert [m.leader.memory.queues.components.preemption.policy for m in f.members] == ["owed", "off", "owed"]
    f.east.cluster.expire()
    again = Member(f.east.cluster)
    assert again.runs == (active(), "align"), "a new leader knows it from the rows"
    versions.publish(SYSTEM, document("pack"), "the end of it")
    for member in (f.west, again, f.north):
        member.turn()
        assert member.runs == (active(), "pack")


def test_a_stage_takes_what_its_own_version_says_of_the_sub_cluster(federation: Federation) -> None:
    f, old = federation, active()
    own = {name: {"components": {"placement": {"policy": "align"}}} for name in ("west", "north")}
    row = rolloutorders.begin(SYSTEM, document("pack") | {"sub_clusters": own}, "try it", plan(("west", "east")))
    assert row.rollout is not None
    f.step()
    f.turn()
    new = row.rollout.version_id
    assert [m.runs for m in f.members] == [(new, "align"), (new, "pack"), (old, "spread")]


def test_what_sub_clusters_count_together_changes_everywhere_at_once(federation: Federation) -> None:
    f = federation
    gac = document() | {"components": {"placement": {"policy": "pack"}, "admission": {"policy": "gac"}}}
    rolloutorders.begin(SYSTEM, gac, "both", plan(("west",)))
    f.step()
    f.turn()
    components = [m.leader.memory.queues.components for m in f.members]
    assert [c.placement.policy for c in components] == ["pack", "spread", "spread"]
    assert [c.admission.policy for c in components] == ["counts"] * 3
    for _ in range(3):
        f.step()
    assert [m.leader.memory.queues.components.admission.policy for m in f.members] == ["gac"] * 3


def test_a_stage_soaks_only_once_its_rm_and_every_node_run_the_version(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",)))
    rollouts.step()
    assert rollouts.step() is Action.WAIT, "the RM has not taken it in"
    f.west.turn(f.west.cluster.ids[1])
    assert rollouts.step() is Action.WAIT, "a node has not heard of it"
    f.west.turn()
    assert rollouts.step() is Action.SOAK
    assert now(row).message == "stage 1 of 1 runs it and is watched for 0 s"


def test_a_breach_puts_the_old_content_in_force_again_with_the_reason(federation: Federation) -> None:
    f, old = federation, active()
    row = begin(plan(("west",), soak_s=60.0, failure_share=0.2))
    f.step()
    f.step()
    fail(f.west, 12)
    assert f.step() is Action.ROLL_BACK
    found = now(row)
    assert found.state == "rolling_back"
    assert found.message.startswith(
        "stage 1 of 1: 100.0 % of containers fail (none before the push; the guard allows 20"
    )
    (job,) = Job.objects.filter(state=JobState.FAILED)
    assert found.message.endswith(f" in west: job {job.pk} {job.name} in {job.queue} (12 of 12 failed)")
    assert f.step() is Action.ROLLED_BACK
    back = PolicyVersion.objects.get(active=True)
    assert back.pk == now(row).rollback_version_id > row.version_id > old
    assert back.document == PolicyVersion.objects.get(pk=old).document and found.message in back.message
    assert [m.runs for m in f.members] == [(back.pk, "spread")] * 3
    assert not now(row).live
    versions.publish(SYSTEM, document("align"), "made from what was in force before", parent=old)


def test_a_broken_guard_names_who_waits_and_which_queue_lacks_most(federation: Federation) -> None:
    f = federation
    asked = {"count": 40, "retries": 0, "resources": {"memory_mib": 2048, "vcores_milli": 1500}}
    number = f.west.cluster.submit(asked)
    f.turn()
    job = f.west.cluster.job(number)
    waits = measuring.named(["west"], 60.0, Cause.WAITING)
    assert waits.startswith(f"job {number} {job.name} in {job.queue} (") and waits.endswith(" s)")
    it = f.west.leader
    LoadReporter().report(it.memory, f.west.cluster.sub.pk, it.store, it.clock)
    lacks = measuring.named(["west"], 60.0, Cause.WANTING)
    assert lacks.startswith(f"{job.queue} lacks ") and "GiB and " in lacks and lacks.endswith(" cores")
    for cause in Cause:
        assert measuring.named(["east"], 60.0, cause) == ""


def fail(member: Member, count: int) -> None:
    job = member.cluster.submit({"count": count, "retries": 0, "resources": {"memory_mib": 64, "vcores_milli": 10}})
    for _ in range(3):
        member.turn()
    assert member.cluster.nodes.finish(ContainerState.FAILED)
    for _ in range(2):
        member.turn()
    assert member.cluster.job(job).state >= 10


def test_a_breach_may_pause_and_an_operator_lets_it_go_on_or_takes_it_back(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",), soak_s=60.0, on_breach="pause", failure_share=0.2))
    f.step()
    f.step()
    fail(f.west, 12)
    assert f.step() is Action.PAUSE and now(row).state == "paused"
    assert f.step() is Action.WAIT
    assert f.west.runs[1] == "pack" and f.east.runs[1] == "spread"
    with pytest.raises(Conflict):
        rolloutorders.pause(SYSTEM, row.pk)
    rolloutorders.resume(SYSTEM, row.pk)
    assert f.step() is Action.SOAK, "it soaks anew"
    rolloutorders.pause(SYSTEM, row.pk, "lunch")
    assert now(row).message == "lunch"
    rolloutorders.abort(SYSTEM, row.pk, "enough")
    assert now(row).message == "enough; it was paused: lunch"
    assert f.step() is Action.ROLLED_BACK
    assert [m.runs[1] for m in f.members] == ["spread"] * 3
    with pytest.raises(Conflict):
        rolloutorders.resume(SYSTEM, row.pk)


def test_an_override_that_begins_while_it_is_taken_back_does_not_hold_it_up(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",), soak_s=3600))
    f.step()
    f.step()
    rolloutorders.abort(SYSTEM, row.pk, "enough")
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    overrides.add(f.west.cluster.actor, overrides.NewOverride("root.default", "weight", {"to": 7}, tomorrow, "a time"))
    assert f.step() is Action.ROLLED_BACK


def test_what_was_told_nobody_is_taken_back_without_a_version(federation: Federation) -> None:
    old = active()
    row = begin(plan(("west",)))
    rolloutorders.abort(SYSTEM, row.pk)
    assert (now(row).state, active(), federation.step()) == ("rolled_back", old, Action.WAIT)


def test_a_push_waits_for_a_rollout_or_ends_it_by_force(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",)))
    f.step()
    with pytest.raises(Conflict, match="is being rolled out in stages") as refused:
        versions.publish(SYSTEM, document("align"), "me too")
    assert f"rollout abort {row.pk}" in refused.value.errors[0].remedy
    with pytest.raises(Conflict):
        begin(plan(("east",)))
    pushed = versions.publish(SYSTEM, document("align"), "now", force=True)
    f.turn()
    assert [m.runs for m in f.members] == [(pushed.pk, "align")] * 3
    assert (now(row).state, now(row).live) == ("failed", False) and str(pushed.pk) in now(row).message
    assert f.step() is Action.WAIT


def test_an_override_that_begins_meanwhile_holds_and_does_not_disturb(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",), soak_s=3600))
    f.step()
    f.step()
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    overrides.add(f.west.cluster.actor, overrides.NewOverride("root.default", "weight", {"to": 7}, tomorrow, "a time"))
    f.turn()
    assert now(row).state == "soaking" and f.west.runs == (row.version_id, "pack")
    assert {float(m.leader.memory.queues.weight[1]) for m in f.members} == {7.0}, "queues change everywhere"
    soaked(row)
    assert f.step() is Action.COMPLETE
    f.turn()
    assert {m.runs for m in f.members} == {(active(), "pack")} and now(row).state == "completed"
    assert {float(m.leader.memory.queues.weight[1]) for m in f.members} == {7.0}


def test_a_version_that_would_remove_a_queue_with_jobs_pauses_at_the_end(federation: Federation) -> None:
    f = federation
    versions.publish(SYSTEM, document("spread", other={"open_to_all": True}), "one more queue")
    f.turn()
    f.west.cluster.submit({"count": 1, "node_labels": "nowhere"}, queue="root.other")
    row = begin(plan(("west",)))
    for _ in range(4):
        f.step()
    assert now(row).state == "paused" and "root.other has 1 live job" in now(row).message


def test_any_number_of_steppers_do_each_step_once(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",), soak_s=3600))

    def step(_: int) -> Action:
        try:
            return rollouts.step()
        finally:
            connections.close_all()

    for expected in (Action.BEGIN, Action.SOAK, Action.COMPLETE):
        if expected is Action.COMPLETE:
            soaked(row)
        f.turn()
        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(step, range(8)))
        assert [a for a in done if a is not Action.WAIT][:1] == [expected]
        assert done.count(expected) == 1
    assert AuditEntry.objects.filter(action="policy.publish", target=f"policy/{row.version_id}").count() == 1


def test_a_new_leader_of_a_staged_sub_cluster_runs_what_it_was_told(federation: Federation) -> None:
    f = federation
    row = begin(plan(("west",), soak_s=3600))
    f.step()
    f.turn()
    with connection.cursor() as cursor:
        cursor.execute("UPDATE statestore_lease SET expires_at = clock_timestamp() - interval '1 s'")
    assert Member(f.west.cluster).runs == (row.version_id, "pack")
    assert Member(f.east.cluster).runs[1] == "spread"


def test_plans_are_checked(federation: Federation) -> None:
    with pytest.raises(Invalid) as refused:
        begin(plan(("west", "south"), ("west",)))
    assert [e.field for e in refused.value.errors] == ["stages.0.sub_clusters.1", "stages.1.sub_clusters.0"]
    with pytest.raises(Stale):
        rolloutorders.begin(Actor(), document(), "old", plan(("west",)), parent=active() + 7)
    with pytest.raises(Invalid):
        rolloutorders.begin(Actor(), document(), " ", plan(("west",)))


def everywhere(*stages: tuple[str, ...], soak_s: float = 3600.0, **guards: Any) -> RolloutPlan:
    found = plan(*stages, **guards)
    return replace(found, stages=[*found.stages, {"sub_clusters": [], "soak_s": soak_s, "everywhere": True}])


def halved(fill: str = "pack") -> Json:
    """What stages do not vary changes too: a queue."""
    return document(fill, default={"guaranteed": 0.5, "open_to_all": True})


def start(the_plan: RolloutPlan, written: Json) -> Rollout:
    row = rolloutorders.begin(SYSTEM, written, "try it", the_plan).rollout
    assert row is not None
    return row


def test_what_holds_for_all_is_watched_and_then_stays(federation: Federation) -> None:
    f = federation
    row = start(everywhere(("west",)), halved())
    assert [f.step() for _ in range(3)] == [Action.BEGIN, Action.SOAK, Action.ADVANCE]
    assert active() == row.version_id and now(row).live, "in force, and watched on"
    assert not SubCluster.objects.exclude(components_version=None).exists()
    assert f.step() is Action.SOAK
    assert {m.runs for m in f.members} == {(row.version_id, "pack")}
    assert f.step() is Action.WAIT and now(row).metrics["looks"] == 1
    with pytest.raises(Conflict, match="is being rolled out in stages"):
        versions.publish(SYSTEM, document("align"), "me too")
    soaked(row)
    assert f.step() is Action.COMPLETE
    assert (now(row).state, now(row).live, active()) == ("completed", False, row.version_id)


def test_a_queue_that_harms_the_whole_cluster_is_taken_back(federation: Federation) -> None:
    f, old = federation, active()
    row = start(everywhere(failure_share=0.2), halved())
    assert [f.step() for _ in range(2)] == [Action.BEGIN, Action.SOAK]
    fail(f.east, 12)
    assert f.step() is Action.ROLL_BACK
    assert "100.0 % of containers fail" in now(row).message and "in the whole cluster" in now(row).message
    back = PolicyVersion.objects.get(active=True)
    assert back.document == PolicyVersion.objects.get(pk=old).document
    assert f.step() is Action.ROLLED_BACK
    assert {m.runs for m in f.members} == {(back.pk, "spread")} and not now(row).live


def test_overrides_that_begin_meanwhile_outlive_what_is_taken_back(federation: Federation) -> None:
    f = federation
    row = start(everywhere(), halved())
    assert [f.step() for _ in range(2)] == [Action.BEGIN, Action.SOAK]
    tomorrow = dt.datetime.now(dt.UTC) + dt.timedelta(days=1)
    overrides.add(f.west.cluster.actor, overrides.NewOverride("root.default", "weight", {"to": 7}, tomorrow, "a time"))
    f.turn()
    assert now(row).state == "soaking" and active() > row.version_id
    rolloutorders.abort(SYSTEM, row.pk, "enough")
    assert f.step() is Action.ROLLED_BACK
    in_force = PolicyVersion.objects.get(active=True)
    assert in_force.document["queues"]["default"] == QUEUES["default"] | {"weight": 7.0}
    assert {m.runs for m in f.members} == {(in_force.pk, "spread")}


def test_what_cannot_be_taken_back_waits_for_an_operator(federation: Federation) -> None:
    f = federation
    row = start(everywhere(failure_share=0.2), document("pack", new={"open_to_all": True}))
    assert [f.step() for _ in range(2)] == [Action.BEGIN, Action.SOAK]
    f.west.cluster.submit({"count": 1, "node_labels": "nowhere"}, queue="root.new")
    fail(f.east, 12)
    assert f.step() is Action.PAUSE
    assert now(row).live and "it cannot be taken back: " in now(row).message
    assert "root.new has 1 live job" in now(row).message and active() == row.version_id
    assert f.step() is Action.WAIT
