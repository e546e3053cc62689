"""One cluster for most fault tests: whatever they do to it, it must come back by itself."""

from collections.abc import Iterator

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


@pytest.fixture(scope="package")
def unhurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """For what has nothing to do with how soon a silent leader or node is replaced."""
    with Cluster(tmp_path_factory.mktemp("cluster") / "home", environ=UNHURRIED) as made:
        made.calm()
        yield made


@pytest.fixture(scope="package")
def prompt(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """As in production."""
    with Cluster(tmp_path_factory.mktemp("cluster") / "home") as made:
        made.calm()
        yield made


@pytest.fixture
def cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """A calm cluster of three nodes; after the test its jobs are killed, the invariants checked, and it must be calm.

    Tests of faults have one with the leases of production.
    """
    faults = request.node.get_closest_marker("faults") is not None
    calm: Cluster = request.getfixturevalue("prompt" if faults else "unhurried")
    yield calm
    if request.node.stash.get(FAILED, False):
        return
    for (job,) in calm.sql("SELECT id FROM statestore_job WHERE state < 10"):
        calm.tenant.kill(job, "the test is over")
        calm.wait(job, 30)
    afterwards.holds(calm)
    calm.calm()


@pytest.fixture
def stranger(cluster: Cluster) -> Iterator[str]:
    """Another tenant; its API token."""
    if not cluster.sql("SELECT 1 FROM accounts_user WHERE username = %s", STRANGER[0]):
        cluster.stack.manage("shell", "-c", MAKE)
    with Client(cluster.stack.url) as anonymous:
        yield anonymous.login(*STRANGER).token
