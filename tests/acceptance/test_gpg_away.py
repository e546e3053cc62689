"""The GPG killed, away, and back: RMs go on with the last shares, and nothing is preempted on their account."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.acceptance.cluster import Cluster
from tests.homes import ready_made
from tests.limits import within
from tests.patience import let_pass, wait_until
from tests.stack import Stack

pytestmark = pytest.mark.faults

STALE_S = 4.0
WHOLE = 4  # tasks for which there is room
OPEN = {"open_to_all": True}
SLEEPER = {"resources": {"memory_mib": 64, "vcores_milli": 1000}}


@dataclass(frozen=True)
class Shares:
    """version: of those the RM goes by; age_s: of what the GPG assigned last."""

    version: int
    age_s: float

    @property
    def stale(self) -> bool:
        return self.age_s > STALE_S


def shares(cluster: Cluster) -> Shares:
    (life,) = cluster.operator.sub_clusters()
    return Shares(life.load.shares_version if life.load else 0, life.shares.age_s if life.shares else 1e9)


def runs(cluster: Cluster, version: int) -> bool:
    """Whether the RM runs this policy version."""
    (life,) = cluster.operator.sub_clusters()
    return life.policy_version == version


def post(cluster: Cluster) -> tuple[int, str]:
    """(epoch, holder) of the GPG's live lease; (0, "") when nobody has it."""
    rows = cluster.sql("SELECT epoch, holder FROM statestore_dutylease WHERE name = 'gpg' AND expires_at > now()")
    return rows[0] if rows else (0, "")


@contextlib.contextmanager
def away(cluster: "Cluster | Federation") -> Iterator[None]:
    """Nobody can have the post: it is held by nobody for an hour."""
    cluster.sql(
        "UPDATE statestore_dutylease SET epoch = epoch + 1, holder = 'nobody', backend_pid = 0,"
        " expires_at = now() + interval '1 hour' WHERE name = 'gpg' RETURNING 1"
    )
    try:
        yield
    finally:
        cluster.sql("UPDATE statestore_dutylease SET expires_at = now() WHERE name = 'gpg' RETURNING 1")


