"""Nodes that fail and come back, drawn from a seed: alike for every policy that is compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simulator.workload import Machine


class Failure(NamedTuple):
    """node: position among the sub-cluster's machines. at_s, back_s: when it fails, and when it is there again."""

    sub_cluster: str
    node: int
    at_s: float
    back_s: float


@dataclass(frozen=True, slots=True)
class Churn:
    """How often each node fails and how long it is gone, s on average; both are exponentially distributed."""

    between_s: float
    gone_s: float

    def drawn(self, machines: Mapping[str, Sequence[Machine]], until_s: float, seed: int) -> Iterator[Failure]:
        """All failures before ``until_s``, node by node; a node's do not overlap."""
        random = np.random.default_rng(seed)
        for name, each in machines.items():
            for node in range(len(each)):
                at_s = random.exponential(self.between_s)
                while at_s < until_s:
                    back_s = at_s + random.exponential(self.gone_s)
                    yield Failure(name, node, at_s, back_s)
                    at_s = back_s + random.exponential(self.between_s)
