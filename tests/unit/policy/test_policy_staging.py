"""What a rollout does next: pure."""

from dataclasses import replace

import pytest

from controlplane.policy.staging import STUCK_S, Action, RolloutStatus, decide

SOAKING = RolloutStatus("soaking", 0, 2, 60.0, in_stage_s=10.0, soaked_s=10.0)
BEHIND = ("the RM of west",)


def action(s: RolloutStatus) -> Action:
    return decide(s).action


def test_a_rollout_in_which_nothing_goes_wrong() -> None:
    assert action(RolloutStatus("pending", 0, 2, 60.0)) is Action.BEGIN
    running = RolloutStatus("running", 0, 2, 60.0, in_stage_s=1.0)
    assert action(replace(running, behind=BEHIND)) is Action.WAIT
    assert action(running) is Action.SOAK
    assert action(SOAKING) is Action.WAIT
    assert action(replace(SOAKING, soaked_s=60.0)) is Action.ADVANCE
    assert "stage 2 of 2" in decide(replace(SOAKING, soaked_s=60.0)).message
    assert action(replace(SOAKING, stage=1, soaked_s=60.0)) is Action.COMPLETE


@pytest.mark.parametrize(("rolls_back", "what"), [(True, Action.ROLL_BACK), (False, Action.PAUSE)])
def test_a_breach_ends_the_soak_with_its_reason(rolls_back: bool, what: Action) -> None:
    found = decide(replace(SOAKING, breaches=("jobs wait", "containers fail"), rolls_back=rolls_back))
    assert found.action is what
    assert found.message == "stage 1 of 2: jobs wait; containers fail"


def test_a_stage_that_does_not_take_the_version_in_is_a_breach() -> None:
    stuck = RolloutStatus("running", 0, 1, 60.0, in_stage_s=STUCK_S, behind=BEHIND)
    assert action(replace(stuck, in_stage_s=STUCK_S - 1)) is Action.WAIT
    assert action(stuck) is Action.ROLL_BACK
    assert "the RM of west" in decide(stuck).message


def test_what_does_not_run_the_version_any_more_is_waited_for_and_then_a_breach() -> None:
    late = replace(SOAKING, soaked_s=60.0, behind=BEHIND)
    assert action(late) is Action.WAIT
    assert action(replace(late, soaked_s=60.0 + STUCK_S)) is Action.ROLL_BACK


@pytest.mark.parametrize("state", ["paused", "completed", "rolled_back", "failed"])
def test_what_is_over_or_paused_stays_so(state: str) -> None:
    assert action(replace(SOAKING, state=state, soaked_s=1e6, breaches=("x",))) is Action.WAIT


def test_rolling_back_ends_when_all_run_the_old_content() -> None:
    back = RolloutStatus("rolling_back", 0, 1, 0.0, behind=BEHIND)
    assert action(back) is Action.WAIT
    assert action(replace(back, behind=())) is Action.ROLLED_BACK
