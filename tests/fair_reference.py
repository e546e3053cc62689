"""Fair shares in exact fractions, one event after the other: slow, and easy to see right."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from scheduler.shares.tree import ShareTree

Amounts = list[Fraction]


@dataclass
class Claim:
    """What one child of a node may get: ``rises`` are the resources in which it may still take more."""

    want: Amounts
    base: Amounts
    dominant: Fraction
    weight: Fraction
    rises: bool = True
    level: Fraction = field(default_factory=Fraction)

    def at(self, resource: int) -> Fraction:
        """What it takes of a resource at its level."""
        part = min(Fraction(1), self.level * self.weight / self.dominant) if self.dominant else Fraction(1)
        return max(self.base[resource], self.want[resource] * part)

    def start(self, resource: int) -> Fraction:
        """The level at which it begins to take more than its base."""
        return self.base[resource] / self.want[resource] * self.end

    @property
    def end(self) -> Fraction:
        return self.dominant / self.weight


def fill(claims: list[Claim], budget: Amounts, resources: list[int]) -> None:
    """Raise all claims together, event by event, each until it would need more of an exhausted resource."""
    x = Fraction(0)
    while True:
        for c in claims:
            if c.rises:
                c.level = x
        left = {i: budget[i] - sum(c.at(i) for c in claims) for i in resources}
        for c in claims:
            blocked = any(left[i] <= 0 and c.want[i] and x >= c.start(i) for i in resources)
            c.rises = c.rises and x < c.end and not blocked
        if not any(c.rises for c in claims):
            return
        events = [b for c in claims if c.rises for b in [c.end, *(c.start(i) for i in resources if c.want[i])] if b > x]
        for i in resources:
            speed = sum(
                (c.want[i] / c.end for c in claims if c.rises and c.want[i] and x >= c.start(i)), start=Fraction(0)
            )
            if speed:
                events.append(x + left[i] / speed)
        x = min(events)


def guarantees(want: Amounts, guaranteed: Amounts, held: Amounts, budget: Fraction) -> Amounts:
    """Each one's first claim on one resource: all guarantees are met to the same fraction, never less than is held."""
    claims = [
        Claim([min(w, g)], [h], min(w, g), g)  # at level y it takes max(h, min(w, g * y)): y = 1 is the whole guarantee
        for w, g, h in zip(want, guaranteed, held, strict=True)
        if g
    ]
    without = [h for g, h in zip(guaranteed, held, strict=True) if not g]
    fill(claims, [budget - sum(without)], [0])
    met = iter(claims)
    return [next(met).at(0) if g else h for g, h in zip(guaranteed, held, strict=True)]


def divide(budget: Amounts, claims: list[Claim]) -> list[Amounts]:
    every = list(range(len(budget)))
    fill(claims, budget, every)
    got = [[c.at(i) for i in every] for c in claims]
    for i in every:
        again = [Claim([c.want[i]], [g[i]], c.dominant, c.weight) for c, g in zip(claims, got, strict=True)]
        fill(again, [budget[i]], [0])
        for g, c in zip(got, again, strict=True):
            g[i] = c.at(0)
    return got


def reference(
    tree: ShareTree, capacity: np.ndarray, used: np.ndarray, demand: np.ndarray, floor: bool
) -> list[Amounts]:
    """``fair_shares``, exactly."""
    e, r = demand.shape
    every = range(r)
    held = [[Fraction(int(x) if floor else 0) for x in row] for row in used]
    want = [[Fraction(int(x) if capacity[i] > 0 else 0) for i, x in enumerate(row)] for row in demand]
    for c in reversed(range(e)):
        want[c] = [max(min(want[c][i], Fraction(int(tree.maximum[c, i]))), held[c][i]) for i in every]
        if (p := tree.parent[c]) >= 0:
            want[p] = [want[p][i] + want[c][i] for i in every]
            held[p] = [held[p][i] + held[c][i] for i in every]
    share = [[Fraction(0)] * r for _ in range(e)]
    for node in range(-1, e):
        kids = [c for c in range(e) if tree.parent[c] == node and any(want[c])]
        budget = share[node] if node >= 0 else [Fraction(int(x)) for x in capacity]
        base = [
            guarantees([want[c][i] for c in kids], [Fraction(int(tree.guaranteed[c, i])) for c in kids],
                       [held[c][i] for c in kids], budget[i])
            for i in every
        ]  # fmt: skip
        claims = [
            Claim(want[c], [base[i][k] for i in every],
                  max((want[c][i] / int(capacity[i]) for i in every if capacity[i] > 0), default=Fraction(0)),
                  Fraction(float(tree.weight[c])))
            for k, c in enumerate(kids)
        ]  # fmt: skip
        for c, amounts in zip(kids, divide(budget, claims), strict=True):
            share[c] = amounts
    return share
