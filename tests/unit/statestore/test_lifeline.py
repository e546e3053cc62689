"""Every state x every step of a sub-cluster's life: the table and nothing else."""

import pytest

from controlplane.statestore.errors import Conflict
from controlplane.statestore.lifeline import MOVES, State, Step, after
from controlplane.statestore.models import SubCluster

ALL = [(state, step) for state in State for step in Step]


@pytest.mark.parametrize(("state", "step"), ALL, ids=[f"{a.value}-{b.value}" for a, b in ALL])
def test_a_step_leads_where_the_table_says_or_is_refused_with_a_reason(state: State, step: Step) -> None:
    row = SubCluster(name="east", state=state)
    if (state, step) in MOVES:
        assert after(row, step) is MOVES[state, step]
        return
    with pytest.raises(Conflict) as refused:
        after(row, step)
    assert refused.value.detail.startswith(f"sub-cluster east is {state.value}, which does not allow: {step.value}")
    assert "{" not in refused.value.detail


@pytest.mark.parametrize("step", [Step.DRAIN, Step.RESUME, Step.DECOMMISSION])
@pytest.mark.parametrize("state", list(State))
def test_what_an_operator_may_not_do_names_what_to_do_instead(state: State, step: Step) -> None:
    if (state, step) in MOVES:
        return
    with pytest.raises(Conflict, match=r"; .{10,}"):
        after(SubCluster(name="east", state=state), step)


def test_nothing_leads_out_of_the_last_state_and_every_other_state_has_a_way_to_it() -> None:
    assert not [step for state, step in MOVES if state is State.DECOMMISSIONED]
    reached = {State.DECOMMISSIONED}
    for _ in State:
        reached |= {state for (state, _), to in MOVES.items() if to in reached}
    assert reached == set(State)
