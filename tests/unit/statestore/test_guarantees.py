"""What queues are guaranteed is told of idle ones, too, in a bounded number."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from controlplane.router import clustermetrics
from controlplane.statestore.capacities import R
from controlplane.statestore.series import gauges

HALF = np.arange(R) * 50
OWED = {"root.none": HALF * 0, "root.small": HALF // 10, "root.large": HALF}


def load(capacity: np.ndarray) -> Any:
    return SimpleNamespace(queues={"": SimpleNamespace(capacity=capacity)})


def test_guarantees_are_of_all_that_is_there_the_largest_first(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(gauges.tree, "guaranteed", lambda capacity: asked.append(capacity) or OWED)
    found = gauges.guarantees([load(HALF), load(HALF)])
    assert list(found.items()) == [("root.large", HALF.tolist()), ("root.small", (HALF // 10).tolist())]
    assert asked[0][""].tolist() == (HALF * 2).tolist()


def test_without_a_policy_or_leaders_nothing_is_guaranteed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gauges.tree, "guaranteed", lambda capacity: {})
    assert gauges.guarantees([]) == {}


def test_metrics_tell_of_idle_queues_with_the_largest_guarantees_and_of_those_in_use() -> None:
    owed = {f"root.q{n}": [1024 * (9 - n)] * R for n in range(9)}
    families = list(clustermetrics._guaranteed(["root.used", "root.q8"], owed, 2))
    assert len(families) == R and families[0].name == "hydra_queue_guaranteed_memory_bytes"
    told = {sample.labels["queue"]: sample.value for sample in families[0].samples}
    assert told == {"root.used": 0, "root.q8": 2**30, "root.q0": 9 * 2**30, "root.q1": 8 * 2**30}
