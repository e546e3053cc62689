"""Restarts: which attempts are to end now, and when the next one may."""

from scheduler.lifecycle.group import GroupRun
from scheduler.lifecycle.restarting import Restarts, attempts, lives, runs
from wire.states import TaskState


def web(*launches: int) -> GroupRun:
    """A service of which all tasks run, each in this attempt."""
    run = GroupRun(0, "web", len(launches), 0, (), service=True)
    run.cover(len(launches))
    run.launches[: len(launches)] = launches
    run.task_state[: len(launches)] = TaskState.RUNNING
    run.next_fresh = run.running = len(launches)
    return run


def test_of_a_queue_only_the_first_is_down_and_the_rest_follows_it() -> None:
    run, r = web(1, 1, 1), Restarts()
    r.add([(0, 1), (1, 1), (2, 1)], one_by_one=True)
    assert r.stopping == [(0, 1)]
    assert not r.advance(run, lambda task, attempt: True), "it has not ended"
    run.task_state[0] = TaskState.PENDING
    assert not r.advance(run, lambda task, attempt: True), "it has not started again"
    run.task_state[0], run.launches[0] = TaskState.RUNNING, 2
    assert not r.advance(run, lambda task, attempt: False), "it does not serve"
    assert r.advance(run, lambda task, attempt: (task, attempt) == (0, 2))
    assert r.stopping == [(1, 1)]


def test_what_is_asked_for_twice_keeps_its_turn_and_at_once_comes_before_it() -> None:
    r = Restarts()
    r.add([(0, 1), (1, 1)], one_by_one=True)
    r.add([(1, 1), (0, 1), (2, 4)], one_by_one=True)
    assert r.queue == [(0, 1), (1, 1), (2, 4)]
    r.add([(3, 1)], one_by_one=False)
    assert r.stopping == [(3, 1), (0, 1)]
    r.add([(3, 1)], one_by_one=True)
    assert r.queue == [(0, 1), (1, 1), (2, 4)]


def test_what_is_to_end_now_is_waited_for_until_another_attempt_has_begun() -> None:
    run, r = web(1, 1), Restarts()
    r.add([(0, 1), (1, 1)], one_by_one=False)
    run.task_state[0] = TaskState.PENDING
    assert not r.advance(run, lambda task, attempt: False) and r.now == [(0, 1), (1, 1)]
    run.task_state[0], run.launches[0] = TaskState.PENDING, 2
    assert r.advance(run, lambda task, attempt: False) and r.now == [(1, 1)], "it may have failed already"
    run.scale(1)
    assert r.advance(run, lambda task, attempt: False) and not r


def test_what_has_its_turn_and_is_asked_for_at_once_is_still_waited_for_until_it_serves() -> None:
    run, r = web(1, 1), Restarts()
    r.add([(0, 1), (1, 1)], one_by_one=True)
    for _ in range(2):
        r.add([(1, 1)], one_by_one=False)
    assert (r.now, r.queue) == ([(1, 1)], [(0, 1), (1, 1)])
    run.launches[1] = 2
    assert r.advance(run, lambda task, attempt: False) and (r.now, r.queue) == ([], [(0, 1), (1, 1)])
    assert r.advance(run, lambda task, attempt: task == 1) and r.queue == [(0, 1)]


def test_what_was_handed_to_another_sub_cluster_has_not_begun() -> None:
    run, r = web(1), Restarts()
    r.add([(0, 1)], one_by_one=False)
    run.launches[0], run.remote[0] = 2, True
    assert not r.advance(run, lambda task, attempt: False) and r.now == [(0, 1)]
    run.remote[0] = False
    assert r.advance(run, lambda task, attempt: False) and not r


def test_what_came_back_unbegun_is_not_waited_for() -> None:
    run, r = web(2), Restarts()
    r.add([(0, 2)], one_by_one=False)
    run.launches[0], run.task_state[0] = 1, TaskState.PENDING
    assert r.advance(run, lambda task, attempt: False) and not r


def test_tasks_that_the_service_has_no_more_are_not_waited_for() -> None:
    run, r = web(1, 1, 1), Restarts()
    r.add([(2, 1), (0, 1)], one_by_one=True)
    run.scale(2)
    assert r.advance(run, lambda task, attempt: False)
    assert r.stopping == [(0, 1)]


def test_an_attempt_lives_until_it_ends_or_another_follows() -> None:
    run = web(3)
    assert lives(run, (0, 3)) and not lives(run, (0, 2)) and not lives(run, (7, 1))
    run.task_state[0] = TaskState.PENDING
    assert not lives(run, (0, 3))


def test_attempts_in_a_row_are_written_as_one() -> None:
    listed = [(0, 1), (1, 1), (2, 1), (4, 1), (5, 2)]
    assert runs(listed) == [[0, 3, 1], [4, 1, 1], [5, 1, 2]]
    assert attempts(runs(listed)) == listed
