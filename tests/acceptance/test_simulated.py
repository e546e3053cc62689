"""The same scripts of jobs on four real node managers and in simulation: the same places, and nearly the same times."""

from collections.abc import Iterator

import pytest

from tests.acceptance.scripted import Script, Scripted, assert_alike, push
from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import Stack

pytestmark = pytest.mark.faults

NODES = 4
HALVES = {"queues": {name: {"guaranteed": 0.5, "open_to_all": True} for name in ("default", "other")}}
# What ends lies apart by about a beat or more, so that the order of ends is that of the script.
SCRIPTS: dict[str, Script] = {
    "sizes and a gang": (
        Scripted(4, 0.5, 8),
        Scripted(2, 0.3, 4),
        Scripted(3, 0.5, 3, gang=True),
        Scripted(1, 0.2, 2),
        Scripted(2, 0.5, 1),
        Scripted(2, 0.9, 1),
    ),
    # The first queue has all there is; what ends goes to the other until that wants no more.
    "two queues": (
        Scripted(8, 0.5, 3),
        Scripted(2, 0.5, 13),
        Scripted(3, 0.5, 11, queue="root.other"),
    ),
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(ready_made(tmp_path_factory.mktemp("simulated") / "home"), sub_clusters=1, nodes=NODES) as running:
        operator = running.client("operator")
        wait_until(lambda: sum(n.state == "UP" for n in operator.nodes()) == NODES, 60, "every node is up")
        yield running


@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_runs_in_simulation_as_on_real_nodes(stack: Stack, name: str) -> None:
    push(stack.client("operator"), HALVES)
    assert_alike(stack, SCRIPTS[name])
