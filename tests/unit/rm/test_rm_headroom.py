"""What is free elsewhere for a queue's asks."""

import numpy as np

from controlplane.rm.steps.headroom import Headroom
from controlplane.statestore.capacities import R
from controlplane.statestore.limited import VAIN, Limited
from controlplane.statestore.loads import Load, PartitionLoad


def units(amount: int) -> np.ndarray:
    return np.full(R, amount, np.int64)


def load(sub: int, free: int, pending: int, limited: dict[str, int], partition: str = "") -> Load:
    rows = np.stack([units(amount) for amount in limited.values()]) if limited else None
    tables = {} if rows is None else {partition: (list(limited), rows)}
    parts = {"": PartitionLoad(units(100), units(free), ["root.a"], units(0)[None], units(pending)[None])}
    if partition:
        parts = {partition: parts[""]}
    return Load(
        sub, "", "running", True, 0, 1, 1, 0, 1, units(100), units(free), units(pending), parts, Limited.of(tables)
    )


def seen(loads: list[Load], queue: str, partition: str = "") -> dict[int, int]:
    headroom = Headroom.of(loads, partition)
    return dict(zip(headroom.subs, headroom.of_queue(headroom.binding(queue))[:, 0].tolist(), strict=True))


def test_what_waits_for_the_maximum_of_others_takes_nothing() -> None:
    limited = {"root.a": 30, "root.a.x": 5, f"{VAIN}root.a": 10}
    loads = [load(1, 60, 50, limited), load(2, 60, 50, {}), load(3, 9, 50, {"root.b": 1})]
    assert seen(loads, "root.b") == {1: 55, 2: 10, 3: -41}
    assert seen(loads, "root.a") == {1: 25, 2: 10, 3: -40}, "its own does, and not what waits for a part of it"
    assert seen(loads, "root.a.x") == {1: 20, 2: 10, 3: -40}, "nor is that above it another's"
    assert seen(loads, "root.ab") == {1: 55, 2: 10, 3: -40}


def test_a_row_that_tells_of_limits_what_is_over_makes_no_room() -> None:
    assert seen([load(1, 60, 10, {"root.a": 30})], "root.b") == {1: 60}


def test_a_partition_is_looked_at_by_itself() -> None:
    loads = [load(1, 60, 50, {"root.a": 30}), load(2, 60, 50, {"root.a": 30}, "gpus")]
    assert seen(loads, "root.b", "gpus") == {2: 40}
