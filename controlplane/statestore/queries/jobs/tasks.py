"""Tasks of a job. Most exist only as their group's count: a page of numbers comes first, then what is known of them."""

from typing import Any, NamedTuple

from controlplane.statestore.models import Job, TaskGroup
from controlplane.statestore.queries.paging import Cursor, Page, page
from controlplane.statestore.queries.sql import rows_as_dicts
from wire.ids import format_container
from wire.states import TERMINAL, GroupState, TaskState, terminal

from .containers import history_since, node_names, reported_exit

BLOCK = 512  # tasks

_ROWS = """SELECT group_no, index, state, attempts, container_id, exit_code, finished_at FROM statestore_task
    WHERE submitted_on = %(day)s AND job_id = %(job)s"""
_WANTED = "(SELECT * FROM unnest(%(groups)s::smallint[], %(indexes)s::int[]) AS w(group_no, index))"
_LIVE = f"""SELECT c.id, c.group_no, c.task_index AS index, c.node_id, c.started_at FROM statestore_container c
    JOIN {_WANTED} w ON c.group_no = w.group_no AND c.task_index = w.index WHERE c.job_id = %(job)s ORDER BY c.id"""
_ENDED = """SELECT id, node_id, started_at, state, reason, exit_code FROM statestore_container_history
    WHERE id = ANY(%(ids)s) AND finished_at >= %(since)s"""
_WITH_STATE = f"SELECT group_no, index FROM ({_ROWS} AND state = %(state)s) t"
_RUNNING = "SELECT DISTINCT group_no, task_index AS index FROM statestore_container WHERE job_id = %(job)s"
# Tasks are looked at one by one only in blocks not decided as a whole, and of those in as many as a page needs.
_UNDECIDED = f"""WITH decided AS (
        SELECT group_no, index / {BLOCK} AS block, count(*) AS n FROM ({_ROWS} AND state >= {TERMINAL}) t
         GROUP BY 1, 2),
    running AS MATERIALIZED ({_RUNNING}),
    begun AS (SELECT group_no, index / {BLOCK} AS block, count(*) AS n FROM running GROUP BY 1, 2),
    block AS (
        SELECT g.no AS group_no, g.count, b.b AS block,
               least({BLOCK}, g.count - b.b * {BLOCK}) - coalesce(d.n, 0) - coalesce(r.n, 0) AS open
          FROM statestore_taskgroup g
         CROSS JOIN LATERAL generate_series(0, (g.count - 1) / {BLOCK}) b(b)
          LEFT JOIN decided d ON d.group_no = g.no AND d.block = b.b
          LEFT JOIN begun r ON r.group_no = g.no AND r.block = b.b
         WHERE g.job_id = %(job)s AND g.no = ANY(%(of)s) AND g.no = ANY(%(chosen)s)
           AND CASE WHEN %(edge)s::int IS NULL THEN true
                    WHEN %(back)s THEN (g.no, b.b) <= (%(edge)s, %(block)s)
                    ELSE (g.no, b.b) >= (%(edge)s, %(block)s) END),
    wanted AS MATERIALIZED (
        SELECT * FROM (SELECT *, sum(open) OVER (ORDER BY CASE WHEN %(back)s THEN -group_no ELSE group_no END,
                                                          CASE WHEN %(back)s THEN -block ELSE block END) AS upto
                         FROM block WHERE open > 0) counted
         WHERE upto - open < %(limit)s + {BLOCK})
    SELECT k.group_no, i.index FROM wanted k CROSS JOIN LATERAL (
        SELECT generate_series(k.block * {BLOCK}, least((k.block + 1) * {BLOCK}, k.count) - 1) AS index
        EXCEPT SELECT index FROM ({_ROWS} AND state >= {TERMINAL} AND group_no = k.group_no
                                  AND index >= k.block * {BLOCK} AND index < (k.block + 1) * {BLOCK}) t
        EXCEPT SELECT index FROM running r WHERE r.group_no = k.group_no) i"""
# A task that no row decides waits while its group lives, and was killed with it once it has ended.
_BY_STATE = {
    TaskState.PENDING: _UNDECIDED,
    TaskState.RUNNING: _RUNNING,
    TaskState.KILLED: f"({_WITH_STATE}) UNION ({_UNDECIDED})",
}


class Place(NamedTuple):
    """Where a task is in its job, and what pages of tasks are cut by."""

    group: int
    task: int


class _Group(NamedTuple):
    name: str
    tasks: int
    state: GroupState


def list_page(job: Job, at: Cursor, size: int, group: str | None = None, state: TaskState | None = None) -> Page:
    """One page of tasks by group and index. At most six queries, whatever the job's size."""
    groups = {
        no: _Group(name, count, GroupState(st))
        for no, name, count, st in TaskGroup.objects.filter(job_id=job.pk)
        .order_by("no")
        .values_list("no", "name", "count", "state")
    }
    chosen = {no: g.tasks for no, g in groups.items() if group in (None, g.name)}
    limit = size + 1
    of = [no for no, g in groups.items() if terminal(g.state) == (state == TaskState.KILLED)]
    places = _numbers(chosen, at, limit) if state is None else _in_state(job, chosen, at, limit, state, of)
    known = _known(job, places)
    rows = [_task(place, groups[place.group], known.get(place, {})) for place in places]
    return page(rows, places, size, at)


