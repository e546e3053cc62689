"""Which containers go: the first in order that, together with what is free beside them, make room for an owed ask.

Candidates are taken up in order (lowest priority first, then the newest) and
gathered node by node. As soon as a node's gathered candidates make an ask fit
there, those that it does not need are let go again, the most valuable first;
the rest are chosen. Nothing is chosen on a node where nothing comes to fit.

Cost: for each group of like claims up to ``TURNS`` looks at n nodes and c candidates, and a step for each container
that goes.
"""

from scheduler.core.compiled import arrayless, inlined
from scheduler.preemption.balances import (
    add_amounts,
    anybody_owes,
    bound_reached,
    claim_fits,
    entitlement,
    gang_is_owed,
    may_be_taken,
    over_bound,
    settle_claim,
    settle_container,
)
from scheduler.preemption.tables import (
    AT_END_OF_GANG,
    AT_ONCE,
    BOUND_APPLIES,
    BOUND_FROM,
    DUE,
    ENTITLED,
    ENTITLEMENT,
    EXCEPTION,
    EXCEPTION_FAILED,
    GIVE,
    LOG_SIZE,
    NONE_WARNED,
    PREEMPTABLE,
    RESTART,
    TAKE,
    VICTIM,
    Balances,
    PreemptionCandidates,
    PreemptionClaims,
)
from wire.resources import MEMORY

ONLY_WARNED, EVERYBODY, WAYS = 0, 1, 2  # which candidates a turn looks at
TURNS = 2 * WAYS  # both, and both again for the claim after an exception that found nothing


@inlined
def _next_claim(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, end: int
) -> int:
    """The first claim from i on that wants something and may find it."""
    while i < end:
        candidates.flags[ENTITLEMENT] = entitlement(claims, balances, i)
        if candidates.flags[ENTITLEMENT] == ENTITLED or (
            candidates.flags[ENTITLEMENT] == EXCEPTION and candidates.flags[EXCEPTION_FAILED] == 0
        ):
            break
        i += 1
    return i


@inlined
def _clear_gathered(candidates: PreemptionCandidates, n: int) -> None:
    candidates.head[n] = -1
    for k in range(candidates.gathered.shape[1]):
        candidates.gathered[n, k] = 0


@inlined
def _add_gathered(candidates: PreemptionCandidates, n: int, x: int) -> None:
    candidates.next[x] = -1
    if candidates.head[n] < 0:
        candidates.head[n] = x
    else:
        candidates.next[candidates.tail[n]] = x
    candidates.tail[n] = x
    add_amounts(candidates.gathered, n, candidates.shape, x, TAKE)


@inlined
def _take_gathered(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, n: int
) -> int:
    """Pay with the node's gathered candidates as long as their owners are in debt; how many, in ``taken_now``."""
    m, x = 0, candidates.head[n]
    candidates.total[0] = 0
    least = 1 if candidates.flags[ENTITLEMENT] == EXCEPTION else 0
    while x >= 0:
        if may_be_taken(
            balances, candidates.payer[x], claims.balance[i], claims.shape, i, candidates.shape, x, least
        ) and not over_bound(candidates, x):
            candidates.taken_now[m] = x
            m += 1
            add_amounts(candidates.total, 0, candidates.shape, x, TAKE)
            settle_container(candidates.taken, balances, candidates.payer[x], candidates.shape, x, TAKE)
        x = candidates.next[x]
    return m


@inlined
def _keep_needed(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, n: int, m: int
) -> None:
    """Choose what is needed of the first m of ``taken_now``; the most valuable are let go first."""
    for j in range(m - 1, -1, -1):
        x = candidates.taken_now[j]
        add_amounts(candidates.total, 0, candidates.shape, x, GIVE)
        if claim_fits(candidates.room, n, candidates.total, 0, claims.shape, i, claims.swap[i]):
            settle_container(candidates.taken, balances, candidates.payer[x], candidates.shape, x, GIVE)
        else:
            add_amounts(candidates.total, 0, candidates.shape, x, TAKE)
            candidates.state[x] = VICTIM


