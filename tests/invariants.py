"""What must hold in the StateStore after anything at all, checked from one snapshot.

``check(url)`` for a running stack, ``violations(rows)`` over any way to run a
query. ``terminal`` and ``changed`` compare two moments: what has ended stays
as it ended. Only a quiet system has a summary that equals the rows:
``queue_usage`` compares the two.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import psycopg

from controlplane.rm.changes import TRANSITION
from controlplane.statestore.resourcecolumns import per_axis_held
from scheduler.lifecycle.transitions import CONTAINER
from wire.ids import EPOCH_MAX, format_container
from wire.resources import AXES
from wire.states import ContainerState
from wire.summary import QueueUse

Rows = Callable[[str], list[tuple[Any, ...]]]

# Each query finds rows that must not exist.
FORBIDDEN = {
    "a node holds more than it has": """
        SELECT n.id, sum(c.memory_mib), n.memory_mib, sum(c.vcores_milli), n.vcores_milli
          FROM statestore_container c JOIN statestore_node n ON n.id = c.node_id GROUP BY n.id
        HAVING sum(c.memory_mib) > n.memory_mib OR sum(c.vcores_milli) > n.vcores_milli
            OR sum(bit_count(c.gpus::bit(64))) > n.gpus""",
    "a GPU is held twice": """
        SELECT node_id, bit_or(gpus) FROM statestore_container GROUP BY node_id
        HAVING sum(bit_count(gpus::bit(64))) > bit_count(bit_or(gpus)::bit(64))""",
    "a task has two live containers": """
        SELECT job_id, group_no, task_index, count(*) FROM statestore_container
         GROUP BY 1, 2, 3 HAVING count(*) > 1""",
    "a container is live and ended": """
        SELECT id FROM statestore_container JOIN statestore_container_history USING (id)""",
    "a container ended twice": """
        SELECT id, count(*) FROM statestore_container_history GROUP BY id HAVING count(*) > 1""",
    "an attempt was started twice": """
        SELECT job_id, group_no, task_index, attempt, count(*) FROM (
            SELECT job_id, group_no, task_index, attempt FROM statestore_container UNION ALL
            SELECT job_id, group_no, task_index, attempt FROM statestore_container_history) x
         WHERE attempt < 32000 GROUP BY 1, 2, 3, 4 HAVING count(*) > 1""",
    "an ended job has live containers": """
        SELECT j.id, c.id FROM statestore_container c JOIN statestore_job j ON j.id = c.job_id WHERE j.state >= 10""",
    "a live container has no job": """
        SELECT c.id FROM statestore_container c LEFT JOIN statestore_job j ON j.id = c.job_id WHERE j.id IS NULL""",
    "a live container is on a lost node": """
        SELECT c.id, n.id FROM statestore_container c JOIN statestore_node n ON n.id = c.node_id WHERE n.state >= 3""",
    "an ended container is among the live": "SELECT id, state FROM statestore_container WHERE state >= 10",
    "a live container is in history": "SELECT id, state FROM statestore_container_history WHERE state < 10",
    "an ended job has open groups, or none of their end": """
        SELECT g.job_id, g.no, g.state FROM statestore_taskgroup g JOIN statestore_job j ON j.id = g.job_id
         WHERE j.state >= 10 AND (g.state < 10 OR g.finished_at IS NULL OR j.finished_at IS NULL)""",
    "the counters of an ended group do not add up": """
        SELECT job_id, no, succeeded, failed, killed, count FROM statestore_taskgroup
         WHERE state >= 10 AND (succeeded + failed + killed <> count OR running <> 0)""",
    "a group's tasks and its counters differ": """
        SELECT g.job_id, g.no, g.succeeded, g.failed, t.succeeded, t.failed FROM statestore_taskgroup g
          JOIN (SELECT job_id, group_no, count(*) FILTER (WHERE state = 10) AS succeeded,
                       count(*) FILTER (WHERE state = 11) AS failed FROM statestore_task GROUP BY 1, 2) t
            ON t.job_id = g.job_id AND t.group_no = g.no
         WHERE g.state >= 10 AND (g.succeeded, g.failed) <> (t.succeeded, t.failed)""",
    "a task succeeded without a container that did": """
        SELECT t.job_id, t.group_no, t.index FROM statestore_task t LEFT JOIN statestore_container_history h
            ON h.id = t.container_id AND h.job_id = t.job_id AND h.task_index = t.index AND h.state = 10
         WHERE t.state = 10 AND h.id IS NULL""",
    "a container began before it was allocated, or ended before it began": """
        SELECT id FROM statestore_container_history
         WHERE started_at < allocated_at OR finished_at < started_at OR finished_at < allocated_at""",
    "a row was written by an epoch older than its own": f"""
        SELECT id, epoch FROM statestore_container WHERE epoch < (id >> 32 & {EPOCH_MAX}) UNION ALL
        SELECT id, epoch FROM statestore_container_history WHERE epoch < (id >> 32 & {EPOCH_MAX})""",
    "a row was written by an epoch nobody had": """
        SELECT c.id, c.epoch FROM statestore_container c JOIN statestore_lease l USING (sub_cluster_id)
         WHERE c.epoch > l.epoch UNION ALL
        SELECT j.id, j.epoch FROM statestore_job j JOIN statestore_lease l ON l.sub_cluster_id = j.home_id
         WHERE j.epoch > l.epoch""",
    "the log has a gap, an overlap, or a lower epoch after a higher one": """
        SELECT sub_cluster_id, first_seq, last_seq, next_first, epoch, next_epoch FROM (
            SELECT sub_cluster_id, first_seq, last_seq, epoch,
                   lead(first_seq) OVER w AS next_first, lead(epoch) OVER w AS next_epoch
              FROM statestore_round WINDOW w AS (PARTITION BY sub_cluster_id ORDER BY first_seq)) x
         WHERE next_first <> last_seq + 1 OR next_epoch < epoch""",
    "the log does not end where the lease says": """
        SELECT l.sub_cluster_id, l.next_seq, r.last FROM statestore_lease l
          JOIN (SELECT sub_cluster_id, max(last_seq) AS last FROM statestore_round GROUP BY 1) r USING (sub_cluster_id)
         WHERE l.next_seq <> r.last + 1""",
    "the usage ledger and history differ": """
        SELECT coalesce(u.sub_cluster_id, h.sub_cluster_id), u.*, h.* FROM (
            SELECT sub_cluster_id, owner_id, queue, sum(containers) AS n, sum(memory_mib_s) AS m,
                   sum(vcores_milli_s) AS v, sum(gpu_s) AS g FROM statestore_usagehour GROUP BY 1, 2, 3) u
          FULL JOIN (
            SELECT c.sub_cluster_id, j.owner_id, j.queue, count(*) AS n, sum(c.memory_mib * held) AS m,
                   sum(c.vcores_milli * held) AS v, sum(bit_count(c.gpus::bit(64)) * held) AS g
              FROM (SELECT *, extract(epoch FROM finished_at - allocated_at) AS held
                      FROM statestore_container_history) c
              JOIN statestore_job j ON j.id = c.job_id GROUP BY 1, 2, 3) h
            ON (u.sub_cluster_id, u.owner_id, u.queue) = (h.sub_cluster_id, h.owner_id, h.queue)
         WHERE u.n IS DISTINCT FROM h.n OR abs(u.m - h.m) > h.n OR abs(u.v - h.v) > h.n OR abs(u.g - h.g) > h.n""",
}


def violations(rows: Rows) -> list[str]:
    """Every rule that is broken, with the first rows that break it."""
    found = [f"{rule}: {bad[:5]}" for rule, sql in FORBIDDEN.items() if (bad := rows(sql))]
    return found + _log(rows)


def _log(rows: Rows) -> list[str]:
    """Replay the transition log: every step must be legal and lead to what the rows say."""
    state: dict[int, int] = {}
    wrong = []
    for first, last, packed in rows("SELECT first_seq, last_seq, transitions FROM statestore_round ORDER BY 1"):
        steps = np.frombuffer(bytes(packed), TRANSITION)
        if len(steps) != last - first + 1:
            wrong.append(f"round {first}..{last} carries {len(steps)} steps")
        for cid, old, new in zip(*(steps[n].tolist() for n in ("container", "old", "new")), strict=True):
            legal = new == 0 if old < 0 else ContainerState(new) in CONTAINER[ContainerState(old)]
            if state.get(cid, -1) != old or not legal:
                wrong.append(f"{format_container(cid)}: {old} -> {new} after {state.get(cid, -1)}")
            state[cid] = new
    if not state:
        return wrong
    told = dict(
        rows("SELECT id, state FROM statestore_container UNION ALL SELECT id, state FROM statestore_container_history")
    )
    differ = [
        (format_container(c), told.get(c), state.get(c)) for c in told.keys() | state if told.get(c) != state.get(c)
    ]
    return wrong + ([f"rows and log differ: {differ[:5]}"] if differ else [])


def terminal(rows: Rows) -> dict[tuple[Any, ...], tuple[Any, ...]]:
    """What has ended, and how: jobs, groups, tasks, containers."""
    queries = {
        "job": "SELECT id, state, message, finished_at FROM statestore_job WHERE state >= 10",
        "group": """SELECT job_id || '/' || no, state, succeeded, failed, killed
                      FROM statestore_taskgroup WHERE state >= 10""",
        "task": """SELECT job_id || '/' || group_no || '/' || index, state, attempts, container_id, exit_code
                     FROM statestore_task WHERE state >= 10""",
        "container": """SELECT id, node_id, state, attempt, exit_code, reason, epoch, finished_at
                          FROM statestore_container_history""",
    }
    return {(kind, row[0]): row[1:] for kind, sql in queries.items() for row in rows(sql)}


def changed(before: dict[tuple[Any, ...], Any], after: dict[tuple[Any, ...], Any]) -> list[str]:
    """Ended things that are not as they were (``terminal`` of two moments)."""
    return [f"{key}: {was} -> {after.get(key)}" for key, was in before.items() if after.get(key) != was]


def queue_usage(rows: Rows, sub_cluster: int, queues: Mapping[str, QueueUse]) -> list[str]:
    """Queues of a summary whose usage is not the sum of their containers. Only where nothing moves."""
    used = rows(
        f"""SELECT j.queue, {per_axis_held("sum({1})::bigint", "c.")}
              FROM statestore_container c JOIN statestore_job j ON j.id = c.job_id
             WHERE c.sub_cluster_id = {sub_cluster:d} GROUP BY 1"""
    )
    return usage_told(used, queues)


def usage_told(used: list[tuple[Any, ...]], queues: Mapping[str, QueueUse]) -> list[str]:
    """The same with what is used: (queue, amounts along the axis of resources), a queue perhaps several times."""
    sums: dict[str, list[int]] = {path: [0] * len(AXES) for path in queues}
    for queue, *amounts in used:
        path = queue
        while path:
            if path in sums:
                sums[path] = [a + b for a, b in zip(sums[path], amounts, strict=True)]
            path = path.rpartition(".")[0]
    told = {path: list(use.amounts) for path, use in queues.items()}
    return [f"{path}: summary {told[path]}, containers {sums[path]}" for path in queues if told[path] != sums[path]]


def over(connection: psycopg.Connection) -> Rows:
    return lambda sql: connection.execute(sql.encode()).fetchall()


def check(url: str) -> None:
    """Fail with every rule a stack's database breaks, read in one snapshot."""
    with psycopg.connect(url) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        connection.read_only = True
        found = violations(over(connection))
    assert not found, "\n".join(found)
