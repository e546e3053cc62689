"""How closely a simulation looks: finely where there is little to do, in longer steps where there is much."""

from simulator.site import Pace

FINEST_S, COARSEST_S = 0.1, 20.0  # between two looks of a leader
_ROUNDS_MOST = 3000  # of all leaders together, unless that is too coarse
_ROUNDS_EACH = 2  # that a container is the reason of: it begins, it ends
_IDLE_LOOKS = 720  # of a leader while nothing happens but that time passes
_PATIENCE_MOST_S = 60.0  # between two of these, where there is little to do
PERIODS_MOST = 360  # over which use is averaged
PERIOD_S = 60.0  # at least
TAIL = 0.25  # of the window: so much longer is simulated, for what came last


def pace_of(containers: int, window_s: float, sub_clusters: int) -> Pace:
    """For so many containers in all, over a window of so many s."""
    step = _step_s(containers, window_s, sub_clusters)
    if step <= FINEST_S:
        return Pace(patience_s=min(window_s / _IDLE_LOOKS, _PATIENCE_MOST_S))
    timed_s = max(step, window_s / _IDLE_LOOKS)
    return Pace(interval_s=step, idle_s=step, heartbeat_s=0.0, load_s=max(1.0, step), timed_s=timed_s)


def _step_s(containers: int, window_s: float, sub_clusters: int) -> float:
    """Between two looks: as long as makes rounds few enough, if containers are not few enough for that."""
    if containers * _ROUNDS_EACH <= _ROUNDS_MOST:
        return FINEST_S
    return min(max(window_s * (1 + TAIL) * sub_clusters / _ROUNDS_MOST, FINEST_S), COARSEST_S)


def note(pace: Pace, runs_s: float) -> list[str]:
    """What a reader has to know of a coarse one. runs_s: how long a task runs on average."""
    if pace.interval_s <= FINEST_S:
        return []
    held_s = pace.interval_s / 2
    text = (
        f"Leaders look every {pace.interval_s:.2g} s instead of every {FINEST_S:g} s, so that so much can be "
        "simulated, on both sides alike: waits are longer by up to that, and tasks hold their places for some "
        f"{held_s:.2g} s more than they run, on average {held_s / max(runs_s, 0.001):.0%} of that. "
        "A shorter window is looked at more finely."
    )
    return [text]


def period_of(until_s: float) -> float:
    return max(PERIOD_S, until_s / PERIODS_MOST)