@inlined
def _assign_victims(candidates: PreemptionCandidates, claims: PreemptionClaims, i: int, n: int) -> None:
    """Enter what was chosen on node n; the rest stays gathered."""
    x = candidates.head[n]
    _clear_gathered(candidates, n)
    while x >= 0:
        following = candidates.next[x]
        if candidates.state[x] != VICTIM:
            _add_gathered(candidates, n, x)
        else:
            candidates.claim[x] = i
            if claims.gang[i]:
                _append_log(candidates, x)
        x = following


@inlined
def _give_back_gathered(candidates: PreemptionCandidates, balances: Balances, n: int, m: int) -> None:
    """Give back the first m of ``taken_now``; they stay gathered, those whose owners are not in debt do not."""
    _clear_gathered(candidates, n)
    for j in range(m):
        x = candidates.taken_now[j]
        settle_container(candidates.taken, balances, candidates.payer[x], candidates.shape, x, GIVE)
        _add_gathered(candidates, n, x)


@inlined
def _append_log(candidates: PreemptionCandidates, entry: int) -> None:
    """Remember what was done for a gang: container ``entry`` taken, or one placed on node -1 - ``entry``."""
    candidates.log[candidates.flags[LOG_SIZE]] = entry
    candidates.flags[LOG_SIZE] += 1


@inlined
def _make_room(candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, n: int) -> bool:
    """Make room on node n for one container of claim i; False when that cannot be done after all."""
    m = _take_gathered(candidates, claims, balances, i, n)
    if not claim_fits(candidates.room, n, candidates.total, 0, claims.shape, i, claims.swap[i]):
        _give_back_gathered(candidates, balances, n, m)
        return False
    _keep_needed(candidates, claims, balances, i, n, m)
    _assign_victims(candidates, claims, i, n)
    add_amounts(candidates.room, n, candidates.total, 0, TAKE)
    settle_claim(candidates, claims, balances, i, n, TAKE)
    if claims.gang[i]:
        _append_log(candidates, -1 - n)
    if candidates.flags[BOUND_FROM] == AT_ONCE:
        candidates.flags[BOUND_APPLIES] = 1
    else:
        candidates.flags[BOUND_FROM] = DUE
    return True


@inlined
def _reserved_for_another(claims: PreemptionClaims, i: int, n: int) -> bool:
    """Whether node n is reserved, and not for the ask of claim i."""
    return bool(claims.reserved_for[n] >= 0 and claims.reserved_for[n] != claims.ask[i])


@inlined
def _serve_from_free(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, end: int
) -> int:
    """Serve claims from what is free or comes free by itself; the first that is still in want."""
    if claims.swap[i]:
        return i
    candidates.total[0] = 0
    mask, memory = claims.mask[i], claims.shape[i, MEMORY]  # the same for all of the group
    for n in range(len(candidates.room)):
        if (memory > 0 and candidates.room[n, MEMORY] < memory) or not claims.nodes[mask, n]:
            continue
        if _reserved_for_another(claims, i, n):
            continue
        while claim_fits(candidates.room, n, candidates.total, 0, claims.shape, i, claims.swap[i]):
            settle_claim(candidates, claims, balances, i, n, TAKE)
            if claims.gang[i]:
                _append_log(candidates, -1 - n)
            i = _next_claim(candidates, claims, balances, i, end)
            if i >= end:
                return i
    return i