def policy() -> dict[str, Any]:
    """Two queues that share everything; quick preemption."""
    quick = {"interval_s": 0.2, "grace_s": 0.5, "dead_zone": 0.0, "per_round": 1.0}
    return {
        "queues": {"default": {"guaranteed": 0.5, **OPEN}, "owner": {"guaranteed": 0.5, **OPEN}},
        "components": {
            "preemption": {"policy": "owed", "parameters": quick},
            "shares": {"policy": "gif", "parameters": {"interval_s": 0.5, "stale_s": STALE_S}},
        },
    }


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One node with room for four tasks, of which two queues are guaranteed two each."""
    with Cluster(tmp_path_factory.mktemp("shared") / "home", nodes=0, relayed=False) as cluster:
        cluster.led()
        with cluster.node("n0", memory_mib=1024, vcores_milli=1000 * WHOLE):
            pushed = cluster.operator.apply_policy(policy(), "two queues", force=True)
            within(15, lambda: runs(cluster, pushed.version) and shares(cluster).age_s < 3, "the RM has shares")
            yield cluster


def test_a_killed_gpg_is_replaced(shared: Cluster):
    for worker in ("worker-a", "worker-b"):
        wait_until(lambda worker=worker: shared.stack.ready(worker), 30, f"{worker} runs")
    epoch, holder = post(shared)
    shared.stack.kill(holder)
    within(10, lambda: post(shared)[0] > epoch, "GPG killed: a standby has the post")
    within(15, lambda: shares(shared).age_s < 3, "shares are fresh again")


def test_while_the_gpg_is_away_work_goes_on_and_nothing_is_preempted(shared: Cluster):
    borrower = shared.task_job("borrower", "sleep 600", count=WHOLE, **SLEEPER)
    wait_until(lambda: len(shared.live(borrower)) == WHOLE, 30, "everything is lent")
    let_pass(1.5)  # the GPG sees it
    with away(shared):
        within(STALE_S + 5, lambda: shares(shared).stale, "the shares are stale")
        version = shares(shared).version
        owner = shared.submit(shared.spec("owner", "sleep 600", count=2, **SLEEPER) | {"queue": "root.owner"})
        let_pass(3)  # a time in which preemption, asked five times a second, would have come
        ends = [(c.state, c.reason) for c in shared.tenant.containers(borrower.id) if c.reason]
        assert (shared.live(owner), len(shared.live(borrower)), ends) == ([], WHOLE, [])
        assert shares(shared).version == version, "the last shares are in force"
        shared.tenant.kill(borrower.id, "make room")
        wait_until(lambda: len(shared.live(owner)) == 2, 20, "its owner starts in idle room")
        for job in [shared.task_job(f"meanwhile-{i}", "true", **SLEEPER) for i in range(5)]:
            shared.settled(job, 30)
        shared.tenant.kill(owner.id, "done")
        shared.wait(owner, 30)
    within(5, lambda: shares(shared).version > version, "GPG back: the RM is on a new version")


def test_what_a_queue_is_owed_is_reclaimed(shared: Cluster):
    borrower = shared.task_job("borrower", "sleep 600", count=WHOLE, **SLEEPER)
    wait_until(lambda: len(shared.live(borrower)) == WHOLE, 30, "everything is lent")
    owner = shared.submit(shared.spec("owner", "sleep 600", count=3, **SLEEPER) | {"queue": "root.owner"})
    within(15, lambda: len(shared.live(owner)) == 2, "its guarantee was taken back for the owner")
    let_pass(2)
    assert (len(shared.live(borrower)), len(shared.live(owner))) == (2, 2), "no more than the guarantee"


class Federation:
    """Three sub-clusters, and what their RMs go by."""

    def __init__(self, stack: Stack) -> None:
        self.stack, self.operator, self.tenant = stack, stack.client("operator"), stack.client("tenant")

    def sql(self, query: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.stack.database_url(), autocommit=True) as connection:
            return connection.execute(query).fetchall()

    def fresh(self) -> int:
        """How many RMs have shares that are not stale."""
        lives = list(self.operator.sub_clusters())
        return sum(life.shares is not None and life.shares.age_s <= STALE_S for life in lives)

    def runs(self, kind: str, version: int) -> int:
        """How many of a kind run a version of the policy."""
        return next(k.on_version for k in self.operator.policy_convergence(version).kinds if k.kind == kind)


@pytest.fixture
def federation(tmp_path: Path) -> Iterator[Federation]:
    with Stack(ready_made(tmp_path / "home"), sub_clusters=3, nodes=1) as stack:
        yield Federation(stack)


def test_every_rm_takes_a_policy_in_without_the_gpg_and_its_shares_once_it_is_back(federation: Federation):
    f = federation
    f.operator.apply_policy(policy(), "two queues", force=True)
    wait_until(lambda: f.fresh() == 3, 60, "all RMs have shares")
    with away(f):
        within(STALE_S + 5, lambda: f.fresh() == 0, "the shares of all are stale")
        heavier = policy()
        heavier["queues"]["owner"]["weight"] = 3
        version = f.operator.apply_policy(heavier, "while nobody divides").version
        within(5, lambda: f.runs("rm", version) == 3, "GPG away: a pushed policy reaches every RM")
        spec = {"command": ["true"], "count": 6, **SLEEPER}
        job = f.tenant.submit({"name": "meanwhile", "groups": [spec | {"name": "tasks"}]})
        wait_until(lambda: f.tenant.job(job.id).state == "SUCCEEDED", 30, "work goes on")
        assert f.runs("gpg", version) == 0 and f.fresh() == 0, "nobody divides"
    within(5, lambda: f.fresh() == 3, "GPG back: every RM has new shares")
    within(5, lambda: f.runs("gpg", version) == 1, "GPG back: it divides by the version pushed meanwhile")
