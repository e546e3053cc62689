"""YARN's tables of router weights by load, one adapter per kind."""

import numpy as np
import pytest

from scheduler.federation.weights import WeightPolicy, load_weights
from tests.peer_cases import Case, cases


def policy(config: Case) -> WeightPolicy:
    usual = {"max_edit": 3, "min_pending": 100, "max_pending": 500}
    return WeightPolicy(
        **usual | {name: value.lower() if name == "scaling" else value for name, value in config.items()}
    )


@pytest.mark.parametrize("case", cases("gpg_weights"))
def test_gpg_weights(case: Case):
    weights = load_weights(np.array(case["input"]["apps_pending"]), policy(case["input"]["config"]))
    assert weights == pytest.approx(case["expected"]["weights"], abs=case["expected"]["tolerance"])


@pytest.mark.parametrize("case", cases("gpg_weights_property"))
def test_gpg_weights_property(case: Case):
    """1 below the least load, falling from there, 0 from the most load on; another sub-cluster has no load."""
    given = case["input"]
    first, last = given["sweep_apps_pending_sc0"]
    low, high = given["config"]["min_pending"], given["config"]["max_pending"]
    for scaling in given["scalings"]:
        rule = policy(given["config"] | {"scaling": scaling})
        weights = np.array([load_weights(np.array([load, 0]), rule)[0] for load in range(first, last + 1)])
        assert (weights[:low] == 1).all(), scaling
        assert (np.diff(weights[low:high]) < 0).all(), scaling
        assert (weights[high:] == 0).all(), scaling
