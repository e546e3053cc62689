"""What claims are owed and payers owe, what the round may still take, and how both change as containers go.

A claim is served from the balance of its queue or user; a container is taken from its payer's. The bound of a
round holds once anything was taken: a single claim may need more.
"""

import numpy as np

from scheduler.core.compiled import inlined
from scheduler.preemption.tables import (
    BOUND_APPLIES,
    BOUND_REFUSED,
    ENTITLED,
    EXCEPTION,
    NOTHING,
    ROUNDING,
    Balances,
    PreemptionCandidates,
    PreemptionClaims,
)


@inlined
def entitlement(claims: PreemptionClaims, balances: Balances, i: int) -> int:
    """Whether claim i may have one more container (ENTITLED), if only because its row is starving (EXCEPTION)."""
    if claims.units[i] <= 0:
        return NOTHING
    row, answer = claims.balance[i], ENTITLED
    if row >= 0:
        for k in range(claims.shape.shape[1]):
            if claims.shape[i, k] > 0 and balances.owed[row, k] + ROUNDING < claims.shape[i, k]:
                if not balances.starving[row] or balances.owed[row, k] <= ROUNDING:
                    return NOTHING
                answer = EXCEPTION
    return answer


@inlined
def _owes_any_of(debt: np.ndarray, p: int, asked: np.ndarray, i: int, shape: np.ndarray, x: int) -> bool:
    """Whether payer p owes something that claim i asks for and container x has."""
    owes = False
    for k in range(debt.shape[1]):
        owes = owes or (debt[p, k] > ROUNDING and asked[i, k] > 0 and shape[x, k] > 0)
    return owes


@inlined
def over_bound(candidates: PreemptionCandidates, x: int) -> bool:
    """Whether candidate x has to stay: it is more than the round may still take, or a master after such a one."""
    if candidates.flags[BOUND_APPLIES] == 0:
        return False
    if candidates.master[x] and candidates.flags[BOUND_REFUSED] == 1:
        return True
    over = False
    for k in range(len(candidates.bound)):
        over = over or candidates.taken[0, k] + candidates.shape[x, k] > candidates.bound[k]
    if over and not candidates.master[x]:
        candidates.flags[BOUND_REFUSED] = 1
    return over


@inlined
def anybody_owes(debt: np.ndarray, asked: np.ndarray, i: int) -> bool:
    """Whether anybody owes something that claim i asks for."""
    for p in range(len(debt)):
        for k in range(debt.shape[1]):
            if debt[p, k] > ROUNDING and asked[i, k] > 0:
                return True
    return False


@inlined
def may_be_taken(
    balances: Balances, p: int, row: int, asked: np.ndarray, i: int, shape: np.ndarray, x: int, least: int
) -> bool:
    """Whether container x of payer p may be taken for claim i of ``row``: p is in debt, and keeps ``least`` others."""
    if row < 0:
        return True
    return p >= 0 and p != row and balances.containers[p] > least and _owes_any_of(balances.debt, p, asked, i, shape, x)


@inlined
def claim_fits(room: np.ndarray, n: int, given: np.ndarray, of: int, asked: np.ndarray, i: int, swap: bool) -> bool:
    """Whether claim i fits into ``room[n]`` with ``given[of]`` added."""
    enough = True
    for k in range(room.shape[1]):
        enough = enough and (asked[i, k] == 0 or room[n, k] + given[of, k] >= asked[i, k])
        enough = enough and not (swap and given[of, k] < asked[i, k])
    return enough


@inlined
def add_amounts(to: np.ndarray, row: int, amount: np.ndarray, of: int, sign: int) -> None:
    """Add one row of (?, r) amounts to another. A loop, as it compiles ten times faster than an expression."""
    for k in range(to.shape[1]):
        to[row, k] += sign * amount[of, k]


@inlined
def settle_container(taken: np.ndarray, balances: Balances, p: int, shape: np.ndarray, x: int, sign: int) -> None:
    """Container x of payer p is taken (TAKE), or given back (GIVE)."""
    for k in range(shape.shape[1]):
        taken[0, k] += sign * shape[x, k]
        if p >= 0:
            balances.debt[p, k] -= sign * shape[x, k]
    if p >= 0:
        balances.containers[p] -= sign


@inlined
def settle_claim(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, n: int, sign: int
) -> None:
    """Claim i gets one container on node n (TAKE), or gives it back (GIVE)."""
    add_amounts(candidates.room, n, claims.shape, i, -sign)
    claims.units[i] -= sign
    row = claims.balance[i]
    if row >= 0:
        balances.starving[row] = False
        for k in range(claims.shape.shape[1]):
            balances.owed[row, k] -= sign * claims.shape[i, k]


@inlined
def gang_is_owed(claims: PreemptionClaims, balances: Balances, i: int) -> bool:
    """Whether a gang is owed in full."""
    row, whole = claims.balance[i], True
    if row >= 0:
        for k in range(claims.shape.shape[1]):
            whole = whole and balances.owed[row, k] + ROUNDING >= claims.units[i] * claims.shape[i, k]
    return whole


@inlined
def bound_reached(candidates: PreemptionCandidates) -> bool:
    """Whether no candidate is small enough for what the round may still take."""
    full = False
    for k in range(candidates.taken.shape[1]):
        full = full or candidates.taken[0, k] + candidates.smallest[k] > candidates.bound[k]
    return full and candidates.flags[BOUND_APPLIES] == 1
