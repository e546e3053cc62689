"""Where jobs find their home."""

from collections import Counter

import pytest

from controlplane.router.routing import POLICIES, Ask, Candidate, choose, usable


def candidate(number: int, **fields: object) -> Candidate:
    values = {"accepts": True, "led": True, "nodes_up": 2, "capacity": (1000, 1000, 0), "demand": [0, 0, 0]} | fields
    return Candidate(id=number, name=f"s{number}", **values)  # type: ignore[arg-type]


def ask(memory: int = 10, gpus: int = 0, owner: int = 1, queue: str = "root.a") -> Ask:
    return Ask("job", queue, owner, (memory, 10, gpus))


def test_draining_leaderless_and_empty_ones_are_passed_over_while_another_can() -> None:
    draining, leaderless, empty, good = (
        candidate(1, accepts=False),
        candidate(2, led=False),
        candidate(3, nodes_up=0),
        candidate(4),
    )
    assert usable([draining, leaderless, empty, good]) == [good]
    assert usable([draining, leaderless, empty]) == [empty]
    assert usable([draining, leaderless]) == [leaderless]
    assert usable([draining]) == []
    assert choose([draining], ask(), POLICIES["least_loaded"](), 0.5) is None


@pytest.mark.parametrize("name", POLICIES)
def test_every_policy_chooses_one_of_the_usable(name: str) -> None:
    candidates = [candidate(1, accepts=False), candidate(2), candidate(3)]
    for random in (0.0, 0.5, 0.999999):
        home = choose(candidates, ask(), POLICIES[name](), random)
        assert home is not None and home.id in {2, 3}


def test_a_burst_spreads_by_capacity_although_no_summary_comes_between() -> None:
    candidates = [candidate(1, capacity=(3000, 3000, 0)), candidate(2)]
    homes = Counter(choose(candidates, ask(), POLICIES["least_loaded"](), 0.0).id for _ in range(400))  # type: ignore[union-attr]
    assert homes == {1: 300, 2: 100}


def test_gpus_are_sought_where_they_are() -> None:
    candidates = [candidate(1), candidate(2, capacity=(100, 100, 4))]
    home = choose(candidates, ask(gpus=1), POLICIES["least_loaded"](), 0.0)
    assert home is not None and home.id == 2


def test_hashing_keeps_homes_when_a_sub_cluster_comes() -> None:
    policy = POLICIES["hash"]()

    def homes(n: int) -> list[int]:
        return [choose([candidate(i) for i in range(1, n + 1)], ask(owner=o), policy, 0.0).id for o in range(300)]  # type: ignore[union-attr]

    moved = sum(a != b for a, b in zip(homes(4), homes(5), strict=True))
    assert 30 <= moved <= 90  # a fifth of 300, give or take
