"""Where jobs find their home."""

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.federation.feasible import Verdict
from scheduler.federation.routing import (
    FALLBACKS,
    POLICIES,
    HomeCandidate,
    RoutedJob,
    Router,
    RoutingDecision,
    route,
    router,
)
from tests.amounts import amounts
from tests.peer_cases import cases

NEEDED: dict[str, dict[str, Any]] = {
    "priority": {"weights": {"s1": 1, "s2": 2, "s3": 3}},
    "weighted_random": {"weights": {}},
    "local_first": {"order": ["s3", "s2", "s1"]},
}


def made(name: str, **more: Any) -> Router:
    return router(name, **(NEEDED.get(name, {}) | more))


def candidate(number: int, **fields: object) -> HomeCandidate:
    values = {"accepts": True, "led": True, "nodes_up": 2, "capacity": (1000, 1000), "demand": ()} | fields
    values |= {"capacity": amounts(*values["capacity"]), "demand": list(amounts(*values["demand"]))}  # type: ignore[misc]
    return HomeCandidate(id=number, name=f"s{number}", **values)  # type: ignore[arg-type]


def ask(memory: int = 10, gpus: int = 0, owner: int = 1, queue: str = "root.a", **more: Any) -> RoutedJob:
    return RoutedJob("job", queue, owner, amounts(memory, 10, gpus), **more)


def home(decision: RoutingDecision) -> int:
    assert decision.home is not None
    return decision.home.id


def homes(candidates: list[HomeCandidate], by: Router, n: int, seed: int = 0, **more: Any) -> Counter[int]:
    draws = np.random.default_rng(seed).random(n)
    return Counter(home(route(candidates, ask(**more), by, x)) for x in draws.tolist())


def test_what_waits_for_a_queues_maximum_is_demand_to_that_queue_and_those_below_it() -> None:
    found = {}
    for queue in ("root.a", "root.a.x", "root.ab", "root"):
        full, busy = candidate(1, demand=(100,), limited={"root.a": amounts(800)}), candidate(2, demand=(300,))
        found[queue] = home(route([full, busy], ask(queue=queue), made("least_loaded"), 0.0))
        assert [c.demand[0] for c in (full, busy)] == ([110, 300] if found[queue] == 1 else [100, 310])
    assert found == {"root.a": 2, "root.a.x": 2, "root.ab": 1, "root": 1}


DRAINING, LEADERLESS, EMPTY, GOOD = (
    candidate(1, accepts=False),
    candidate(2, led=False),
    candidate(3, nodes_up=0),
    candidate(4),
)


def test_draining_leaderless_and_empty_ones_are_passed_over_while_another_can() -> None:
    by = made("least_loaded")
    assert home(route([DRAINING, LEADERLESS, EMPTY, GOOD], ask(), by, 0.5)) == 4
    assert home(route([DRAINING, LEADERLESS, EMPTY], ask(), by, 0.5)) == 3
    assert home(route([DRAINING, LEADERLESS], ask(), by, 0.5)) == 2
    refused = route([DRAINING], ask(), by, 0.5)
    assert refused.home is None and not refused.final and "no sub-cluster takes jobs" in refused.why


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"reject"}))
@pytest.mark.parametrize("random", [0.0, 0.5, 0.999999])
def test_every_policy_chooses_one_of_the_usable(name: str, random: float) -> None:
    candidates = [candidate(1, accepts=False), candidate(2), candidate(3)]
    decision = route(candidates, ask(), made(name), random)
    assert home(decision) in {2, 3}
    assert decision.policy == name and decision.why


@pytest.mark.parametrize("name", POLICIES)
@given(
    states=st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 1), st.floats(0, 2)), max_size=6),
    full=st.none() | st.just(0.9),
    fallback=st.sampled_from(FALLBACKS),
    random=st.floats(0, 1, exclude_max=True),
)
def test_no_job_is_homed_where_none_are_taken_and_the_worse_off_wait_for_the_better(
    name: str, states: list[tuple[bool, bool, int, float]], full: float | None, fallback: str, random: float
) -> None:
    candidates = [
        candidate(i, accepts=a, led=led, nodes_up=up, demand=[int(load * 1000), 0, 0])
        for i, (a, led, up, load) in enumerate(states, 1)
    ]
    most = math.inf if full is None else full
    roomy = {c.id for c in candidates if c.accepts and c.led and c.nodes_up and c.load <= most}
    works = {c.id for c in candidates if c.accepts and c.led and c.nodes_up}
    accepts = {c.id for c in candidates if c.accepts}
    found = route(
        candidates, ask(), made(name, fallback=fallback, full_load=full) if name != "reject" else made(name), random
    )
    if found.home is None:
        assert name == "reject" or not accepts or (fallback == "reject" and found.why)
        return
    assert found.home.id in accepts
    assert found.home.id in roomy or (not roomy and fallback != "reject")
    assert not works or found.home.id in works


