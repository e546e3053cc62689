"""Random federations, seeded: the setups on which policies of share determination are compared (paper, section 4.2).

A setup has tens of sub-clusters of different sizes and mixes, a hierarchy of
queues with 5 to 12 levels, guarantees and weights as uneven as those of
organisations, maxima on some queues, and demand that is skewed twice: few
queues want most, and most want it where their data are.
"""

from dataclasses import dataclass

import numpy as np

from scheduler.shares.tree import ShareTree

NO_LIMIT = np.int64(1) << 50
NODE_KINDS = np.array([[65_536, 16_000], [131_072, 32_000], [131_072, 64_000], [262_144, 64_000]])
BUNDLE_KINDS = np.array([[2048, 1000], [4096, 1000], [8192, 1000], [8192, 2000], [3072, 2000]])


@dataclass(frozen=True)
class SetupParameters:
    """What is drawn. Counts, levels, and parts of one."""

    sub_clusters: int = 20
    leaves: int = 200
    levels: tuple[int, int] = (5, 12)  # of queues above one another at a leaf, the root counted
    nodes: tuple[int, int] = (2000, 3000)  # per sub-cluster
    load: float = 1.2  # all demand, over all capacity
    places: float = 4.0  # sub-clusters in which a leaf has demand, on average
    skew: float = 0.3  # 0: every sub-cluster is as popular as it is large
    idle: float = 0.2  # part of the leaves without demand
    capped: float = 0.1  # part of the queues with a maximum, of 1 to 4 times what they are guaranteed


@dataclass(frozen=True)
class RandomSetup:
    """q queues, parents before children; s sub-clusters; r = 2: memory_mib, vcores_milli.

    leaves: (l,) rows of the tree. capacity: (s, r) int64. demand: (q, s, r)
    int64, what leaves hold and want beyond, 0 above.
    """

    tree: ShareTree
    leaves: np.ndarray
    capacity: np.ndarray
    demand: np.ndarray


def generate(seed: int, shape: SetupParameters) -> RandomSetup:
    """The setup of this seed and shape: always the same."""
    rng = np.random.default_rng(seed)
    counts = rng.integers(shape.nodes[0], shape.nodes[1] + 1, shape.sub_clusters)
    mixes = rng.dirichlet(np.ones(len(NODE_KINDS)), shape.sub_clusters)
    capacity = np.round(counts[:, None] * (mixes @ NODE_KINDS)).astype(np.int64)
    parent, leaves = hierarchy(rng, shape.leaves, shape.levels)
    tree = entitled(rng, parent, capacity.sum(axis=0), shape.capped)
    demand = np.zeros((len(parent), *capacity.shape), np.int64)
    demand[leaves] = wanted(rng, tree.guaranteed[leaves], capacity, shape)
    return RandomSetup(tree, leaves, capacity, demand)


def hierarchy(rng: np.random.Generator, leaves: int, levels: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """(parent: (q,) int32, -1 at the root; rows of the leaves), every leaf between ``levels`` deep.

    Queues divide their leaves unevenly among two to eight children, or among
    all of them at the deepest level.
    """
    parent, found = [-1], []
    open_rows = [(0, leaves, 1)]  # row, leaves below it, its level
    for row, below, level in open_rows:
        if below == 1 and level >= levels[0]:
            found.append(row)
            continue
        kids = below if level == levels[1] - 1 else min(below, int(rng.integers(2, 9)))
        spare = rng.multinomial(below - kids, rng.dirichlet(np.full(kids, 0.7)))
        for part in (1 + spare).tolist():
            parent.append(row)
            open_rows.append((len(parent) - 1, part, level + 1))
    return np.array(parent, np.int32), np.array(found)


def entitled(rng: np.random.Generator, parent: np.ndarray, total: np.ndarray, capped: float) -> ShareTree:
    """Guarantees that divide ``total`` down the tree, weights by them, maxima on a part ``capped`` of the queues."""
    q = len(parent)
    part = rng.lognormal(0.0, 0.8, q)
    siblings = np.zeros(q)
    np.add.at(siblings, parent[1:], part[1:])
    entitlement, maximum = np.ones(q), np.full((q, len(total)), NO_LIMIT)
    times = np.where(rng.random(q) < capped, rng.uniform(1.0, 4.0, q), np.inf)
    for c in range(1, q):
        above = parent[c]
        entitlement[c] = entitlement[above] * part[c] / siblings[above]
        if times[c] * entitlement[c] < 1:
            maximum[c] = np.minimum(maximum[above], np.ceil(times[c] * entitlement[c] * total))
        else:
            maximum[c] = maximum[above]
    guaranteed = np.floor(entitlement[:, None] * total * (1 - 1e-9)).astype(np.int64)
    return ShareTree(parent, guaranteed, np.maximum(maximum, guaranteed), entitlement)


def wanted(
    rng: np.random.Generator, guaranteed: np.ndarray, capacity: np.ndarray, shape: SetupParameters
) -> np.ndarray:
    """Demand of leaves with these guarantees: (l, s, r) int64."""
    count, s = len(guaranteed), len(capacity)
    size = guaranteed[:, 0] * rng.lognormal(0.0, 1.0, count) * (rng.random(count) >= shape.idle)
    bundle = BUNDLE_KINDS[rng.integers(0, len(BUNDLE_KINDS), count)]
    amount = size[:, None] * bundle / bundle[:, :1]
    popular = capacity[:, 0] / capacity[:, 0].mean() * rng.lognormal(0.0, shape.skew, s)
    where = rng.dirichlet(np.ones(s), count) * popular
    chosen = rng.random((count, s)) < min(1.0, shape.places / s)
    chosen[np.arange(count), rng.choice(s, count, p=popular / popular.sum())] = True
    where *= chosen
    where /= where.sum(axis=1, keepdims=True)
    amount *= shape.load * (capacity.sum(axis=0) / np.maximum(amount.sum(axis=0), 1.0)).mean()
    found: np.ndarray = np.round(where[:, :, None] * amount[:, None, :]).astype(np.int64)
    return found
