"""The words the API's schema allows are the states and roles there are."""

from enum import IntEnum
from typing import Any, get_args

import pytest

from controlplane.accounts.models import QueueAccess, Role
from controlplane.router import commonshapes as words
from controlplane.statestore.models import Job, Node, SubCluster
from wire.states import ContainerState, GroupState, JobState, NodeState, TaskState


@pytest.mark.parametrize(
    ("said", "states"),
    [
        (words.JobState, JobState),
        (words.GroupState, GroupState),
        (words.TaskState, TaskState),
        (words.ContainerState, ContainerState),
        (words.NodeState, NodeState),
    ],
)
def test_states_are_those_of_the_wire(said: Any, states: type[IntEnum]) -> None:
    assert get_args(said) == tuple(state.name for state in states)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        (words.SubClusterState, SubCluster.State),
        (words.Duty, Node.Duty),
        (words.JobKind, Job.Kind),
        (words.Role, Role),
        (words.Level, QueueAccess.Level),
    ],
)
def test_words_are_those_of_the_rows(said: Any, stored: Any) -> None:
    assert get_args(said) == tuple(stored.values)
