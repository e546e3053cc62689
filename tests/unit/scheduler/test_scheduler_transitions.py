"""Every pair of states: the listed ones pass, all others raise with the object's story."""

import pytest

from scheduler.lifecycle.transitions import CONTAINER, GROUP, JOB, TASK, TransitionError, check
from wire.states import ContainerState, GroupState, JobState, TaskState, terminal

TABLES = [(JOB, JobState), (GROUP, GroupState), (TASK, TaskState), (CONTAINER, ContainerState)]
PAIRS = [
    pytest.param(table, old, new, id=f"{kind.__name__}-{old.name}-{new.name}")
    for table, kind in TABLES
    for old in kind
    for new in kind
]


@pytest.mark.parametrize(("table", "old", "new"), PAIRS)
def test_only_listed_pairs_pass(table, old, new) -> None:
    if new in table[old]:
        assert check(table, old, new, "it") is new
    else:
        with pytest.raises(TransitionError, match=f"job 7: .*{old.name}.*{new.name}"):
            check(table, old, new, "job 7")


@pytest.mark.parametrize(("table", "kind"), TABLES)
def test_tables_are_complete_and_ends_are_final(table, kind) -> None:
    assert set(table) == set(kind)
    for state in kind:
        assert bool(table[state]) is not terminal(state), state
        assert state not in table[state], "staying is no transition"


@pytest.mark.parametrize(("table", "kind"), TABLES)
def test_every_state_is_reached_and_every_story_can_end(table, kind) -> None:
    reached, frontier = set(), [min(kind)]
    while frontier:
        state = frontier.pop()
        if state not in reached:
            reached.add(state)
            frontier += table[state]
    assert reached == set(kind)
    ending = {s for s in kind if terminal(s)}
    while more := {s for s in kind if s not in ending and table[s] & ending}:
        ending |= more
    assert ending == set(kind)
