"""What lives hold against the rows of a job that gets another home: all of it, and nothing more."""

from collections.abc import Iterator

import pytest

from controlplane.rm.changes import Changes
from controlplane.rm.driver.load import own_load
from controlplane.rm.ports import StoreDown
from simulator.faults.invariants import RowsCheck
from simulator.faults.oracle import Oracle, Violation
from tests.doubles import MemoryCluster
from tests.unit.rm.test_rm_feasible import home_only
from wire.states import JobState


class Watched:
    """A federation whose rows are looked at after every round of anybody."""

    def __init__(self) -> None:
        self.f = home_only()
        self.rows = self.f.west.rows
        self.oracle = Oracle(self.rows)
        self.check = RowsCheck(self.rows, self.oracle)
        for cluster in self.f.leaders:
            cluster.changes.clear()

    def rounds(self, n: int) -> Iterator[None]:
        for _ in range(n):
            for cluster in self.f.leaders:
                self.round(cluster)
                yield

    def round(self, cluster: MemoryCluster) -> None:
        leader, count = self.f.leaders[cluster], len(cluster.changes)
        leader.clock.ahead_s += 0.5
        cluster.nodes.step()
        leader.round()
        leader.store.put_load(own_load(leader.memory, cluster.sub.id))
        for changes in cluster.changes[count:]:
            self.oracle.committed(cluster.sub.id, changes)
        self.check()


@pytest.fixture
def watched() -> Watched:
    return Watched()


def admitted(w: Watched) -> int:
    """A job that only east could hold, admitted by west."""
    job = w.f.submit(node_labels="zone == b")
    w.round(w.f.west)
    row = w.rows.jobs[job]
    assert row["state"] == JobState.ADMITTED and row["epoch"] == w.f.west.sub.lease.epoch
    return job


def test_one_that_moves_begins_anew_at_its_new_home(watched: Watched) -> None:
    """Its row goes back to what it was, though it had been admitted, and the new home's epochs may be lower."""
    w = watched
    w.f.leaders[w.f.west] = w.f.west.lead()
    job = admitted(w)
    seen = [(w.f.home(job), w.rows.jobs[job]["state"], w.rows.jobs[job]["epoch"]) for _ in w.rounds(12)]
    west, east = w.f.west.sub.id, w.f.east.sub.id
    assert seen[0] == (west, JobState.ADMITTED, 2) and (east, JobState.SUBMITTED, 0) in seen
    assert seen[-1] == (east, JobState.RUNNING, 1)


def test_its_epoch_never_falls_where_it_stays(watched: Watched) -> None:
    watched.rows.jobs[admitted(watched)]["epoch"] = 0
    with pytest.raises(Violation, match="epochs of rows never fall"):
        watched.check()


def test_its_state_never_goes_back_where_it_stays(watched: Watched) -> None:
    watched.rows.jobs[admitted(watched)]["state"] = JobState.SUBMITTED
    with pytest.raises(Violation, match="transitions are legal"):
        watched.check()


def test_its_home_alone_gives_it_another(watched: Watched) -> None:
    job = admitted(watched)
    watched.rows.jobs[job] |= {"home_id": watched.f.east.sub.id, "epoch": 0, "state": 0, "admitted_us": 0}
    with pytest.raises(Violation, match="a job's home alone gives it another"):
        watched.check()


def test_it_moves_as_it_was_submitted(watched: Watched) -> None:
    job, home = admitted(watched), watched.f.east.sub.id
    watched.oracle.committed(watched.f.west.sub.id, Changes(rehomed={job: home}))
    watched.rows.jobs[job]["home_id"] = home
    with pytest.raises(Violation, match="a job that moves is as it was submitted"):
        watched.check()


def test_what_has_begun_never_moves(watched: Watched) -> None:
    job = watched.f.submit()
    watched.round(watched.f.west)
    with pytest.raises(Violation, match="only a job of which nothing has begun moves"):
        watched.oracle.committed(watched.f.west.sub.id, Changes(rehomed={job: watched.f.east.sub.id}))


@pytest.mark.parametrize("wrong", [{"started_us": 1}, {"home_id": 2}, {"epoch": 9}])
def test_rows_that_are_others_by_now_refuse_it(watched: Watched, wrong: dict[str, int]) -> None:
    """As the statement does."""
    job = admitted(watched)
    watched.rows.jobs[job] |= wrong
    with pytest.raises(StoreDown, match="1 jobs were to get another home, and 0 could"):
        watched.f.leaders[watched.f.west].store.commit(Changes(rehomed={job: watched.f.east.sub.id}))
