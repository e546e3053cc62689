"""The words of the contract are those of the rows. (Those of ``wire`` it takes from there.)"""

from typing import Any

import pytest
from pydantic import TypeAdapter

from contract import words
from controlplane.accounts.models import QueueAccess, Role
from controlplane.statestore.models import Job, Node, SubCluster


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
    assert TypeAdapter(said).json_schema()["enum"] == list(stored.values)
