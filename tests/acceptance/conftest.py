"""One cluster for most fault tests: whatever they do to it, it must come back by itself."""

from collections.abc import Callable, Iterator

import pytest

from client import Client
from tests.acceptance import afterwards
from tests.acceptance.cluster import Cluster
from tests.failing import FAILED
from tests.stack import UNHURRIED

STRANGER = "stranger", "a-stranger-s-password"
MAKE = (
    "from controlplane.accounts.models import Role; from controlplane.statestore.actions import accounts; "
    "from controlplane.statestore.actions.audit import SYSTEM; "
    f"accounts.create(SYSTEM, {STRANGER[0]!r}, {STRANGER[1]!r}, Role.TENANT)"
)


class Kept:
    """The cluster of these tests; replaced by a new one when a test has left it broken."""

    def __init__(self, make: Callable[[], Cluster]) -> None:
        self.make = make
        self.cluster: Cluster | None = None

    def ready(self) -> Cluster:
        if self.cluster is not None:
            try:
                self.cluster.calm()
            except Exception:
                self.drop()
        if self.cluster is None:
            self.cluster = self.make()
            self.cluster.__enter__()
            self.cluster.calm()
        return self.cluster

    def drop(self) -> None:
        broken, self.cluster = self.cluster, None
        if broken is not None:
            broken.__exit__(None, None, None)


@pytest.fixture(scope="package")
def unhurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """For what has nothing to do with how soon a silent leader or node is replaced."""
    held = Kept(lambda: Cluster(tmp_path_factory.mktemp("cluster") / "home", environ=UNHURRIED))
    yield held
    held.drop()


@pytest.fixture(scope="package")
def prompt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kept]:
    """As in production."""
    held = Kept(lambda: Cluster(tmp_path_factory.mktemp("cluster") / "home"))
    yield held
    held.drop()


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A calm cluster of three nodes; after the test the invariants are checked, and its jobs are killed.

    Tests of faults have one with the leases of production. One that a test has failed on is given to no other.
    """
    faults = request.node.get_closest_marker("faults") is not None
    kept: Kept = request.getfixturevalue("prompt" if faults else "unhurried")
    calm = kept.ready()
    try:
        yield calm
        if request.node.stash.get(FAILED, False):
            kept.drop()
            return
        for (job,) in calm.sql("SELECT id FROM statestore_job WHERE state < 10"):
            calm.tenant.kill(job, "the test is over")
            calm.wait(job, 30)
        afterwards.holds(calm)
    except BaseException:
        kept.drop()
        raise


@pytest.fixture
def stranger(cluster: Cluster) -> Iterator[str]:
    """Another tenant; its API token."""
    if not cluster.sql("SELECT 1 FROM accounts_user WHERE username = %s", STRANGER[0]):
        cluster.stack.manage("shell", "-c", MAKE)
    with Client(cluster.stack.url) as anonymous:
        yield anonymous.login(*STRANGER).token
