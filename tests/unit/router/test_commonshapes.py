"""The words the API's schema allows are the states and roles there are."""

from enum import IntEnum
from typing import Any, get_args

import pytest

from contract.words import ContainerState as ContainerStateAnswer
from contract.words import Duty, JobKind, Level, SubClusterState
from contract.words import GroupState as GroupStateAnswer
from contract.words import JobState as JobStateAnswer
from contract.words import NodeState as NodeStateAnswer
from contract.words import Role as RoleAnswer
from contract.words import TaskState as TaskStateAnswer
from controlplane.accounts.models import QueueAccess, Role
from controlplane.statestore.models import Job, Node, SubCluster
from wire.states import ContainerState, GroupState, JobState, NodeState, TaskState


@pytest.mark.parametrize(
    ("said", "states"),
    [
        (JobStateAnswer, JobState),
        (GroupStateAnswer, GroupState),
        (TaskStateAnswer, TaskState),
        (ContainerStateAnswer, ContainerState),
        (NodeStateAnswer, NodeState),
    ],
)
def test_states_are_those_of_the_wire(said: Any, states: type[IntEnum]) -> None:
    assert get_args(said) == tuple(state.name for state in states)


@pytest.mark.parametrize(
    ("said", "stored"),
    [
        (SubClusterState, SubCluster.State),
        (Duty, Node.Duty),
        (JobKind, Job.Kind),
        (RoleAnswer, Role),
        (Level, QueueAccess.Level),
    ],
)
def test_words_are_those_of_the_rows(said: Any, stored: Any) -> None:
    assert get_args(said) == tuple(stored.values)
