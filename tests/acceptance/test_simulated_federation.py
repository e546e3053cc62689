"""A script of jobs that ask elsewhere, in two real sub-clusters and in simulation: the same places and nearly the
same times."""

from collections.abc import Iterator

import pytest

from tests.acceptance.scripted import Script, Scripted, assert_alike, machines_of, push
from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.faults

SUB_CLUSTERS = NODES = 2
# Every job is at home in the first and asks there; what has no room there asks, and then waits, in the other.
AT_HOME = {
    "queues": {
        "default": {
            "open_to_all": True,
            "federation": {
                "routing": {"policy": "local_first", "parameters": {"order": ["east"], "spill_load": 100}},
                "amrmproxy": {"policy": "locality", "parameters": {"alpha": 0, "weights": {"east": 1, "west": 3}}},
            },
        }
    }
}
BEAT_S = 3  # others hear of room within a second and look twice a second: nothing else happens so soon after it
SCRIPT: Script = (
    Scripted(2, 0.9, 9),  # all of the home
    Scripted(2, 0.9, 4, gap_s=3),  # all of the other
    Scripted(1, 0.9, 2, gap_s=3.5),  # waits in the other, where something ends first
)


@pytest.fixture
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    home = ready_made(tmp_path_factory.mktemp("simulated") / "home")
    with Stack(home, sub_clusters=SUB_CLUSTERS, nodes=NODES) as running:
        operator = running.client("operator")
        wait_until(lambda: sum(n.state == "UP" for n in operator.nodes()) == SUB_CLUSTERS * NODES, 60, "nodes are up")
        yield running


@pytest.mark.timeout(900)
def test_jobs_that_ask_elsewhere_run_in_simulation_as_in_real_sub_clusters(stack: Stack) -> None:
    operator = stack.client("operator")
    push(operator, AT_HOME)
    where = {m.name: sub for sub, own in machines_of(operator).items() for m in own}
    real = assert_alike(stack, SCRIPT, BEAT_S)
    assert [where[real[key][0]] for key in sorted(real)] == ["east"] * 2 + ["west"] * 3