def _numbers(counts: dict[int, int], at: Cursor, limit: int) -> list[Place]:
    """The next ``limit`` tasks from ``at``, by arithmetic alone; backwards ones come in falling order."""
    found: list[Place] = []
    edge = _edge(at)
    for no in sorted(counts, reverse=at.back):
        first, last = 0, counts[no] - 1
        if edge and at.back:
            last = last if no < edge.group else (min(last, edge.task - 1) if no == edge.group else -1)
        elif edge:
            first = first if no > edge.group else (edge.task + 1 if no == edge.group else last + 1)
        span = range(last, first - 1, -1) if at.back else range(first, last + 1)
        found += [Place(no, i) for i in span[: limit - len(found)]]
        if len(found) == limit:
            break
    return found


def _edge(at: Cursor) -> Place | None:
    return Place(*at.key) if at.key else None


def _in_state(job: Job, counts: dict[int, int], at: Cursor, limit: int, state: TaskState, of: list[int]) -> list[Place]:
    """``of``: groups whose undecided tasks are in this state."""
    edge = _edge(at)
    down = " DESC" if at.back else ""
    where = "group_no = ANY(%(chosen)s)"
    if edge:
        where += f" AND (group_no, index) {'<' if at.back else '>'} (%(k0)s, %(k1)s)"
    inner = _BY_STATE.get(state, _WITH_STATE)
    sql = f"SELECT * FROM ({inner}) found WHERE {where} ORDER BY group_no{down}, index{down} LIMIT %(limit)s"
    values: dict[str, Any] = {
        "job": job.pk,
        "day": job.submitted_at.date(),
        "state": int(state),
        "chosen": list(counts),
        "of": of,
        "limit": limit,
        "edge": edge.group if edge else None,
        "block": edge.task // BLOCK if edge else None,
        "back": at.back,
    } | dict(zip(("k0", "k1"), at.key, strict=False))
    return [Place(r["group_no"], r["index"]) for r in rows_as_dicts(sql, values)]


def _known(job: Job, places: list[Place]) -> dict[Place, dict[str, Any]]:
    """What rows say about these tasks: their last attempt's end, and the container that is live now."""
    if not places:
        return {}
    values: dict[str, Any] = {
        "job": job.pk,
        "day": job.submitted_at.date(),
        "since": history_since(job),
        "groups": [place.group for place in places],
        "indexes": [place.task for place in places],
    }
    ended = rows_as_dicts(f"SELECT t.* FROM ({_ROWS}) t JOIN {_WANTED} w USING (group_no, index)", values)
    live = rows_as_dicts(_LIVE, values)
    values["ids"] = [r["container_id"] for r in ended]
    history = {r["id"]: r for r in rows_as_dicts(_ENDED, values)} if ended else {}
    named = node_names({r["node_id"] for r in live} | {r["node_id"] for r in history.values()})
    nodes = {number: node.name for number, node in named.items()}
    found: dict[Place, dict[str, Any]] = {}
    for row in ended:
        past = history.get(row["container_id"])
        entry = found[Place(row["group_no"], row["index"])] = row | {"node": None, "started_at": None}
        if past:
            entry |= {"node": nodes.get(past["node_id"]), "started_at": past["started_at"]}
            entry["exit_code"] = reported_exit(past)
        elif not row["exit_code"] and row["state"] != TaskState.SUCCEEDED:
            entry["exit_code"] = None  # whether it was reported went with its container's history
    for row in live:
        entry = found.setdefault(Place(row["group_no"], row["index"]), {})
        if not terminal(entry.get("state", 0)):
            node = nodes.get(row["node_id"])
            entry |= {"live": row["id"], "node": node, "started_at": row["started_at"]}
    return found


def _task(place: Place, group: _Group, row: dict[str, Any]) -> dict[str, Any]:
    state = TaskState(row.get("state", TaskState.PENDING))
    live = row.get("live")
    if not terminal(state):
        state = TaskState.RUNNING if live else TaskState.PENDING
        if terminal(group.state):
            state = TaskState.KILLED  # its group ended without it
    container = live or row.get("container_id")
    over = terminal(state)
    return {
        "group": group.name,
        "index": place.task,
        "state": state.name,
        "attempts": row.get("attempts", 0) + (1 if live else 0),
        "container": format_container(container) if container else None,
        "node": row.get("node"),
        "exit_code": row.get("exit_code") if over else None,
        "started_at": row.get("started_at"),
        "finished_at": row.get("finished_at") if over else None,
    }
