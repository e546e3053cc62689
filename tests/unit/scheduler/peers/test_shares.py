"""Tables of share determination: YARN's fair shares, Mesos's sorter, Kueue's and YuniKorn's ratios, H-DRF.

Each kind has one adapter onto our own functions. Where a table assumes
that everybody wants all there is, so does its adapter.
"""

import numpy as np
import pytest

from scheduler.shares.fair import fair_shares, held_part
from scheduler.shares.tree import ShareTree, dominant_shares
from tests.peer_cases import Case, cases

UNBOUNDED = 1 << 60


def whole(share: np.ndarray) -> np.ndarray:
    return np.floor(share + 1e-6).astype(np.int64)


def flat(weight: list[float], width: int) -> ShareTree:
    """A root and below it one row per weight, without guarantees and maxima."""
    rows = len(weight) + 1
    return ShareTree(
        np.array([-1] + [0] * len(weight), np.int32),
        np.zeros((rows, width), np.int64),
        np.full((rows, width), UNBOUNDED, np.int64),
        np.array([1.0, *weight]),
    )


def wanting_all(tree: ShareTree, capacity: np.ndarray) -> np.ndarray:
    """Demand of every lowest row for all there is."""
    lowest = np.isin(np.arange(len(tree.parent)), tree.parent, invert=True)
    return np.outer(lowest, capacity).astype(np.int64)


def by_deficit(rows: np.ndarray, used: np.ndarray, share: np.ndarray, capacity: np.ndarray) -> np.ndarray:
    """These rows by the part of their share that they hold, the lowest first, as ``service_order`` has it."""
    return rows[np.argsort(held_part(used[rows], share[rows], capacity), kind="stable")]


@pytest.mark.parametrize("case", cases("fair_share"))
def test_fair_share(case: Case):
    pools, capacity = case["input"]["pools"], np.array([case["input"]["total"]])
    tree = flat([p["weight"] for p in pools], 1)
    tree.guaranteed[1:, 0] = [p["min"] for p in pools]
    tree.maximum[1:, 0] = [UNBOUNDED if p["max"] is None else p["max"] for p in pools]
    demand = wanting_all(tree, capacity)
    share = fair_shares(tree, capacity, np.zeros_like(demand), demand, False)
    assert whole(share[1:, 0]).tolist() == case["expected"]["shares"]


def breaks_ties_by_history(case: Case) -> str:
    if "allocations" not in case["input"]:
        return ""
    return (
        "Mesos puts the client with fewer allocations so far first among equals. Ours keeps their order: how a share "
        "is cut into containers is no reason to serve it later, and no snapshot counts past allocations"
    )


@pytest.mark.parametrize("case", cases("drf_order", breaks_ties_by_history))
def test_drf_order(case: Case):
    given, expected = case["input"], case["expected"]
    capacity = np.array(list(given["total"].values()))
    held = given.get("allocated") or {name: np.sum(a, axis=0) for name, a in given["allocations"].items()}
    names = sorted(held)
    tree = flat([given.get("weights", {}).get(name, 1.0) for name in names], len(capacity))
    used = np.array([np.zeros(len(capacity)), *(held[name] for name in names)]).astype(np.int64)
    share = fair_shares(tree, capacity, used, np.maximum(used, wanting_all(tree, capacity)), False)
    order = by_deficit(np.arange(1, len(used)), used, share, capacity)
    weighted = dominant_shares(used, capacity) / tree.weight
    for name, value in expected.get("shares", {}).items():
        assert weighted[1 + names.index(name)] == pytest.approx(value)
    assert [names[i - 1] for i in order] == expected["order"]


