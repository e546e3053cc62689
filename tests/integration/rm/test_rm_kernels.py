"""Compiled kernels in a leader: they are used, decide the same, and no round waits for a compiler."""

import threading
from collections.abc import Iterator

import numpy as np
import pytest

from controlplane import kernels
from scheduler.core import compiled
from scheduler.core.snapshot import Memo
from scheduler.round import RoundPolicy, plan_round
from scheduler.warm import snapshot
from tests.integration.rm.cluster import Cluster
from tests.machine import FACTOR

# The first run on a machine compiles: a minute and a half of one core.
pytestmark = [pytest.mark.kernels, pytest.mark.timeout(900 * FACTOR)]


@pytest.fixture(scope="module")
def forms() -> Iterator[dict[str, int]]:
    kernels.compile_now()
    yield compiled.compiled()
    compiled.interpret()


def test_both_forms_decide_the_same(forms: dict[str, int]) -> None:
    def plans() -> list[np.ndarray]:
        plan, _ = plan_round(snapshot(), Memo(), RoundPolicy(), 0.0)
        return [plan.place.ask, plan.place.node, plan.preempt.warn, plan.outcome.why, plan.outcome.share]

    fast = plans()
    compiled.interpret()
    slow = plans()
    kernels.compile_now()
    for a, b in zip(fast, slow, strict=True):
        np.testing.assert_array_equal(a, b)


def test_who_is_about_to_plan_for_many_jobs_has_what_is_compiled_first(
    forms: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "_done", threading.Event())
    kernels.load_for(kernels.MANY_JOBS - 1)
    assert not kernels.compiled()
    kernels.load_for(kernels.MANY_JOBS)
    assert kernels.compiled() and compiled.compiled() == forms


def test_a_leaders_rounds_use_the_forms_that_the_warm_up_has_made(forms: dict[str, int], cluster: Cluster) -> None:
    cluster.policy(
        {"default": {"guaranteed": 0.5, "ordering": "fair"}, "prod": {"guaranteed": 0.5}},
        preemption={"parameters": {"interval_s": 0, "grace_s": 0}},
    )
    leader = cluster.lead()
    cluster.nodes.step()
    cluster.submit({"count": 30, "estimated_duration_s": 60})
    leader.round()
    cluster.submit({"count": 4, "locality": {"nodes": ["n0"]}}, queue="root.prod")
    cluster.submit({"count": 2, "gang": True}, {"name": "more", "resources": {"memory_mib": 4000}}, queue="root.prod")
    for _ in range(6):
        leader.round()
        cluster.nodes.step()
    assert cluster.one("SELECT count(*) FROM statestore_container_history WHERE reason = 15")
    assert compiled.compiled() == forms, "a round had to wait for a compiler"
