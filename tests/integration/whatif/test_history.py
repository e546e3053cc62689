"""What is read out of the StateStore is what happened: exactly, on a history written by hand."""

import pytest

from controlplane.accounts.models import User
from controlplane.statestore.models import Node, SubCluster
from controlplane.whatif import fleet, history, jobqueues
from controlplane.whatif.jobqueues import JobQueues
from tests.integration.whatif.past import BEGIN, END, Attempt, attempts, busy_hour, job, nodes
from wire.states import ContainerState, JobState

LOST, KILLED, FAILED = ContainerState.LOST, ContainerState.KILLED, ContainerState.FAILED


def test_run_times_groups_and_order(operator: User, west: SubCluster) -> None:
    near = {"nodes": ["west-1"], "racks": [], "relax": False}
    groups = [
        {"name": "map", "count": 3, "retries": 2, "estimated_duration_s": 9.0, "locality": near},
        {"name": "reduce", "count": 1, "gang": True, "after": ["map"], "node_labels": "gpu"},
    ]
    row = job(west, operator, 10, groups, ended=200, priority=7)
    attempts(
        row,
        Attempt(0, 11, 21), Attempt(1, 11, 15, FAILED), Attempt(1, 20, 50, attempt=2),
        Attempt(2, 12, 18, LOST), Attempt(2, 20, 32.5, attempt=2), Attempt(0, 60, 65, group=1),
    )  # fmt: skip
    later = job(west, operator, 3599, [{}], ended=3700)
    attempts(later, Attempt(0, 3600, 3690))
    job(west, operator, 3600, [{}], ended=3605)
    gone = job(west, operator, -500, [{}], ended=-100)
    attempts(gone, Attempt(0, -300, -100))
    found = history.read(BEGIN, END)
    assert [s.number for s in found.jobs] == [row.pk, later.pk] and found.sample == 1.0
    first = found.jobs[0]
    assert (first.at_s, first.queue, first.user, first.priority, first.home) == (
        10.0, "root.default", f"u{operator.pk}", 7, ""
    )  # fmt: skip
    maps, reduces = first.groups
    assert maps.run_s.tolist() == [10.0, 30.0, 12.5] and maps.fails == (1,) and maps.retries == 2
    assert (maps.nodes, maps.strict, maps.estimate_s, maps.memory_mib) == (("west-1",), True, 9.0, 512)
    assert (reduces.gang, reduces.after, reduces.node_labels, reduces.run_s.tolist()) == (True, ("map",), "gpu", [5.0])
    assert found.jobs[1].groups[0].run_s.tolist() == [90.0], "a job of the window is seen to its end"
    assert found.notes == []


def test_what_admission_and_placement_look_at_is_kept(operator: User, west: SubCluster) -> None:
    groups = [{"count": 3, "parallelism": 2, "placement": "pack", "timeout_s": 30}, {"count": 1, "parallelism": 0}]
    row = job(west, operator, 10, groups, ended=200)
    attempts(row, Attempt(0, 11, 21), Attempt(1, 11, 41.5), Attempt(2, 12, 18), Attempt(0, 12, 18, group=1))
    service = job(west, operator, 20, [{"timeout_s": 5}], JobState.RUNNING, kind="service")
    attempts(service, Attempt(0, 21, None))
    found = history.read(BEGIN, END)
    (some, plain), (web,) = (each.groups for each in found.jobs)
    assert (some.parallelism, some.placement, some.timeout_s) == (2, "pack", 30.0)
    assert some.run_s.tolist() == [10.0, 30.0, 6.0], "none has run for longer than it may, whenever that was seen"
    assert (plain.parallelism, plain.placement, plain.timeout_s) == (0, None, 0.0)
    assert web.placement == "spread" and web.run_s[0] > 3600, "as leaders have it"
    assert found.notes == ["1 services come as batch jobs whose tasks outlast the window: none is moved to make room."]


