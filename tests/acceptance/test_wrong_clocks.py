"""A control plane and a node whose clocks are an hour off the database's, each the other way: all that is told is true.

``shifted.c`` stands between a process and its machine's clock.
"""

import datetime as dt
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from contract.jobs import Job
from tests.acceptance.cluster import Cluster
from tests.stack import UNHURRIED

SHIFT = Path(__file__).with_name("shifted.c")
HOUR_S = 3600
A_MOMENT = dt.timedelta(seconds=2)  # which clocks of two hosts may differ by, without anybody's minding
pytestmark = [
    pytest.mark.faults,
    pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler (apt-get install gcc)"),
]


@pytest.fixture(scope="module", params=[HOUR_S, -HOUR_S], ids=["ahead", "behind"])
def apart(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """The control plane is an hour ahead or behind, its one node the other way; the stores have the true time."""
    folder, off_s = tmp_path_factory.mktemp("apart"), request.param
    library = folder / "shifted.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(SHIFT), "-ldl"], check=True)
    shift = {"LD_PRELOAD": str(library)}
    ours = UNHURRIED | shift | {"CLOCK_OFF_S": str(off_s)}
    with Cluster(folder / "home", nodes=0, environ=ours, relayed=False) as made:
        theirs = shift | {"CLOCK_OFF_S": str(-off_s)}
        with made.node("apart-1", ("env", *(f"{name}={value}" for name, value in theirs.items()))):
            yield made


def true_time(cluster: Cluster) -> dt.datetime:
    ((now,),) = cluster.sql("SELECT clock_timestamp()")
    assert isinstance(now, dt.datetime)
    assert abs(now - dt.datetime.now(dt.UTC)) < A_MOMENT, "the store goes by the machine's clock, as this test does"
    return now


@pytest.fixture
def ended(apart: Cluster) -> tuple[Job, dt.datetime, dt.datetime]:
    """A job each of whose tasks failed once, and when it was before and after."""
    before = true_time(apart)
    job = apart.task_job("retried", "echo seen; [ $HYDRA_ATTEMPT -gt 1 ]", count=3, retries=1)
    return apart.settled(job), before - A_MOMENT, true_time(apart) + A_MOMENT


def test_every_attempt_is_shown_at_the_time_at_which_it_was(
    apart: Cluster, ended: tuple[Job, dt.datetime, dt.datetime]
) -> None:
    job, before, after = ended
    attempts = list(apart.tenant.containers(job.id))
    assert sorted((a.index, a.attempt) for a in attempts) == [(i, no) for i in range(3) for no in (1, 2)]
    told = {"submitted": job.submitted_at, "started": job.started_at, "finished": job.finished_at}
    told |= {f"start of {a.id}": a.started_at for a in attempts} | {f"end of {a.id}": a.finished_at for a in attempts}
    told |= {f"event {e.id}: {e.message}": e.at for e in apart.tenant.events(job.id)}
    wrong = {what: at for what, at in told.items() if at is None or not before <= at <= after}
    assert not wrong, f"between {before} and {after}"


def test_what_is_asked_for_by_time_is_found(apart: Cluster, ended: tuple[Job, dt.datetime, dt.datetime]) -> None:
    number = str(ended[0].id)
    assert number in apart.hydractl("tenant", "jobs", "--since", "-10m").stdout
    assert apart.hydractl("tenant", "logs", number, "--since", "10m").stdout.count("seen") == 3
    assert sum(hour.failed for hour in apart.tenant.usage(1)) >= 3


def test_a_task_ends_when_its_time_is_up_and_not_before(apart: Cluster) -> None:
    lasts = apart.task_job("in-time", "sleep 2", timeout_s=60)
    late = apart.task_job("late", "sleep 600", timeout_s=2, retries=0)
    assert apart.settled(lasts).succeeded
    assert "ran longer than its timeout" in apart.settled(late, state="FAILED").message


def test_everything_is_called_well(apart: Cluster) -> None:
    assert {(part.name, part.text) for part in apart.operator.components() if part.verdict != "good"} == set()
