"""How closely a what-if simulation looks: as closely as it can while its rounds stay few enough."""

from controlplane.whatif.pace import COARSEST_S, FINEST_S, TAIL, note, pace_of
from simulator.site import Pace

HOUR_S = 3600.0


def test_what_is_small_is_simulated_as_leaders_work() -> None:
    for window_s in (HOUR_S, 7 * 24 * HOUR_S):
        assert pace_of(1000, window_s, 20) == Pace(patience_s=min(window_s / 720, 60.0))
        assert note(pace_of(1000, window_s, 20), 5.0) == []


def test_what_is_large_is_simulated_in_steps_and_the_answer_says_so() -> None:
    pace = pace_of(10_000, HOUR_S, 2)
    assert FINEST_S < pace.interval_s < COARSEST_S
    rounds = 2 * HOUR_S * (1 + TAIL) / pace.interval_s
    assert rounds <= 10_000, "fewer than containers, which are the reason of two each"
    (told,) = note(pace, pace.interval_s * 2)
    assert "simulated" in told and "on average 25% of that" in told, "tasks hold their places until somebody looks"


def test_no_step_is_coarser_than_twenty_seconds() -> None:
    assert pace_of(1_000_000, 7 * 24 * HOUR_S, 64).interval_s == COARSEST_S == 20.0
    assert pace_of(10_000, HOUR_S, 4).interval_s > pace_of(10_000, HOUR_S, 2).interval_s