def test_what_was_live_at_the_beginning_comes_with_what_was_left(operator: User, west: SubCluster) -> None:
    groups = [{"name": "done", "count": 2}, {"name": "rest", "count": 3, "after": ["done"]}]
    row = job(west, operator, -100, groups, ended=400)
    attempts(
        row, Attempt(0, -90, -50), Attempt(1, -90, -40), Attempt(0, -30, -10, group=1), Attempt(1, -30, 20, group=1),
        Attempt(2, 30, 70, group=1),
    )  # fmt: skip
    found = history.read(BEGIN, END)
    (only,) = found.jobs
    (rest,) = only.groups
    assert (only.at_s, only.home, rest.after) == (0.0, "west", ())
    assert rest.run_s.tolist() == [20.0, 40.0]
    assert len(found.notes) == 1 and "1 jobs were live when the window began" in found.notes[0]


def test_what_is_not_known_is_assumed_and_said(operator: User, west: SubCluster) -> None:
    row = job(west, operator, 100, [{"count": 4}, {"count": 2, "estimated_duration_s": 33.0}, {}], JobState.RUNNING)
    attempts(row, Attempt(0, 110, 130), Attempt(1, 110, 120), Attempt(2, 3500, None))
    given_up = job(west, operator, 200, [{"count": 5}], JobState.KILLED, ended=260)
    attempts(given_up, Attempt(0, 210, 260, KILLED))
    job(west, operator, 300, [{}], JobState.KILLED, ended=301)
    found = history.read(BEGIN, END)
    live, killed = found.jobs
    known = live.groups[0].run_s
    assert known[:2].tolist() == [20.0, 10.0] and known[2] > 160 and known[3] == pytest.approx(known[:3].mean())
    assert live.groups[1].run_s.tolist() == [33.0, 33.0] and live.groups[2].run_s.tolist() == [60.0]
    assert killed.groups[0].run_s.tolist() == [50.0] and len(found.jobs) == 2
    assert +found.counted == {"live": 1, "assumed": 4, "unrun": 1}


def test_what_was_stopped_and_is_to_run_again_is_not_taken_to_be_done(operator: User, west: SubCluster) -> None:
    row = job(west, operator, 100, [{"count": 3}, {"estimated_duration_s": 900.0}, {}], JobState.RUNNING)
    attempts(
        row, Attempt(0, 110, 810), Attempt(1, 110, 130, KILLED), Attempt(2, 110, 120, LOST),
        Attempt(2, 200, None, attempt=2),
        Attempt(0, 110, 130, KILLED, group=1), Attempt(0, 110, 190, LOST, group=2),
    )  # fmt: skip
    service = job(west, operator, 200, [{"count": 1}], JobState.RUNNING, kind="service")
    attempts(service, Attempt(0, 210, 220, KILLED), Attempt(1, 210, 230, KILLED))  # one of two remained
    found = history.read(BEGIN, END)
    batch, stays = found.jobs
    again, estimated, alone = (group.run_s.tolist() for group in batch.groups)
    assert again[:2] == [700.0, 700.0] and again[2] > 3000  # the last runs still
    assert estimated == [900.0] and alone == [160.0]
    assert stays.groups[0].run_s[0] >= 3600 and stays.groups[0].run_s[1] == 20.0
    assert found.counted["cut"] == 3 and any("3 tasks had been stopped" in note for note in found.notes)


def test_services_stay_and_applications_bring_what_they_were_granted(operator: User, west: SubCluster) -> None:
    service = job(west, operator, 5, [{"count": 2}], JobState.RUNNING, kind="service")
    attempts(service, Attempt(0, 6, None), Attempt(1, 6, None))
    application = job(west, operator, 7, [{}, {"count": 10}], ended=100, kind="application")
    attempts(application, Attempt(0, 8, 100), *(Attempt(i, 10, 20 + i, group=1) for i in range(3)))
    stays, brings = history.read(BEGIN, END).jobs
    assert (stays.groups[0].run_s >= 3600).all()
    assert [g.run_s.tolist() for g in brings.groups] == [[92.0], [10.0, 11.0, 12.0]]


