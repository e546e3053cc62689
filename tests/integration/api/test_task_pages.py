"""Pages of a large job's tasks by state, over the borders of the blocks that are looked at as a whole."""

from random import Random

import pytest
from django.utils import timezone

from controlplane.statestore.models import Job, Task, TaskGroup
from controlplane.statestore.queries.jobs.tasks import BLOCK, list_page
from controlplane.statestore.queries.paging import Cursor
from tests.integration.api import rows
from tests.integration.api.world import World, job
from wire.states import GroupState, TaskState

COUNTS = (2 * BLOCK + 7, BLOCK, 40)
WHOLE = (0, 1)  # group and block of which every task is decided
SIZE = 97
Tasks = dict[tuple[int, int], TaskState]


def filled(world: World, seed: int) -> tuple[Job, Tasks]:
    """A job, and the state of each of its tasks by group and index."""
    groups = [{"name": f"g{no}", "count": count, "command": ["x"]} for no, count in enumerate(COUNTS)]
    row = Job.objects.get(pk=world["tenant"].post("jobs", job(groups=groups)).json()["id"])
    draw, node = Random(seed), world.nodes[0].session.node_id
    found = {(no, index): TaskState.PENDING for no, count in enumerate(COUNTS) for index in range(count)}
    ended = [place for place in found if (place[0], place[1] // BLOCK) == WHOLE or draw.random() < 0.7]
    for place in ended:
        found[place] = draw.choice((TaskState.SUCCEEDED, TaskState.FAILED, TaskState.KILLED))
    waiting = [place for place, state in found.items() if state == TaskState.PENDING and place[0] < 2]
    for place in draw.sample(waiting, 9):
        found[place] = TaskState.RUNNING
        rows.container(row, node, *place)
    common = {"submitted_on": row.submitted_at.date(), "job_id": row.pk, "attempts": 1, "failures": 0}
    common |= {"container_id": 1, "exit_code": 0, "finished_at": timezone.now()}
    Task.objects.bulk_create(Task(group_no=no, index=i, state=found[no, i], **common) for no, i in ended)
    TaskGroup.objects.filter(job=row, no=2).update(state=GroupState.KILLED)
    killed = {place: TaskState.KILLED for place, state in found.items() if place[0] == 2 and state == TaskState.PENDING}
    return row, found | killed


def walked(row: Job, state: TaskState, group: str | None, back: bool) -> list[list[tuple[int, int]]]:
    pages, at = list[list[tuple[int, int]]](), Cursor()
    if back:
        at = Cursor((len(COUNTS), 0), back=True)
    while True:
        page = list_page(row, at, SIZE, group, state)
        assert {task["state"] for task in page.results} <= {state.name}
        pages.append([(int(task["group"][1:]), task["index"]) for task in page.results])
        after = page.previous if back else page.next
        if after is None:
            return pages
        at = after


@pytest.mark.parametrize("seed", [1, 2])
def test_every_task_is_on_one_page_of_its_state_in_order(world: World, seed: int) -> None:
    row, states = filled(world, seed)
    for state in TaskState:
        expected = [place for place, its in states.items() if its == state]
        assert [place for page in walked(row, state, None, False) for place in page] == expected
        assert [place for page in reversed(walked(row, state, None, True)) for place in page] == expected
    pending = [place for place, its in states.items() if its == TaskState.PENDING and place[0] == 1]
    assert [place for page in walked(row, TaskState.PENDING, "g1", False) for place in page] == pending
