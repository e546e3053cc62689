"""A policy version on its way through real processes: who says it runs, a rollout that holds, one that does not."""

from collections.abc import Iterator
from typing import Any

import pytest

from client import Client
from contract.rollouts import Convergence, Rollout
from tests.homes import ready_made
from tests.limits import judge
from tests.machine import stalls
from tests.patience import wait_until
from tests.stack import UNHURRIED, Stack

OPEN = {"queues": {"default": {"guaranteed": 1.0, "open_to_all": True}}}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(
        ready_made(tmp_path_factory.mktemp("rollouts") / "home"), sub_clusters=2, nodes=1, environ=UNHURRIED
    ) as running:
        yield running


@pytest.fixture(scope="module")
def operator(stack: Stack) -> Client:
    found = stack.client("operator")
    wait_until(lambda: found.policy_convergence().converged, 60, "all run the first version")
    return found


def document(fill: str) -> dict[str, Any]:
    return OPEN | {"components": {"placement": {"policy": fill}}}


def converged(operator: Client, version: int) -> Convergence:
    wait_until(lambda: operator.policy_convergence(version).converged, 30, f"all run version {version}")
    return operator.policy_convergence(version)


def ended(operator: Client, number: int) -> Rollout:
    wait_until(lambda: not operator.rollout(number).live, 60, "the rollout is over")
    return operator.rollout(number)


def versions(operator: Client) -> dict[str, int | None]:
    return {s.name: s.policy_version for s in operator.sub_clusters()}


@pytest.mark.faults
def test_everything_says_that_it_runs_a_pushed_version(operator: Client) -> None:
    mark = stalls.mark()
    version = operator.apply_policy(document("pack"), "everywhere").version
    kinds = {k.kind: k for k in converged(operator, version).kinds}
    assert {kind: k.on_version for kind, k in kinds.items()} == {"rm": 2, "router": 1, "gpg": 1, "node": 2}
    for kind in kinds.values():
        assert kind.max_s is not None, kind
        judge(f"a pushed policy is in force: {kind.kind}", kind.max_s, 5, mark)


def test_without_hints_a_version_is_taken_in_all_the_same(stack: Stack, operator: Client) -> None:
    stack.kill_and_wait("valkey")
    version = operator.apply_policy(document("align"), "after Redis forgot everything").version
    found = converged(operator, version)
    assert {k.kind: k.on_version for k in found.kinds} == {"rm": 2, "router": 1, "gpg": 1, "node": 2}


def test_a_staged_version_holds_at_its_stage_first_and_then_everywhere(operator: Client) -> None:
    before = operator.policy().version
    held = staged(operator, "pack", 600.0)
    wait_until(lambda: operator.rollout(held.id).state == "soaking", 30, "west soaks")
    wait_until(lambda: versions(operator) == {"east": before, "west": held.version}, 10, "west runs it, east does not")
    assert operator.policy().version == before
    operator.steer_rollout(held.id, "abort", "west has shown enough")
    assert ended(operator, held.id).state == "rolled_back"
    row = staged(operator, "spread", 0.0)
    assert ended(operator, row.id).state == "completed"
    converged(operator, row.version)
    assert set(versions(operator).values()) == {row.version}


def staged(operator: Client, fill: str, soak_s: float) -> Rollout:
    """A rollout to west, so long, and then to all."""
    stages = [{"sub_clusters": ["west"], "soak_s": soak_s}]
    row = operator.roll_out(document(fill), "slowly", stages=stages)
    assert isinstance(row, Rollout)
    return row


def test_a_version_that_harms_is_taken_back_by_itself(stack: Stack, operator: Client) -> None:
    tenant = stack.client("tenant")
    stages = [{"sub_clusters": ["west", "east"], "soak_s": 600.0}]
    row = operator.roll_out(document("first_fit"), "harm", stages=stages, guards={"failure_share": 0.5})
    assert isinstance(row, Rollout)
    wait_until(lambda: operator.rollout(row.id).state == "soaking", 30, "it soaks")
    small = {"memory_mib": 32, "vcores_milli": 10}
    failing = {"name": "f", "count": 1, "command": ["false"], "retries": 0, "resources": small}
    for number in range(15):  # one each: the first that fails stops the others of its job
        tenant.submit({"name": f"failing-{number}", "groups": [failing]})
    found = ended(operator, row.id)
    assert found.state == "rolled_back" and "100.0 % of containers fail" in found.message, found
    back = operator.policy()
    assert back.version == found.rollback_version and found.message in back.message
    assert back.document is not None and back.document["components"]["placement"]["policy"] == "spread"
    converged(operator, back.version)
