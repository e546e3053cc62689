"""When a waiting ask can start: an interval, from what runs and what stands before it."""

from typing import Any

import numpy as np

from scheduler.core.compiled import arrayless, contiguous
from scheduler.core.plan import Why
from scheduler.explain.amounts import duration_text
from scheduler.explain.change import Situation
from scheduler.explain.columns import AskArrays, Explanation, ExplanationColumns
from scheduler.explain.forecast import Forecast, Units
from scheduler.explain.limits import binding, locality_delay_left, queue_path

Estimate = dict[str, Any]
_NEVER = (1 << int(Why.NO_NODES)) | (1 << int(Why.NO_NODE_MATCHES))
_TIMELESS = {
    Why.NO_NODES: "It starts once nodes take containers; nobody can say when.",
    Why.NO_NODE_MATCHES: "It does not start here by waiting: no node of this sub-cluster can hold it.",
    Why.QUEUE_SHARE: "It starts when others take less of what they are owed; nobody can say when.",
}

OWN, ALL = 0, 1  # whose asks come before one: those of its own queue, and everybody's


def before_each(e: Explanation) -> np.ndarray:
    """What the asks before each one wait for, in its own queue and in all, but those that never start: (w, 2, r).

    The second axis is OWN and ALL.
    """
    shapes, q = contiguous(e.s.asks.shapes, np.int64), len(e.s.queues.paths)
    out = np.zeros((len(e.columns.ask), 2, shapes.shape[1]), np.int64)
    sum_up(e.columns, e.asks, shapes, np.zeros((q + 1, shapes.shape[1]), np.int64), out)
    return out


@arrayless
def sum_up(columns: ExplanationColumns, asks: AskArrays, shapes: np.ndarray, sums: np.ndarray, out: np.ndarray) -> None:
    """Fill ``out``. sums: zeros, a row for each queue and one for all."""
    every = len(sums) - 1
    for row in range(len(columns.ask)):
        i = columns.ask[row]
        queue = asks.queue[asks.user[asks.job[i]]]
        starts = not columns.limits[row] & _NEVER
        for k in range(shapes.shape[1]):
            out[row, OWN, k], out[row, ALL, k] = sums[queue, k], sums[every, k]
            if starts:
                amount = asks.left[i] * shapes[asks.shape[i], k]
                sums[queue, k] += amount
                sums[every, k] += amount


def estimate(e: Explanation, row: int, situation: Situation, forecast: Forecast | None, kind: Any) -> Estimate:
    """An interval in seconds from ``e.now``. kind: tells asks of other shapes or nodes apart, in ``forecast``.

    ``earliest_s`` counts only its own queue's asks before it, ``latest_s`` all before it; None where unknown, as it is
    where it depends on work that has outlived its estimate.
    An ask that was promised a start has that as its latest.
    """
    reasons = binding(e, row)
    for why, text in _TIMELESS.items():
        if why in reasons:
            return _answer(None, None, text)
    promised = e.promised_wait_s(int(e.columns.ask[row]))
    if forecast is None:
        return _answer(promised, promised, "Not estimated yet.")
    if "ahead" not in e.cache:
        e.cache["ahead"] = before_each(e)
    before = e.cache["ahead"][row]
    earliest: float | None = 0.0
    latest: float | None = 0.0
    for why in reasons:
        first, last = _wait_for_limit(e, row, why, situation, kind, before, forecast)
        if forecast.sure is not forecast:
            last = _wait_for_limit(e, row, why, situation, kind, before, forecast.sure)[1]
        earliest = None if earliest is None or first is None else max(earliest, first)
        latest = None if latest is None or last is None else max(latest, last)
    if promised is not None:
        earliest, latest = min(promised if earliest is None else earliest, promised), promised
    if earliest is not None:
        answer = _answer(earliest, latest, "")
        if latest is None and forecast.sure is not forecast:
            answer["text"] += " Work that it waits for has outlived its estimate."
        return answer
    if forecast.silent:
        return _answer(None, None, "Nobody said how long the running work takes (estimated_duration_s).")
    return _answer(None, None, "Running work whose end is known does not free enough.")


def _answer(earliest: float | None, latest: float | None, text: str) -> Estimate:
    if earliest is not None and latest is not None:
        text = (
            f"In {duration_text(latest)}."
            if latest - earliest < 1
            else f"In {duration_text(earliest)} to {duration_text(latest)}."
            if earliest >= 1
            else f"Within {duration_text(latest)}."
        )
        text = "Within a second." if latest < 1 else text
    elif earliest is not None:
        text = f"In {duration_text(earliest)} at the earliest." if earliest >= 1 else "At any moment, or later."
    first, last = (None if x is None else round(x, 1) for x in (earliest, latest))
    return {"earliest_s": first, "latest_s": last, "text": text}


def _wait_for_limit(
    e: Explanation, row: int, why: Why, situation: Situation, kind: Any, before: np.ndarray, forecast: Forecast
) -> tuple[float | None, float | None]:
    """Seconds until this limit lets the ask go: behind its own queue's asks, and behind all."""
    ask = int(e.columns.ask[row])
    match why:
        case Why.QUEUE_MAXIMUM:
            return _below_queues(e, ask, situation, before, forecast)
        case Why.USER_MAXIMUM:
            first = forecast.of_user(int(e.s.asks.key[ask]), situation.lacking()[-1])
            first = _from_now(e, first)
            return first, first
        case Why.LOCALITY_WAIT:
            return 0.0, locality_delay_left(e, ask).off_switch_s
        case Why.NO_ROOM | Why.GANG | Why.RESERVED:
            units = forecast.units(situation.shape, situation.usable, kind)
            return _on_nodes(e, situation, before[OWN], units), _on_nodes(e, situation, before[ALL], units)
    return 0.0, 0.0


def _below_queues(
    e: Explanation, ask: int, situation: Situation, before: np.ndarray, forecast: Forecast
) -> tuple[float | None, float | None]:
    lacks = situation.lacking()
    need = situation.shape * situation.units
    found: list[list[float | None]] = [[0.0], [0.0]]
    for at, queue in enumerate(queue_path(e, int(e.s.ask_queue[ask]))):
        if not lacks[at].any():
            continue
        for way in (OWN, ALL):
            others = before[way if at else OWN]  # only its own queue's asks use what its leaf may hold
            short = np.where(need > 0, np.maximum(need + others - situation.room[at], 0), 0)
            found[way].append(_from_now(e, forecast.below_maximum(queue, short)))
    first, last = ([x for x in way if x is not None] if None not in way else None for way in found)
    return max(first) if first else None, max(last) if last else None


def _from_now(e: Explanation, at: float | None) -> float | None:
    return None if at is None else max(0.0, at - e.now)


def _on_nodes(e: Explanation, situation: Situation, before: np.ndarray, units: Units) -> float | None:
    """When nodes have room for it behind ``before`` (r,). units: of its kind."""
    wanted = situation.units
    amounts = [(b, asked) for b, asked in zip(before.tolist(), situation.shape.tolist(), strict=True) if asked > 0]
    if not amounts:
        return None
    wanted += max(-(-b // asked) for b, asked in amounts)
    return _from_now(e, units.when(wanted))