def test_a_burst_spreads_by_capacity_although_no_summary_comes_between() -> None:
    candidates = [candidate(1, capacity=(3000, 3000, 0)), candidate(2)]
    assert homes(candidates, made("least_loaded"), 400) == {1: 300, 2: 100}


def test_gpus_are_sought_where_they_are() -> None:
    candidates = [candidate(1), candidate(2, capacity=(100, 100, 4))]
    assert home(route(candidates, ask(gpus=1), made("least_loaded"), 0.0)) == 2


def test_hashing_keeps_homes_when_a_sub_cluster_comes_and_goes() -> None:
    by = made("hash")

    def spread(n: int, gone: int = 0) -> list[int]:
        there = [candidate(i, accepts=i != gone) for i in range(1, n + 1)]
        return [home(route(there, ask(queue=f"root.q{q}"), by, 0.0)) for q in range(300)]

    four, five = spread(4), spread(5)
    moved = [(a, b) for a, b in zip(four, five, strict=True) if a != b]
    assert 30 <= len(moved) <= 90 and {b for _, b in moved} == {5}  # a fifth of 300, all to the new one
    assert all(a == b or b == 2 for a, b in zip(spread(4, gone=2), four, strict=True)), "only those of the lost one"
    assert Counter(four).most_common()[-1][1] > 40


def test_hashing_by_owner_does_not_look_at_queues() -> None:
    three = [candidate(i) for i in (1, 2, 3)]
    by = made("hash", by="owner")
    assert len({home(route(three, ask(owner=7, queue=f"root.q{q}"), by, 0.0)) for q in range(20)}) == 1
    assert len({home(route(three, ask(owner=o), by, 0.0)) for o in range(20)}) == 3


@pytest.mark.parametrize("case", cases("route"))
def test_peers_priority(case: dict[str, Any]) -> None:
    assert case["input"]["policy"] == "priority" and case["expected"]["chosen"] == "sc5"
    rng = np.random.default_rng(5)
    for _ in range(50):
        weights = {f"s{i}": 1.1 if i == 5 else rng.random() for i in range(20)}
        there = [candidate(i, led=i == 5 or rng.random() > 0.05) for i in range(20)]
        assert home(route(there, ask(), router("priority", weights=weights), rng.random())) == 5


@pytest.mark.parametrize("case", cases("route_property"))
def test_peers_weighted_random(case: dict[str, Any]) -> None:
    draws, n = case["input"]["draws"], case["input"]["sub_clusters"]
    rng = np.random.default_rng(11)
    weights = {f"s{i}": float(w) for i, w in enumerate(rng.random(n), 1)}
    there = [candidate(i, led=i != 7 and rng.random() > 0.05, capacity=(10**9, 10**9, 0)) for i in range(1, n + 1)]
    assert 0 < sum(c.led for c in there) < n
    seen = homes(there, router("weighted_random", weights=weights), draws, seed=3)
    total = sum(weights[c.name] for c in there if c.led)
    for c in there:
        assert abs(seen[c.id] / draws - (weights[c.name] / total if c.led else 0.0)) < 0.01
        assert c.led or not seen[c.id]


def test_load_lowers_weights_where_it_is_asked_to() -> None:
    there = [candidate(1, demand=[2500, 0, 0]), candidate(2, demand=[1500, 0, 0]), candidate(3, demand=[900, 0, 0])]
    nothing = {"demand": amounts()}
    by = made("weighted_random", load_based=True)
    draws = np.random.default_rng(2).random(3000).tolist()
    seen = Counter(home(route(there, RoutedJob("j", "q", 1, **nothing), by, x)) for x in draws)
    assert 1 not in seen and 0.3 < seen[2] / 3000 < 0.37
    assert set(homes(there, made("weighted_random"), 300)) == {1, 2, 3}
    half = made("weighted_random", load_based=True, min_load=0.5, max_load=4.5, min_weight=0.5)  # 0.75, 0.875, 0.95
    seen = Counter(home(route(there, RoutedJob("j", "q", 1, **nothing), half, x)) for x in draws)
    assert 0.26 < seen[1] / 3000 < 0.32 and 0.31 < seen[2] / 3000 < 0.37
    one = made("weighted_random", load_based=True, max_edit=1)
    seen = Counter(home(route(there, RoutedJob("j", "q", 1, **nothing), one, x)) for x in draws)
    assert 1 not in seen and 0.46 < seen[2] / 3000 < 0.54, "only the most loaded is lowered"
    worst = [candidate(1, demand=[2500, 0, 0]), candidate(2, demand=[2500, 0, 0])]
    assert set(homes(worst, made("weighted_random", load_based=True), 100)) == {1, 2}, "all alike: as without load"