@pytest.mark.parametrize("case", cases("dominant_share"))
def test_dominant_share(case: Case):
    """Kueue: what is borrowed beyond the nominal quota, as a part of all that can be lent, over the weight."""
    given, expected = dict(case["input"]), case["expected"]
    if "root" in given:  # cohort and queue hang one below the other, otherwise lender and queue below one cohort
        rows = {"root": {"nominal": given["root"]}, "child_cohort": given["child_cohort"], "cq": given["cq"]}
        parent = [-1, 0, 1]
    else:
        lender = {k: v for k, v in given["lender"].items() if k != "weight"}
        rows = {"root": {}, "lender": {"nominal": lender, "weight": given["lender"]["weight"]}, "cq": given["cq"]}
        parent = [-1, 0, 0]
    axis = sorted({r for row in rows.values() for r in row.get("nominal", {})})
    nominal, usage = (
        np.array([[row.get(what, {}).get(r, 0) for r in axis] for row in rows.values()], np.int64)
        for what in ("nominal", "usage")
    )
    for c in (2, 1):
        nominal[parent[c]] += nominal[c]
        usage[parent[c]] += usage[c]
    borrowed = np.maximum(usage - nominal, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        weight = np.array([row.get("weight", 1) for row in rows.values()])
        permille = np.nan_to_num(dominant_shares(borrowed, nominal[0]) * 1000 / weight, posinf=np.inf)
    for name, key in (("cq", "share_permille"), *((n, f"{n}_share_permille") for n in rows)):
        if key in expected:
            most = np.inf if expected[key] == "MaxInt" else expected[key]
            assert permille[list(rows).index(name)] == pytest.approx(most), name
    if "resource" in expected:
        alone = [dominant_shares(borrowed[:, [i]], nominal[0, [i]])[2] for i in range(len(axis))]
        assert (axis[int(np.argmax(alone))] if max(alone) else "") == expected["resource"]


def counts_an_empty_guarantee_as_full(case: Case) -> str:
    guaranteed = case["input"]["guaranteed"]
    if not any(not most and case["input"]["allocated"].get(r) for r, most in guaranteed.items()):
        return ""
    return (
        "YuniKorn calls a queue full that uses anything of a resource guaranteed to it as 0. Ours is measured against "
        "what it may have: being guaranteed nothing says that nothing is owed first, not that all is used up"
    )


@pytest.mark.parametrize("case", cases("fair_ratio", counts_an_empty_guarantee_as_full))
def test_fair_ratio(case: Case):
    allocated, guaranteed, most = (case["input"][k] for k in ("allocated", "guaranteed", "fairmax"))
    axis = sorted(allocated)
    due = np.array([guaranteed.get(r, most[r]) for r in axis], np.int64)
    ratio = dominant_shares(np.array([[allocated[r] for r in axis]], np.int64), due)
    assert ratio[0] == pytest.approx(case["expected"]["share"])


@pytest.mark.parametrize("case", cases("queue_order"))
def test_queue_order(case: Case):
    """All want more than there is: guarantees are the shares. Equals stay in the order in which they are given."""
    given, expected = case["input"]["queues"], case["expected"]
    queues = list(given.values())
    guaranteed = np.array([[0], *([q["guaranteed"]] for q in queues)])
    used = np.array([[0], *([q["allocated"]] for q in queues)])
    capacity = guaranteed.sum(axis=0)
    tree = flat([1.0] * len(queues), 1)._replace(guaranteed=guaranteed)
    share = fair_shares(tree, capacity, used, wanting_all(tree, capacity), False)
    ratios = dict(zip(given, held_part(used[1:], share[1:], capacity), strict=True))
    assert ratios == pytest.approx(expected["ratios"], abs=1e-3)
    priority = np.array([0, *(q["priority"] for q in queues)])
    rows = 1 + np.argsort(-priority[1:], kind="stable")

    def names(order: np.ndarray) -> list[str]:
        return [list(given)[i - 1] for i in order]

    levels = [by_deficit(rows[priority[rows] == p], used, share, capacity) for p in sorted(set(priority[rows]))[::-1]]
    assert names(rows) == expected["order_fifo_priority"]
    assert names(by_deficit(rows, used, share, capacity)) == expected["order_fair"]
    assert names(np.concatenate(levels)) == expected["order_priority_then_fair"]


@pytest.mark.parametrize("case", cases("hdrf"))
def test_hdrf(case: Case):
    given = case["input"]
    axis = ["cpu", "mem", "pods"]
    paths = ["root", *given["tree"]]
    capacity = np.array([given["node"].get(r, given["node"].get(f"{r}_gb")) for r in axis])
    tree = ShareTree(
        np.array([paths.index(p.rpartition("/")[0]) if "/" in p else -1 for p in paths], np.int32),
        np.zeros((len(paths), 3), np.int64),
        np.full((len(paths), 3), UNBOUNDED, np.int64),
        np.array([float(given["tree"].get(p, 1)) for p in paths]),
    )
    demand = np.zeros((len(paths), 3), np.int64)
    leaves = {name: paths.index(f"root/{name}") for name in given["demand"]}
    one = {name: np.array([want["cpu"], want["mem"], 1]) for name, want in given["demand"].items()}
    for name, row in leaves.items():
        demand[row] = one[name] * given["demand"][name]["pods"]
    share = whole(fair_shares(tree, capacity, np.zeros_like(demand), demand, False))
    fit = {name: int((share[row][one[name] > 0] // one[name][one[name] > 0]).min()) for name, row in leaves.items()}
    assert fit == case["expected"]["pods"]


class Offers:
    """Agents given whole to the framework that is furthest below its share."""

    def __init__(self) -> None:
        self.agents: dict[str, np.ndarray] = {}
        self.parent, self.names, self.goes_to = [-1], ["root"], {}

    def row(self, name: str, parent: int) -> int:
        if name not in self.names:
            self.names.append(name)
            self.parent.append(parent)
        return self.names.index(name)

    def offer(self) -> None:
        """Give away what is free."""
        e = len(self.names)
        capacity = sum(self.agents.values(), start=np.zeros(2, np.int64))
        limits = np.zeros((e, 2), np.int64)
        tree = ShareTree(np.array(self.parent, np.int32), limits, limits + UNBOUNDED, np.ones(e))
        demand = wanting_all(tree, capacity)
        frameworks = np.flatnonzero(demand.any(axis=1) & (tree.parent >= 0))
        for agent in [a for a in self.agents if a not in self.goes_to and len(frameworks)]:
            used = np.zeros((e, 2), np.int64)
            for given, name in self.goes_to.items():
                used[self.names.index(name)] += self.agents[given]
            share = fair_shares(tree, capacity, used, demand, True)
            self.goes_to[agent] = self.names[by_deficit(frameworks, used, share, capacity)[0]]


@pytest.mark.parametrize("case", cases("drf_online"))
def test_drf_online(case: Case):
    offers = Offers()
    for step in case["input"]["steps"]:
        if agent := step.get("add_agent"):
            offers.agents[str(agent["id"])] = np.array([agent["cpus"], agent["mem"]])
        else:
            name, role = step["add_framework"]
            offers.row(name, offers.row(role, 0))
        offers.offer()
    assert offers.goes_to == case["expected"]["agent_goes_to"]