def test_too_much_is_sampled_by_a_fixed_hash(operator: User, west: SubCluster) -> None:
    busy_hour(west, operator, 200)
    nodes(west, 40)
    whole = history.read(BEGIN, END)
    part = history.read(BEGIN, END, most=200)
    assert whole.sample == 1.0 and part.sample == 0.25
    numbers = [s.number for s in part.jobs]
    assert 30 <= len(numbers) <= 70 and numbers == [s.number for s in history.read(BEGIN, END, most=200).jobs]
    assert numbers == [s.number for s in whole.jobs if history.rank(s.number) < 0.25 * 2**32]
    assert "25 % of the jobs on 25 % of the nodes" in part.notes[0]
    several = history.read(BEGIN, END, most=600, samples=3)
    assert several.sample == 0.25 and [s.number for s in several.jobs] == numbers
    found = [{s.number for s in jobs} for jobs in (several.jobs, *several.others)]
    assert sum(map(len, found)) == len(set.union(*found)), "no job is in two samples"
    assert "3 samples" in several.notes[0]
    assert len(fleet.read(0.25).sub_clusters["west"]) == 10 and len(fleet.read(0.0001).sub_clusters["west"]) == 1


def test_machines_are_the_nodes_that_take_work_now(operator: User, west: SubCluster) -> None:
    nodes(west, 3, labels={"zone": "a"})
    Node.objects.filter(name="west-2").update(duty="cordoned")
    Node.objects.filter(name="west-3").update(state=3)
    found = fleet.read()
    (machine,) = found.sub_clusters["west"]
    assert (machine.name, machine.rack, machine.labels, machine.vcores_milli) == ("west-1", "r1", {"zone": "a"}, 4000)
    assert found.notes == ["1 node takes no containers now, as operators wish, and left out."]


def test_jobs_whose_queue_a_policy_lacks_are_left_out_of_both(operator: User, west: SubCluster) -> None:
    busy_hour(west, operator, 4, ("root.default", "root.prod.etl"))
    jobs = history.read(BEGIN, END).jobs
    other = {"queues": {"default": {"guaranteed": 1.0}}}
    both = {"queues": {"default": {"guaranteed": 0.5}, "prod": {"guaranteed": 0.5, "children": {"etl": {}}}}}
    queues = JobQueues({"both": both, "other": other}, ["west"])
    kept = queues.kept(jobs)
    assert {job.queue for job in kept} == {"root.default"} and len(kept) == 2
    (told,) = queues.notes(jobs)
    assert told.startswith("2 jobs with 50% of all tasks are left out") and "their queue: root.prod.etl." in told
    same = JobQueues({"one": both, "other": both}, ["west"])
    assert (same.kept(jobs), same.notes(jobs)) == (jobs, [])


def test_jobs_of_a_queue_that_is_gone_go_where_it_is_said(operator: User, west: SubCluster) -> None:
    busy_hour(west, operator, 4, ("root.default", "root.prod.etl"))
    jobs = history.read(BEGIN, END).jobs
    now = {"queues": {"default": {"guaranteed": 0.5}, "prod": {"guaranteed": 0.5, "children": {"etl": {}}}}}
    then = {"queues": {"default": {"guaranteed": 1.0}, "batch": {}}}
    moved = {"root.prod.etl": "root.batch", "root.gone": "root.batch"}
    queues = JobQueues({"now": now, "then": then}, ["west"], moved)
    assert queues.kept(jobs) == jobs
    assert queues.notes(jobs) == ["Under then 2 jobs go, as asked, from root.prod.etl to root.batch."]
    assert queues.moves == {"now": {}, "then": moved}
    assert queues.names() == {"now": {}, "then": {}}, "two queues have become one"
    assert queues.mixed() == [], "what only one side has is compared with nothing anyway"
    merged = JobQueues({"now": now, "then": then}, ["west"], {"root.prod.etl": "root.default"})
    assert merged.mixed() == ["root.default"]
    assert merged.notes(jobs)[1].startswith("Under one policy root.default has other jobs than under the other")
    one = JobQueues({"now": now, "then": then}, ["west"], {"root.prod.etl": "root.batch"}).names()
    assert one == {
        "now": {"root.prod.etl": "root.prod.etl → root.batch"}, "then": {"root.batch": "root.prod.etl → root.batch"}
    }  # fmt: skip
    went = [job.queue for job in jobqueues.placed(jobs, queues.moves["then"])]
    assert went == [moved.get(job.queue, job.queue) for job in jobs]