def test_names_lead_a_job_to_what_they_name() -> None:
    there = [candidate(1), candidate(2, demand=[900, 0, 0]), candidate(3)]
    decision = route(there, ask(containers=8, owned={2: 6, 3: 2}), made("locality"), 0.0)
    assert home(decision) == 2 and "6 of its 8 containers" in decision.why
    assert home(route(there, ask(), made("locality"), 0.0)) == 1, "nothing named: the least loaded"
    away = [candidate(1), candidate(2, led=False)]
    assert home(route(away, ask(owned={2: 6}), made("locality"), 0.0)) == 1


def test_local_first_spills_in_order_and_back() -> None:
    by = made("local_first", order=["s2", "s3"], spill_load=0.5)
    there = [candidate(1), candidate(2), candidate(3)]
    order = [home(route(there, ask(memory=100), by, 0.0)) for _ in range(12)]
    assert order == [2] * 5 + [3] * 5 + [2, 3], "then the least loaded of those in the order"
    there[1].demand = list(amounts())
    assert home(route(there, ask(), by, 0.0)) == 2


def test_where_the_policy_names_nobody_its_fallback_decides_or_the_job_is_refused() -> None:
    there = [candidate(1, accepts=False), candidate(2, demand=[950, 0, 0]), candidate(3)]
    wanted = {"weights": {"s1": 2.0, "s2": 1.0}}
    assert home(route(there, ask(), router("priority", **wanted), 0.0)) == 2
    spilt = route(there, ask(), router("priority", full_load=0.9, **wanted), 0.0)
    assert home(spilt) == 3 and spilt.policy == "least_loaded" and "priority names no" in spilt.why
    refused = route(there, ask(), router("priority", fallback="reject", full_load=0.9, **wanted), 0.0)
    assert refused.home is None and not refused.final and "priority" in refused.why
    all_full = [candidate(1, demand=[950, 0, 0]), candidate(2, demand=[990, 0, 0])]
    assert home(route(all_full, ask(), router("priority", full_load=0.9, weights={"s2": 1}), 0.0)) == 2


def test_reject_refuses_for_good() -> None:
    refused = route([candidate(1)], ask(), router("reject", message="closed for the winter"), 0.0)
    assert refused.home is None and refused.final and refused.why == "closed for the winter"


def held(*groups: int, of: int = 1) -> dict[int, Verdict]:
    """By sub-cluster, from 1 on, how many groups it could hold."""
    return {number: Verdict(n, of, "" if n == of else "it has no GPU") for number, n in enumerate(groups, 1)}


@pytest.mark.parametrize("name", sorted(set(POLICIES) - {"reject"}))
@given(random=st.floats(0, 1, exclude_max=True), full=st.lists(st.booleans(), min_size=3, max_size=3), data=st.data())
def test_no_policy_chooses_one_that_cannot_hold_the_job_while_another_can(
    name: str, random: float, full: list[bool], data: st.DataObject
) -> None:
    able = data.draw(st.lists(st.integers(0, 2), min_size=3, max_size=3))
    candidates = [
        candidate(i, demand=[2000 if f else 0, 0, 0], led=data.draw(st.booleans())) for i, f in enumerate(full, 1)
    ]
    decision = route(candidates, ask(verdicts=held(*able, of=2)), made(name, full_load=0.9), random)
    assert able[home(decision) - 1] == max(able)
    assert ("no sub-cluster has nodes in service" in decision.why) == (not any(able))


def test_one_that_takes_no_jobs_is_none_that_could_hold_it() -> None:
    candidates = [candidate(1), candidate(2, accepts=False)]
    assert home(route(candidates, ask(verdicts=held(0, 1)), made("least_loaded"), 0.5)) == 1


def test_the_decision_says_that_others_could_not_hold_the_job() -> None:
    decision = route([candidate(1), candidate(2)], ask(verdicts=held(0, 1)), made("least_loaded"), 0.5)
    assert (home(decision), decision.why) == (2, "load 0.00; 1 other could not hold it")
