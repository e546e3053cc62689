"""YARN's tables of its AM-RM proxy's splitter."""

from typing import Any

import numpy as np
import pytest

from scheduler.federation.split import UNKNOWN_HEADROOM, SplitTargets, integer_split, split
from tests.peer_cases import Case, cases


def sites(given: Case) -> tuple[list[str], SplitTargets]:
    names = sorted([*given["active"], *given["inactive"]])
    headroom = [given["headroom_containers"].get(name) for name in names]
    return names, SplitTargets(
        usable=np.array([name in given["active"] for name in names]),
        weights=np.array([given["weights"].get(name, 0.1) for name in names]),
        headroom=np.array([UNKNOWN_HEADROOM if h is None else h for h in headroom]),
        home=0,
    )


@pytest.mark.parametrize("case", cases("split"))
def test_split_by_headroom_and_weight(case: Any) -> None:
    given, expected = case["input"], case["expected"]
    names, where = sites(given)
    got = split("locality", given["ask"]["containers"], where, alpha=given["headroom_alpha"], prefer_home=False)
    asked = dict(zip(names, got.tolist(), strict=True))
    assert sum(asked.values()) == expected["total"]
    for name, least in expected.get("min_containers", {}).items():
        assert least <= asked[name] <= least + 1
    for name in expected.get("absent", []):
        assert asked[name] == 0
    if "subcluster1" in expected:
        assert asked["subcluster1"] == 0


@pytest.mark.parametrize("case", cases("integer_split"))
@pytest.mark.parametrize("seed", [None, 0])
def test_integers_sum_to_the_total(case: Any, seed: int | None) -> None:
    given, expected = case["input"], case["expected"]
    rng = None if seed is None else np.random.default_rng(seed)
    for _ in range(1 if rng is None else 2000):
        got = integer_split(given["total"], np.array(given["weights"]), rng)
        assert got.sum() == expected["sum_always"]
        assert (got >= expected["minimum_each"]).all()
        assert (got[np.array(given["weights"]) <= 0] == 0).all()
