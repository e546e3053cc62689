"""Which users a comparison tells one by one: those with the most work and those whose waits change most.

All others are one user more, ``OTHERS``, with the jobs and the work of all of them: nothing is missing from a sum.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from simulator.figures import share_of_users, waits
from simulator.measures import Run

USERS_MOST = 100
OTHERS = "(others)"


@dataclass(frozen=True, slots=True)
class _Columns:
    """Of every user: (u,) each. wait_s: by policy, the mean over all jobs of all seeds, NaN without any."""

    share: np.ndarray
    jobs: np.ndarray
    wait_s: list[np.ndarray]


def few(runs: Sequence[Run]) -> tuple[list[Run], list[str], int]:
    """The same runs with ``USERS_MOST`` users and ``OTHERS`` at most; who these are, the first before all others; and
    how many there are in truth.
    """
    names = sorted({name for run in runs for name in run.users})
    order = _order(runs, names)
    if len(names) <= USERS_MOST:
        return list(runs), order, len(names)
    told = [name for name in order[:USERS_MOST] if name != OTHERS]
    return [_summed(run, told) for run in runs], [*told, OTHERS], len(names)


def _order(runs: Sequence[Run], names: list[str]) -> list[str]:
    """By the better of two ranks: what they held, and how far their mean wait moves from first policy to last."""
    found = _columns(runs, names)
    moved = np.nan_to_num(np.abs(found.wait_s[-1] - found.wait_s[0])) if found.wait_s else np.zeros(len(names))
    every = range(len(names))
    by_work = sorted(every, key=lambda at: (-found.share[at], -found.jobs[at]))
    by_change = sorted((at for at in every if moved[at] > 0), key=lambda at: -moved[at])
    places = {at: (rank, 0) for rank, at in enumerate(by_work)}
    for rank, at in enumerate(by_change):
        places[at] = min(places[at], (rank, 1))
    return [names[at] for at in sorted(every, key=places.__getitem__)]


def _columns(runs: Sequence[Run], names: list[str]) -> _Columns:
    u, place = len(names), {name: at for at, name in enumerate(names)}
    share, jobs, waited = np.zeros(u), np.zeros(u), dict[str, np.ndarray]()
    for run in runs:
        own = np.array([place[name] for name in run.users], np.int64)
        share[own] += np.nan_to_num(share_of_users(run))
        user = own[run.jobs["user"]] if len(run.jobs) else own[:0]
        count = np.bincount(user, minlength=u)
        jobs += count
        sums = waited.setdefault(run.policy, np.zeros((2, u)))
        sums += np.stack([np.bincount(user, waits(run), u), count])
    with np.errstate(divide="ignore", invalid="ignore"):
        return _Columns(share, jobs, [sums[0] / sums[1] for sums in waited.values()])


def _summed(run: Run, told: list[str]) -> Run:
    place = {name: at for at, name in enumerate(told)}
    new = np.array([place.get(name, len(told)) for name in run.users], np.int64)
    jobs = run.jobs.copy()
    jobs["user"] = new[jobs["user"]] if len(new) else jobs["user"]
    held = np.zeros((len(told) + 1, run.held.shape[1]))
    if len(run.held):
        np.add.at(held, new, run.held)
    refused = run.refused.copy()
    refused[:, 1] = new[refused[:, 1]] if len(new) else refused[:, 1]
    held = held if len(run.held) else run.held
    return replace(run, users=[*told, OTHERS], jobs=jobs, held=held, refused=refused)
