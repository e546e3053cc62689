"""The core's decisions, without a process, a socket or a clock."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodemanager import events as ev
from nodemanager.containers import Node
from nodemanager.core import OMITTED_GRACE_S, TEMPLATE_WAIT_S, Core
from nodemanager.lifecycle import TRANSITIONS, Phase, lease_to_json
from nodemanager.state import container_from_json, container_to_json
from wire.desired import Desired, Lease
from wire.states import ContainerReason as Reason
from wire.states import ContainerState as State
from wire.states import NodeHealth, Want
from wire.status import PATIENT_ENTRIES
from wire.template import HealthCheck, Output, Port, Template

PLAIN = Template("j", "g", 1, "root", "ann", ["true"], grace_s=3.0)
WITH_OUTPUT = dataclasses.replace(PLAIN, outputs=[Output("o", "o")])
SERVER = dataclasses.replace(PLAIN, ports=[Port("http")], health_check=HealthCheck("http", start_s=1.0, failures=1))
DIGEST = b"t" * 32


def lease(cid: int, **changes: object) -> Lease:
    values = dict.fromkeys(Lease.__dataclass_fields__, 1)
    values |= {"container_id": cid, "node_id": 7, "expires_at": 1000, "timeout_s": 0, "template": DIGEST}
    return Lease(**(values | changes))  # type: ignore[arg-type]


class World:
    """A core, the time, and the writer of its documents."""

    def __init__(self, one_tenant: bool = False) -> None:
        self.core = Core(Node(7, 1, 60.0, one_tenant))
        self.at, self.unix, self.epoch, self.generation = 100.0, 500.0, 1, 0

    def dispatch(self, event: ev.Event) -> list[ev.Instruction]:
        return [i for i in self.core.handle(event) if not isinstance(i, ev.Persist | ev.PublishStatus | ev.Note)]

    def want(self, entries: dict[int, int], *leases: Lease, **changes: object) -> list[ev.Instruction]:
        self.generation += 1
        doc = Desired(b"rm", 1, 7, self.epoch, self.generation, 1, entries, {x.container_id: x for x in leases})
        return self.dispatch(ev.DesiredRead(dataclasses.replace(doc, **changes), self.at, self.unix))  # type: ignore[arg-type]

    def run(self, cid: int = 1, template: Template = PLAIN, **changes: object) -> None:
        """Bring a container to RUNNING."""
        self.core.templates[DIGEST] = template
        entries = {c: int(Want.RUN) for c in (*self.core.containers, cid)}
        assert self.want(entries, lease(cid, **changes)) == [ev.Localize(cid)]
        assert self.dispatch(ev.Localized(cid, "")) == [ev.Start(cid)]
        assert self.dispatch(ev.Started(cid, self.at)) == []

    def ends(self, how: ev.Exit, cid: int = 1) -> list[ev.Instruction]:
        return self.dispatch(ev.Exited(cid, how))

    def result(self, cid: int = 1) -> tuple[int, int]:
        return self.core.containers[cid].state, self.core.containers[cid].reason


def test_a_container_goes_from_lease_to_forgotten() -> None:
    world = World()
    assert world.want({1: 1}, lease(1)) == [ev.FetchTemplate(DIGEST)]
    assert world.core.status(1).containers[0].state == State.ALLOCATED
    assert world.dispatch(ev.TemplateRead(DIGEST, PLAIN)) == [ev.Localize(1)]
    world.dispatch(ev.Localized(1, ""))
    assert world.core.status(1).containers[0].state == State.LOCALIZING
    world.dispatch(ev.Started(1, world.at))
    assert world.core.status(1).containers[0].state == State.RUNNING
    world.ends(ev.Exit(ran_ms=5, cpu_ms=4, peak_mib=3))
    report = world.core.status(1).containers[0]
    assert (report.state, report.ran_ms, report.cpu_ms, report.memory_mib) == (State.SUCCEEDED, 5, 4, 3)
    assert world.want({1: 1}) == []  # named still: stays in the status
    assert world.want({}) == [ev.Forget(1)]
    assert world.core.status(1).containers == []
    assert world.core.templates == {}


def test_with_many_containers_only_ends_are_news_that_cannot_wait() -> None:
    for held, patient in ((PATIENT_ENTRIES - 1, False), (PATIENT_ENTRIES, True)):
        world = World()
        for cid in range(2, held + 1):
            world.run(cid)
        world.core.templates[DIGEST] = PLAIN
        entries = {c: int(Want.RUN) for c in (*world.core.containers, 1)}
        world.want(entries, lease(1))
        world.dispatch(ev.Localized(1, ""))
        assert reports(world.core.handle(ev.Started(1, world.at))) == {patient}
        assert False in reports(world.core.handle(ev.Exited(1, ev.Exit()))), "an end is told at once"


def reports(instructions: list[ev.Instruction]) -> set[bool]:
    """Whether what is to be reported may wait."""
    return {i.patient for i in instructions if isinstance(i, ev.PublishStatus)}


@pytest.mark.parametrize(
    ("how", "state", "reason", "code"),
    [
        (ev.Exit(), State.SUCCEEDED, Reason.NONE, 0),
        (ev.Exit(code=3), State.FAILED, Reason.EXIT_CODE, 3),
        (ev.Exit(signal=11), State.FAILED, Reason.SIGNAL, 139),
        (ev.Exit(signal=9, over_memory=True), State.FAILED, Reason.MEMORY, 137),
        (ev.Exit(unknown=True), State.FAILED, Reason.EXIT_UNKNOWN, 0),
        (ev.Exit(not_started=True), State.FAILED, Reason.START, 127),
        (ev.Exit(signal=15, disconnected=True), State.KILLED, Reason.DISCONNECTED, 143),
    ],
)
def test_ends_are_judged(how: ev.Exit, state: State, reason: Reason, code: int) -> None:
    world = World()
    world.run()
    world.ends(how)
    assert (*world.result(), world.core.containers[1].exit_code) == (state, reason, code)


def test_outputs_travel_before_success() -> None:
    for error, end in (("", (State.SUCCEEDED, Reason.NONE)), ("gone", (State.FAILED, Reason.OUTPUT))):
        world = World()
        world.run(template=WITH_OUTPUT)
        assert world.ends(ev.Exit()) == [ev.Collect(1)]
        assert world.core.status(1).containers[0].state == State.RUNNING
        world.dispatch(ev.Collected(1, error))
        assert world.result() == end
    world = World()
    world.run(template=WITH_OUTPUT)
    assert world.ends(ev.Exit(code=1)) == []  # nothing is collected from a failure


def test_stop_gives_grace_and_the_verdict_stands_whatever_the_exit() -> None:
    world = World()
    world.run()
    assert world.want({1: Want.STOP}) == [ev.Stop(1, 3.0)]
    assert world.want({1: Want.STOP}) == []
    world.ends(ev.Exit(code=0))
    assert world.result() == (State.KILLED, Reason.STOPPED)


def test_an_omitted_container_is_stopped_then_forgotten_without_a_word() -> None:
    world = World()
    world.run()
    assert world.want({}) == [ev.Stop(1, OMITTED_GRACE_S)]
    assert world.ends(ev.Exit(signal=15)) == [ev.Forget(1)]
    assert not world.core.containers


def test_omission_shortens_a_grace_that_already_runs_once() -> None:
    world = World()
    world.run()
    assert world.want({1: Want.STOP}) == [ev.Stop(1, 3.0)]
    assert world.want({}) == [ev.Stop(1, OMITTED_GRACE_S)]
    assert world.want({}) == []


@pytest.mark.parametrize("phase", ["fetching", "localizing"])
def test_a_container_without_a_process_stops_at_once(phase: str) -> None:
    world = World()
    world.want({1: 1}, lease(1))
    if phase == "localizing":
        world.dispatch(ev.TemplateRead(DIGEST, PLAIN))
    assert world.want({1: Want.STOP}) == []
    assert world.result() == (State.KILLED, Reason.STOPPED)
    assert world.dispatch(ev.Localized(1, "")) == []  # too late


def test_only_newer_documents_of_this_writer_and_sub_cluster_are_obeyed() -> None:
    world = World()
    world.epoch, world.generation = 3, 5
    world.run()
    for changes in ({"epoch": 2, "generation": 99}, {"generation": 6}, {"generation": 1}):
        assert world.want({}, **changes) == []
    assert world.want({}, writer=b"ds", generation=50) == []
    assert world.want({}, sub_cluster=2, generation=50) == []
    assert (world.core.epoch, world.core.generation) == (3, 6)
    assert world.core.containers[1].live
    assert world.want({}, epoch=4, generation=0) == [ev.Stop(1, OMITTED_GRACE_S)]  # a new leader starts over


def test_an_unknown_container_without_a_lease_is_ignored() -> None:
    world = World()
    assert world.want({5: 1, 6: Want.STOP}) == []
    assert not world.core.containers
    assert world.core.generation == 1  # and yet the document has been obeyed


@pytest.mark.parametrize("changes", [{"expires_at": 500}, {"expires_at": 1}, {"epoch": 2}, {"node_id": 8}], ids=str)
def test_leases_that_may_not_be_used(changes: dict[str, int]) -> None:
    world = World()
    assert world.want({1: 1}, lease(1, **changes)) == []
    assert world.result() == (State.FAILED, Reason.LEASE)


def test_a_node_without_users_of_its_own_serves_one_tenant_at_a_time() -> None:
    world = World(one_tenant=True)
    world.run(1, tenant=1)
    world.want({1: 1, 2: 1}, lease(2, tenant=2))
    assert world.result(2) == (State.FAILED, Reason.LEASE)
    assert world.want({1: 1, 2: 1, 3: 1}, lease(3, tenant=1)) == [ev.Localize(3)]
    world.want({2: 1})
    for cid in (1, 3):
        world.ends(ev.Exit(signal=15), cid)
    assert world.want({2: 1, 4: 1}, lease(4, tenant=2)) == [ev.Localize(4)]


def test_a_missing_template_is_asked_for_again_and_given_up_in_the_end() -> None:
    world = World()
    world.want({1: 1}, lease(1))
    assert world.dispatch(ev.Tick(world.at + 1)) == [ev.FetchTemplate(DIGEST)]
    world.dispatch(ev.Tick(world.at + TEMPLATE_WAIT_S + 1))
    assert world.result() == (State.FAILED, Reason.UNREACHABLE)
    world = World()
    world.want({1: 1}, lease(1))
    world.dispatch(ev.TemplateRead(DIGEST, None))  # bytes that do not match
    assert world.result() == (State.FAILED, Reason.LOCALIZATION)


def test_a_timeout_stops_and_fails() -> None:
    world = World()
    world.run(timeout_s=10)
    assert world.dispatch(ev.Tick(world.at + 9.9)) == []
    assert world.dispatch(ev.Tick(world.at + 10)) == [ev.Stop(1, 3.0)]
    world.ends(ev.Exit(code=0))
    assert world.result() == (State.FAILED, Reason.TIMEOUT)


def test_a_cut_off_node_stops_everything_after_its_time_and_not_before() -> None:
    world = World()
    world.dispatch(ev.Contact(world.at))
    world.run()
    assert world.dispatch(ev.Tick(world.at + 60)) == []
    assert world.dispatch(ev.Tick(world.at + 60.1)) == [ev.Stop(1, 3.0)]
    assert world.dispatch(ev.Tick(world.at + 61)) == []
    world.ends(ev.Exit(signal=15))
    assert world.result() == (State.KILLED, Reason.DISCONNECTED)


def test_the_runtimes_list_is_the_truth_about_processes() -> None:
    world = World()
    for cid in (1, 2, 3):
        world.run(cid)
    world.want({1: 1, 2: 1, 3: 1, 4: 1}, lease(4))
    world.dispatch(ev.Localized(4, ""))  # STARTING
    meta = {"lease": lease_to_json(lease(9)), "grace_s": 1.5, "outputs": []}
    held = [
        ev.RuntimeContainer(1, {}, 5000),
        ev.RuntimeContainer(2, {}, 9, ev.Exit(code=4)),
        ev.RuntimeContainer(9, meta, 7),
    ]
    done = world.dispatch(ev.RuntimeListed(held, world.at))
    assert world.core.containers[1].phase is Phase.RUNNING
    assert world.result(2) == (State.FAILED, Reason.EXIT_CODE)
    assert world.result(3) == (State.FAILED, Reason.EXIT_UNKNOWN)
    assert done == [ev.Localize(4)]  # never arrived there: begins again
    assert world.core.containers[9].phase is Phase.RUNNING
    assert world.core.containers[9].lease == lease(9)
    assert world.want({1: 1, 2: 1, 3: 1, 4: 1}) == [ev.Stop(9, OMITTED_GRACE_S)]  # now a document proves it stale


def test_a_process_that_ended_unseen_is_collected_although_state_was_saved_before_its_template() -> None:
    world = World()
    world.want({1: int(Want.RUN)}, lease(1))  # saved in this phase, which knows of no outputs yet
    saved = container_from_json(container_to_json(world.core.containers[1]), world.at)
    after = World()
    after.core.containers[1] = saved
    meta = {"lease": lease_to_json(lease(1)), "grace_s": 1.5, "outputs": [["o", "o", False]]}
    assert after.dispatch(ev.RuntimeListed([ev.RuntimeContainer(1, meta, 9, ev.Exit(code=0))], after.at)) == [
        ev.Collect(1)
    ]
    after.dispatch(ev.Collected(1, ""))
    assert after.result() == (State.SUCCEEDED, Reason.NONE)


def test_state_alone_kills_nothing() -> None:
    world = World()
    assert world.dispatch(ev.RuntimeListed([ev.RuntimeContainer(1, {"lease": "garbage"}, 7)], world.at)) == []
    assert world.core.status(1).containers[0].state == State.RUNNING


def test_health_and_usage_are_reported() -> None:
    world = World()
    world.run()
    world.dispatch(ev.HealthRead(NodeHealth.DISK_FULL, 12))
    world.dispatch(ev.Sampled(1, 50, 700))
    world.dispatch(ev.Sampled(1, 20, 900))
    said = world.core.status(9)
    assert (said.health, said.disk_free_mib, said.memory_mib) == (NodeHealth.DISK_FULL, 12, 20)
    world.ends(ev.Exit())
    assert world.core.status(9).containers[0].memory_mib == 50  # the peak once ended


def test_the_newest_word_on_the_policy_version_is_said_and_a_former_leaders_is_not() -> None:
    world = World()

    def runs(*told: ev.PolicyVersionRead) -> int:
        for event in told:
            world.dispatch(event)
        return world.core.status(9).policy_version

    world.want({})
    assert runs() == 1
    assert runs(ev.PolicyVersionRead(1, 5), ev.PolicyVersionRead(1, 4)) == 5
    world.want({})
    assert runs() == 5, "a document made before the version came"
    assert ev.PublishStatus() in world.core.handle(ev.PolicyVersionRead(1, 6))
    assert ev.PublishStatus() not in world.core.handle(ev.PolicyVersionRead(1, 6))
    world.epoch, world.generation = 3, 0
    world.want({}, policy_version=2)
    assert runs(ev.PolicyVersionRead(2, 9)) == 2


def test_every_move_is_in_the_table() -> None:
    world = World()
    world.run()
    with pytest.raises(AssertionError):
        world.core._move(world.core.containers[1], "template", Phase.LOCALIZING)
    assert TRANSITIONS[Phase.ENDED] == {}
    assert set(TRANSITIONS) == set(Phase)


def random_event(world: World, draw: st.DataObject) -> ev.Event:
    cid = draw.draw(st.integers(1, 4))
    world.at += draw.draw(st.sampled_from([0.0, 0.5, 20.0]))
    exits = st.sampled_from([ev.Exit(), ev.Exit(code=1), ev.Exit(signal=9), ev.Exit(unknown=True)])
    error = draw.draw(st.sampled_from(["", "no"]))

    def document() -> ev.Event:
        world.generation += draw.draw(st.integers(-1, 2))
        entries = draw.draw(st.dictionaries(st.integers(1, 4), st.sampled_from([1, 2])))
        doc = Desired(b"rm", 1, 7, 1, max(0, world.generation), 1, entries, {c: lease(c) for c in entries})
        return ev.DesiredRead(doc, world.at, world.unix)

    def listed() -> ev.Event:
        some = draw.draw(st.sets(st.integers(1, 4)))
        return ev.RuntimeListed([ev.RuntimeContainer(c, {}, 1, draw.draw(st.none() | exits)) for c in some], world.at)

    makers = [
        document,
        listed,
        lambda: ev.TemplateRead(DIGEST, draw.draw(st.sampled_from([PLAIN, WITH_OUTPUT, SERVER, None]))),
        lambda: ev.Localized(cid, error),
        lambda: ev.Started(cid, world.at),
        lambda: ev.StartFailed(cid, "no"),
        lambda: ev.Exited(cid, draw.draw(exits)),
        lambda: ev.Collected(cid, error),
        lambda: ev.Tick(world.at),
        lambda: ev.Contact(world.at),
        lambda: ev.PortsFound(cid, [] if error else [20_000 + cid], error),
        lambda: ev.Probed(cid, error, world.at),
    ]
    return draw.draw(st.sampled_from(makers))()


@given(st.data())
def test_no_order_of_events_breaks_it(draw: st.DataObject) -> None:
    """Ends never change, (epoch, generation) never falls, and every state survives being saved."""
    world, ends = World(), {}
    for _ in range(40):
        before = (world.core.epoch, world.core.generation)
        instructions = world.core.handle(random_event(world, draw))
        assert (world.core.epoch, world.core.generation) >= before
        for instruction in instructions:
            if isinstance(instruction, ev.Forget):
                ends.pop(instruction.container_id, None)
        for cid, container in world.core.containers.items():
            if not container.live:
                end = (container.state, container.reason, container.exit_code)
                assert ends.setdefault(cid, end) == end
            saved = container_from_json(container_to_json(container), 0.0)
            assert (saved.state, saved.reason, saved.lease) == (container.state, container.reason, container.lease)
            assert saved.ports == container.ports
        assert len(world.core.status(1).containers) == len(world.core.containers)
