"""What becomes of running tasks when the whole stack ends: none survives it, and its jobs go on at the next start."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from client import Client, Job
from tests.homes import ready_made
from tests.patience import wait_until
from tests.stack import Stack

SPEC: dict[str, Any] = {
    "name": "sleeper",
    "queue": "root.default",
    "groups": [
        {"name": "g", "count": 2, "command": ["sleep", "8"], "resources": {"memory_mib": 32, "vcores_milli": 100}}
    ],
}


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stack]:
    with Stack(ready_made(tmp_path_factory.mktemp("tasks") / "home"), sub_clusters=1, nodes=1) as running:
        yield running


def tasks(stack: Stack) -> list[psutil.Process]:
    """The tasks' own processes, below the node manager's."""
    below = psutil.Process(stack.pid("east-1")).children(recursive=True)
    return [process for process in below if process.name() == "sleep"]


def submit(stack: Stack, client: Client, retries: int) -> tuple[Job, list[psutil.Process]]:
    group = SPEC["groups"][0] | {"retries": retries}
    job = client.submit(SPEC | {"groups": [group]})
    wait_until(lambda: len(tasks(stack)) == 2, 20, "both tasks run")
    return job, tasks(stack)


KILLS = [pytest.param(victim, marks=pytest.mark.faults) for victim in ("guard_pid", "pid")]


@pytest.mark.parametrize("end", ["down", *KILLS])
def test_tasks_end_with_the_stack_and_their_job_goes_on_with_the_next(stack: Stack, end: str):
    # What is stopped in good order costs no attempt; of what is killed nobody can tell how it ended.
    job, running = submit(stack, stack.client(), retries=0 if end == "down" else 1)
    if end == "down":
        stack.stop()
    else:
        os.kill(stack.state()[end], signal.SIGKILL)
    wait_until(lambda: not stack.home.running(), 20, "the stack has ended")
    assert not [process for process in running if process.is_running()]
    stack.start()
    done = stack.client().wait(job.id, timeout_s=60)
    assert done.succeeded, done.message