@inlined
def _serve_from_candidates(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, end: int, g: int, whom: int
) -> int:
    """Serve claims of group g from its candidates (whom: all, or those already warned); the first still in want."""
    if claims.balance[i] >= 0 and not anybody_owes(balances.debt, claims.shape, i):
        return i
    mask, below, swap = claims.mask[i], claims.below_priority[i], claims.swap[i]  # the same for all of the group
    for x in range(claims.first[g], claims.last[g]):
        n = candidates.node[x]
        if candidates.state[x] != PREEMPTABLE or candidates.priority[x] >= below or not claims.nodes[mask, n]:
            continue
        if (whom == ONLY_WARNED and not candidates.warned[x]) or _reserved_for_another(claims, i, n):
            continue
        least = 1 if candidates.flags[ENTITLEMENT] == EXCEPTION else 0
        payer, row = candidates.payer[x], claims.balance[i]
        if not may_be_taken(balances, payer, row, claims.shape, i, candidates.shape, x, least):
            continue
        if over_bound(candidates, x):
            continue
        _add_gathered(candidates, n, x)
        while claim_fits(candidates.room, n, candidates.gathered, n, claims.shape, i, swap) and _make_room(
            candidates, claims, balances, i, n
        ):
            before = candidates.flags[ENTITLEMENT]
            i = _next_claim(candidates, claims, balances, i, end)
            if before == EXCEPTION and candidates.flags[ENTITLEMENT] == ENTITLED:
                candidates.flags[RESTART] = 1
            if i >= end or candidates.flags[RESTART] == 1:
                break
        if i >= end or candidates.flags[RESTART] == 1:
            break
    for x in range(claims.first[g], claims.last[g]):
        if candidates.head[candidates.node[x]] >= 0:
            _clear_gathered(candidates, candidates.node[x])
    return i


@inlined
def _undo_gang(candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int) -> None:
    """Take back all that was done for gang i."""
    while candidates.flags[LOG_SIZE] > 0:
        candidates.flags[LOG_SIZE] -= 1
        entry = candidates.log[candidates.flags[LOG_SIZE]]
        if entry < 0:
            settle_claim(candidates, claims, balances, i, -1 - entry, GIVE)
            continue
        candidates.state[entry] = PREEMPTABLE
        candidates.claim[entry] = -1
        add_amounts(candidates.room, candidates.node[entry], candidates.shape, entry, GIVE)
        settle_container(candidates.taken, balances, candidates.payer[entry], candidates.shape, entry, GIVE)


@inlined
def _next_exception(
    candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances, i: int, end: int
) -> int:
    """The next claim that may have better luck than claim i.

    All claims of a group meet the same candidates: those of a row that wants
    something owe nothing of that. Only in an exception are those of rows that would starve passed over.
    """
    if candidates.flags[ENTITLEMENT] != EXCEPTION:
        return end
    candidates.flags[EXCEPTION_FAILED] = 1
    return _next_claim(candidates, claims, balances, i + 1, end)


@arrayless
def choose_victims(candidates: PreemptionCandidates, claims: PreemptionClaims, balances: Balances) -> None:
    """Serve the groups of claims in turn; the outcome is in ``state``, ``claim``, ``units`` and ``room``."""
    for g in range(len(claims.groups) - 1):
        begin = claims.groups[g]
        gang, row = claims.gang[begin], claims.balance[begin]
        if bound_reached(candidates) or (gang and not gang_is_owed(claims, balances, begin)):
            continue
        starving = row >= 0 and balances.starving[row]
        candidates.flags[LOG_SIZE] = 0
        candidates.flags[EXCEPTION_FAILED] = 0
        candidates.flags[BOUND_FROM] = AT_END_OF_GANG if gang and candidates.flags[BOUND_APPLIES] == 0 else AT_ONCE
        end = claims.groups[g + 1]
        i = _next_claim(candidates, claims, balances, begin, end)
        for turn in range(TURNS):
            whom = turn % WAYS
            if i < end and whom == ONLY_WARNED:
                i = _serve_from_free(candidates, claims, balances, i, end)
            candidates.flags[RESTART] = 1
            anybody = whom == EVERYBODY or candidates.flags[NONE_WARNED] == 0
            while i < end and anybody and candidates.flags[RESTART] == 1:
                candidates.flags[RESTART] = 0
                i = _serve_from_candidates(candidates, claims, balances, i, end, g, whom)
                if i < end and candidates.flags[RESTART] == 1:  # what the exception left over is free
                    i = _serve_from_free(candidates, claims, balances, i, end)
            if i < end and turn == EVERYBODY:
                i = _next_exception(candidates, claims, balances, i, end)
        if gang and claims.units[begin] > 0:
            _undo_gang(candidates, claims, balances, begin)
            if row >= 0:
                balances.starving[row] = starving
        elif candidates.flags[BOUND_FROM] == DUE:
            candidates.flags[BOUND_APPLIES] = 1
