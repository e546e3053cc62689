"""One ask's answer, as programs and people read it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scheduler.core.plan import Why
from scheduler.explain.amounts import duration_text
from scheduler.explain.change import Change, InAll, Relaxed, Situation, smallest_change
from scheduler.explain.columns import Explanation
from scheduler.explain.divided import WholeLimits
from scheduler.explain.estimate import estimate
from scheduler.explain.forecast import Forecast
from scheduler.explain.limits import Limit, binding, limit_entries, queue_path, situation_of, usable_nodes

_UNBOUNDED = np.int64(1) << 40


def _as_it_is() -> Sequence[tuple[str, np.ndarray]]:
    return ()


@dataclass(frozen=True, slots=True)
class AskContext:
    """What a snapshot does not say of an ask.

    labels: its expression. besides: what else its nodes must be, to end a
    sentence with. relaxed: advice, and the nodes (n,) bool it could use then.
    kind: the same for asks of one shape and the same nodes, as long as a
    ``Forecast`` is used. whole: how its limits divide; None where there is one sub-cluster.
    """

    labels: str = ""
    besides: str = ""
    relaxed: Relaxed = _as_it_is
    kind: Any = None
    whole: Callable[[], WholeLimits] | None = None


def describe(e: Explanation, row: int, about: AskContext, forecast: Forecast | None = None) -> dict[str, Any]:
    """The answer to why the ask of this row of ``e.columns`` waits. Times are seconds from ``e.now``.

    code, text: the first limit. waiting: containers. asked: of one. limits:
    all that bind, in order. position: in its queue. estimate: when it can
    start. change: the smallest that would start it.
    """
    s, ask = e.s, int(e.columns.ask[row])
    situation, found, change = _alike(e, row, ask, about)
    kind = about.kind or (id(e), int(s.asks.shape[ask]), int(s.asks.mask[ask]))
    return {
        "code": found[0]["limit"],
        "text": found[0]["text"],
        "waiting": int(e.outcome.left[ask]),
        "asked": dict(zip(s.axis, s.asks.shapes[s.asks.shape[ask]].tolist(), strict=True)),
        "limits": found,
        "position": {
            "jobs_ahead": int(e.columns.jobs_ahead[row]),
            "containers_ahead": int(e.columns.containers_ahead[row]),
        },
        "estimate": estimate(e, row, situation, forecast, kind),
        "change": change,
    }


def _alike(e: Explanation, row: int, ask: int, about: AskContext) -> tuple[Situation, list[Limit], Change]:
    """Situation, limits and change, worked out once for asks that differ in nothing these depend on."""
    a = e.s.asks
    bits = int(e.columns.limits[row])
    own = bits >> Why.LOCALITY_WAIT & 1 or (e.reserved_for == a.key[ask]).any() or e.kept_back_by(ask) >= 0
    units = int(e.outcome.left[ask]) if a.gang[ask] else 1
    key = (
        int(e.s.jobs.user[a.job[ask]]), int(a.shape[ask]), int(a.mask[ask]), units, bits, about.labels,
        ask if own else -1,
    )  # fmt: skip
    found = e.cache.get(key)
    if found is None:
        situation = replace(situation_of(e, ask), in_all=_in_all(e, ask, about.whole))
        entries = limit_entries(e, row, situation, about.labels, about.besides)
        found = e.cache[key] = (situation, entries, advice(e, row, situation, about))
    alike: tuple[Situation, list[Limit], Change] = found
    return alike


def advice(e: Explanation, row: int, situation: Situation, about: AskContext) -> Change:
    """The smallest change. ``starts``: whether it would start at once, not only be able to start later."""
    ask = int(e.columns.ask[row])
    reasons = binding(e, row)
    if text := _of_others(e, ask, reasons):
        return _wait(text)

    def relaxed() -> list[tuple[str, np.ndarray]]:
        return [(text, usable_nodes(e, ask, mask)) for text, mask in about.relaxed()]

    found = smallest_change(situation, relaxed, Why.LOCALITY_WAIT in reasons)
    if found is not None:
        return found | {"starts": True}
    if Why.NO_NODE_MATCHES in reasons:
        if (found := _on_empty_nodes(e, ask, situation, about)) is None:
            return _wait("No single change would let it start here: no node could hold it.")
        return found | {"starts": False, "text": f"{found['text'].rstrip('.')}; it then waits for room."}
    return _wait("Nothing of the job's own: wait until running work ends.")


def _of_others(e: Explanation, ask: int, reasons: list[Why]) -> str:
    """What to do where it depends on others whether it starts; nothing where it does not."""
    if Why.ROUND_FULL in reasons and len(reasons) == 1:
        return "Nothing: its turn comes with the next round."
    if Why.QUEUE_SHARE in reasons or Why.ROUND_FULL in reasons or Why.NO_NODES in reasons:
        return "Nothing of the job's own: wait."
    if e.kept_back_by(ask) < 0:
        return ""
    left = e.promised_wait_s(e.kept_back_by(ask))
    if left is None or left < 1:
        return "Nothing of the job's own: wait for the jobs before it."
    return f"It could start now if it ended within {duration_text(left)}, and said so (estimated_duration_s)."


def _on_empty_nodes(e: Explanation, ask: int, situation: Situation, about: AskContext) -> Change | None:
    """What would let it start at some time, if nothing can make it start now."""
    s = e.s
    matching = s.asks.masks[s.asks.mask[ask]] & s.nodes.open
    empty = replace(situation.elsewhere(s.nodes.capacity, matching), room=np.full_like(situation.room, _UNBOUNDED))
    return smallest_change(
        empty, lambda: [(text, mask & s.nodes.open) for text, mask in about.relaxed()], False, least=0.0
    )


def _wait(text: str) -> Change:
    return {"what": "wait", "starts": False, "text": text}


def _in_all(e: Explanation, ask: int, whole: Callable[[], WholeLimits] | None) -> InAll | None:
    """By how much each maximum above the ask, its leaf's first and its user's last, must rise in all sub-clusters."""
    if whole is None:
        return None
    above = queue_path(e, int(e.s.ask_queue[ask]))

    def in_all(row: int, lacks: np.ndarray) -> np.ndarray:
        limits = whole()
        return limits.queue_rise(lacks) if row < len(above) else limits.user_rise(above[0], lacks)

    return in_all
