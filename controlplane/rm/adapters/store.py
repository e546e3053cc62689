"""The Store port over Postgres: one fenced transaction per round, rows by binary COPY."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from psycopg.types.json import Jsonb, set_json_loads
from pydantic_core import from_json

from contract.policy.subclusters import effective_components
from controlplane.rm.adapters import claims, masterrows, queries
from controlplane.rm.adapters import copy as copybin
from controlplane.rm.adapters.named import Row, read
from controlplane.rm.changes import Changes
from controlplane.rm.claims import Claimed, ClaimRequest, Key
from controlplane.rm.ports import Fenced, StoreDown, Submitted
from controlplane.rm.rows import (
    AskRow,
    CapacityRow,
    ContainerRow,
    GroupRow,
    HandedRow,
    IntentRow,
    JobRow,
    LastEndRow,
    NodeRow,
    PlaceRow,
    PolicyRow,
    QueueRow,
    RemoteRow,
    ReportRow,
    ServingRow,
    TaskRow,
    Wanted,
    WindowRow,
    WithdrawnRow,
)
from controlplane.statestore import acknowledgements, loads, shares
from controlplane.statestore.membership import FENCED, Leadership
from controlplane.statestore.models.audit import TAGS_MAX
from controlplane.statestore.resourcecolumns import USED_COUNTS
from scheduler.lifecycle.group import BACKOFF_MAX_S
from scheduler.lifecycle.guest import UNLOWERED, GuestRun, pack
from wire.resources import Amounts, amounts
from wire.states import ContainerState, JobState

_TRANSACTION_GONE = "25"  # class of SQLSTATEs; one of them ends a session that was stopped inside a transaction


def _ids(numbers: Collection[int]) -> np.ndarray:
    """As a parameter: a hundred thousand of them take no time."""
    return np.fromiter(numbers, np.int64, len(numbers))


@contextmanager
def _translated() -> Iterator[None]:
    """Postgres's errors as the two that a leader tells apart."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate == FENCED:
            raise Fenced(str(error)) from error
        gone = (error.sqlstate or "").startswith(_TRANSACTION_GONE)
        if gone or isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError)):
            raise StoreDown(str(error)) from error
        raise


class PostgresStore:
    """Reads and writes one sub-cluster's rows on the leader's own session."""

    def __init__(self, leadership: Leadership, lease_s: float):
        self.leadership = leadership
        self.lease_s = lease_s
        self.sub_cluster_id = leadership.sub_cluster_id
        self.epoch = leadership.epoch
        self.connection = leadership.connection
        self.last_commit_us = 0
        with _translated():
            self.connection.execute(queries.SESSION)
            self.connection.prepare_threshold = 2
            self.connection.adapters.register_dumper(np.ndarray, copybin.Ids)
            set_json_loads(from_json, self.connection)  # compiled: a new leader reads every live job's specification

    def _rows(self, kind: type[Row], sql: str, *values: Any) -> list[Row]:
        with _translated():
            return read(self.connection, kind, sql, values)

    def now_us(self) -> int:
        """The database's clock: microseconds since the Unix epoch."""
        with _translated():
            row = self.connection.execute("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint").fetchone()
        assert row is not None
        return int(row[0])

    def nodes(self) -> list[NodeRow]:
        return self._rows(NodeRow, queries.NODES, self.sub_cluster_id)

    def windows(self) -> list[WindowRow]:
        """Maintenance windows that have not ended."""
        return self._rows(WindowRow, queries.WINDOWS, self.sub_cluster_id)

    def queues(self) -> tuple[int, list[QueueRow]]:
        """(policy version, queue rows by path)."""
        rows = self._rows(QueueRow, queries.QUEUES)
        return (rows[0].version if rows else 0), rows

    def policy(self, version: int) -> PolicyRow | None:
        """What this sub-cluster goes by under a version; None when there is no such version."""
        with _translated():
            row = self.connection.execute(queries.POLICY, (self.sub_cluster_id, version)).fetchone()
        if row is None:
            return None
        partitions, in_force, of_version, own, target, pushed_us, queues = row
        return PolicyRow(target, pushed_us or 0, partitions, effective_components(in_force, of_version, own), queues)

    def acknowledge(self, version: int, pushed_us: int, nodes: acknowledgements.NodesRun) -> None:
        """Say which policy version this leader and its nodes run; a statement of its own."""
        with _translated(), self.connection.cursor() as cursor:
            known = self.sub_cluster_id, self.epoch
            if not acknowledgements.put_rm(cursor, *known, version, pushed_us, nodes):
                raise Fenced(f"a leader after epoch {self.epoch} has acknowledged a policy version")

    def elsewhere(self, singly: bool) -> list[CapacityRow]:
        """Nodes of other sub-clusters, ``singly`` or summed up, as ``QueueTree.share_out`` takes them."""
        sql = queries.OTHER_NODES if singly else queries.OTHER_SUMS
        with _translated():
            return read(self.connection, CapacityRow, sql, {"own": self.sub_cluster_id})

    def live_jobs(self, known: Collection[int] = ()) -> list[JobRow]:
        """Those whose master lives here; of ``known`` ones without their specifications."""
        return self._rows(JobRow, queries.LIVE_JOBS, _ids(known), self.sub_cluster_id)

    def jobs(self, ids: Sequence[int]) -> list[JobRow]:
        return self._rows(JobRow, queries.JOBS, list(ids)) if ids else []

    def at_home(self, jobs: Collection[int]) -> set[int]:
        with _translated():
            found = self.connection.execute(queries.AT_HOME, (sorted(jobs), self.sub_cluster_id)).fetchall()
        return {job for (job,) in found}

    def tasks(self, jobs: Mapping[int, Submitted]) -> list[TaskRow]:
        """Task rows of these jobs."""
        if not jobs:
            return []
        days = sorted({job.submitted_on for job in jobs.values()})
        return self._rows(TaskRow, queries.TASKS, _ids(jobs), days)

    def last_ends(self, jobs: Mapping[int, Submitted]) -> list[LastEndRow]:
        """Of tasks that failed before and may have to wait before they are tried again: how the last attempt ended."""
        if not jobs:
            return []
        days = sorted({job.submitted_on for job in jobs.values()})
        values = {"jobs": _ids(jobs), "days": days, "longest_s": BACKOFF_MAX_S}
        with _translated():
            return read(self.connection, LastEndRow, queries.LAST_ENDS, values)

    def groups(self, jobs: Collection[int]) -> list[GroupRow]:
        """Group rows of these jobs."""
        return self._rows(GroupRow, queries.GROUPS, _ids(jobs)) if jobs else []

    def containers(self) -> list[ContainerRow]:
        return self._rows(ContainerRow, queries.CONTAINERS, self.sub_cluster_id)

    def had(self, jobs: Sequence[int]) -> dict[int, Amounts]:
        """What each live container of these jobs here was given, by its id."""
        if not jobs:
            return {}
        with _translated():
            rows = self.connection.execute(queries.HAD, (self.sub_cluster_id, list(jobs))).fetchall()
        return {cid: amounts(given) for cid, *given in rows}

    def places_elsewhere(self) -> list[PlaceRow]:
        """The nodes of other sub-clusters."""
        return self._rows(PlaceRow, queries.PLACES_ELSEWHERE, self.sub_cluster_id)

    def unread_asks(self, limit: int) -> list[AskRow]:
        """Demand handed to this sub-cluster, or asked back, that it has not answered."""
        return self._rows(AskRow, queries.UNREAD_ASKS, self.sub_cluster_id, limit)

    def asks_here(self) -> list[AskRow]:
        """All demand ever handed to this sub-cluster of jobs that live."""
        return self._rows(AskRow, queries.ASKS_HERE, self.sub_cluster_id)

    def remote_asks(self, jobs: Sequence[int]) -> list[HandedRow]:
        """What these jobs have handed to other sub-clusters."""
        return self._rows(HandedRow, queries.REMOTE_ASKS, _ids(jobs)) if jobs else []

    def remote_containers(self, jobs: Sequence[int]) -> list[RemoteRow]:
        """Live containers of these jobs elsewhere."""
        return self._rows(RemoteRow, queries.REMOTE_CONTAINERS, _ids(jobs), self.sub_cluster_id) if jobs else []

    def serving_elsewhere(self, jobs: Sequence[int]) -> dict[tuple[int, int], int]:
        """How many containers of each group of these jobs serve in other sub-clusters while this one empties nodes."""
        if not jobs:
            return {}
        values = {"jobs": list(jobs), "own": self.sub_cluster_id, "running": int(ContainerState.RUNNING)}
        with _translated():
            found = self.connection.execute(queries.SERVING_ELSEWHERE, values).fetchall()
        return {(job, no): count for job, no, count in found}

    def serving(self, jobs: Sequence[int]) -> list[ServingRow]:
        """Containers of these jobs that run, wherever they are, and how their nodes found them."""
        return self._rows(ServingRow, queries.SERVING, _ids(jobs)) if jobs else []

    def revisions(self, job: int) -> list[dict[str, Any]]:
        """What the service ran and runs, that in force last; none of one that was never updated."""
        with _translated():
            row = self.connection.execute(queries.REVISIONS, (job,)).fetchone()
        return list(row[0] or ()) if row else []

    def reports(self, limit: int) -> list[ReportRow]:
        """What other sub-clusters say of jobs that are at home here, oldest first."""
        return self._rows(ReportRow, queries.REPORTS, self.sub_cluster_id, limit)

    def forward_reports(self, ids: Sequence[int]) -> None:
        """Give these reports to the homes their jobs have by now; of those that have ended nobody needs any."""
        with _translated():
            self.connection.execute(queries.FORWARD_REPORTS, (list(ids),))
            self.connection.execute(queries.DROP_REPORTS, (list(ids),))

    def withdraw(self, asks: Sequence[tuple[int, int, int]]) -> list[WithdrawnRow]:
        """Lower the targets of these asks (job, group, sub-cluster) at once where nobody leads; their new targets."""
        if not asks:
            return []
        jobs, groups, subs = (list(column) for column in zip(*asks, strict=True))
        values = {"jobs": jobs, "groups": groups, "subs": subs, "unlowered": UNLOWERED}
        with _translated(), self.connection.transaction():
            found = read(self.connection, WithdrawnRow, queries.WITHDRAW, values)
            self.renew()
        return found

    def intents(self, limit: int) -> list[IntentRow]:
        return self._rows(IntentRow, queries.INTENTS, self.sub_cluster_id, limit)

    def admitted_elsewhere(self, version: int, keys: list[Key]) -> dict[Key, int]:
        """Admitted jobs of all other sub-clusters, where their number is limited. version: of the policy here."""
        with _translated():
            return claims.elsewhere(self.connection, self.sub_cluster_id, version, keys)

    def claim(self, version: int, requests: Mapping[Key, ClaimRequest]) -> dict[Key, Claimed]:
        """Raise own counts as far as there is room; per key what others run, and what stands now. A transaction."""
        with _translated():
            session = self.connection
            return claims.claim(session, self.sub_cluster_id, self.epoch, self.lease_s, version, requests)

    def put_load(self, load: loads.Load) -> None:
        """Write this sub-cluster's load row; a statement of its own."""
        with _translated():
            if not loads.put(self.connection, load):
                raise Fenced(f"a leader after epoch {self.epoch} has written its load")

    def loads(self, queues: bool = True) -> list[loads.Load]:
        """The load rows of every sub-cluster, this one's among them; without ``queues`` only their sums."""
        with _translated():
            return loads.read(self.connection, queues)

    def masters(self, jobs: Sequence[int]) -> Wanted:
        """All that the application masters of these jobs have asked for."""
        with _translated():
            return masterrows.read_all(self.connection, jobs)

    def some_masters(
        self,
        known: Mapping[int, int],
        asks: Sequence[tuple[int, int]],
        launches: Sequence[int],
        ending: Sequence[int],
    ) -> Wanted:
        """Some of it, as ``masterrows.read_some``."""
        with _translated():
            return masterrows.read_some(self.connection, dict(known), asks, launches, ending)

    def shares(self, known: int) -> shares.Assignment | None:
        """This sub-cluster's share assignment; its tables are left out where ``known`` is its version."""
        with _translated():
            return shares.read(self.connection, self.sub_cluster_id, known)

    def renew(self) -> None:
        """Extend the lease of a leader that has nothing to commit, or is about to do something long."""
        with _translated():
            self.connection.execute(
                "SELECT statestore_fence(%s::smallint, %s, %s)", (self.sub_cluster_id, self.epoch, self.lease_s)
            )
        self.leadership.renewed_at = time.monotonic()

    def commit(self, changes: Changes) -> None:
        """Write the round. Raises ``Fenced`` or ``StoreDown``; after either nothing may be believed."""
        began = time.perf_counter()
        with _translated():
            self.connection.execute("BEGIN")
            self._containers(changes)
            masterrows.write(self.connection, changes)
            self._spanning(changes)
            self._jobs(changes)  # last, for the asks of a job go with its end
            self._rest(changes)
            count = sum(map(len, changes.transitions))
            self._log(changes, count)
            # The fence and COMMIT travel as one message: no lease lock waits for this client.
            self.connection.execute(
                f"SELECT statestore_fence({self.sub_cluster_id}::smallint, {self.epoch}, {self.lease_s}, {count});"
                "COMMIT".encode()
            )
        self.leadership.renewed_at = time.monotonic()
        self.last_commit_us = int((time.perf_counter() - began) * 1e6)

    def _copy(self, sql: str, table: np.ndarray) -> None:
        with self.connection.cursor() as cursor, cursor.copy(sql) as copy:
            copy.write(copybin.rows(table))

    def _containers(self, c: Changes) -> None:
        if c.new:
            self._copy(queries.COPY_NEW, np.concatenate(c.new))
        if c.moved:
            moved = np.concatenate(c.moved)
            columns = [moved[name] for name in ("id", "state", "started_us")]
            self.connection.execute(queries.MOVE, (self.epoch, *columns))
        if c.ended:
            self._end(np.concatenate(c.ended))
        if c.tasks_first:
            self._copy(queries.COPY_TASKS, np.concatenate(c.tasks_first))
        if c.tasks_again:
            self._copy(queries.COPY_TASKS_AGAIN, np.concatenate(c.tasks_again))
            self.connection.execute(queries.UPSERT_TASKS)
        if c.forgiven:
            columns = [list(column) for column in zip(*c.forgiven, strict=True)]
            self.connection.execute(queries.FORGIVE, (*columns, sorted({*columns[0]})))

    def _end(self, ended: np.ndarray) -> None:
        """From the live table into the history. The rows must be those the memory knows, or it is rebuilt."""
        gone = self.connection.execute(queries.FORGET, (ended["id"],)).rowcount
        if gone != len(ended):
            raise StoreDown(f"{len(ended)} containers ended, of which {gone} have a row")
        ran = ended["started_us"] > 0
        if ran.any():
            self._copy(queries.COPY_ENDED, ended[ran])
        if not ran.all():
            self._copy(queries.COPY_NEVER_RAN, ended[~ran][[n for n in ended.dtype.names or () if n != "started_us"]])

    def _jobs(self, c: Changes) -> None:
        if c.jobs:
            jobs = list(c.jobs.values())
            columns = [
                [j.id for j in jobs],
                [int(j.run.state) for j in jobs],
                [j.run.message for j in jobs],
                [j.priority for j in jobs],
                [j.queue for j in jobs],
                [j.admitted_us for j in jobs],
                [j.started_us for j in jobs],
                [j.finished_us for j in jobs],
            ]
            self.connection.execute(queries.UPDATE_JOBS, (self.epoch, *columns, self.epoch))
            self._notify(c)
            done = [j.id for j in jobs if j.finished_us and any(g.remote for g in j.groups)]
            if done:
                self.connection.execute(queries.DROP_ASKS, (done,))
        if c.services:
            self._services(c)
        if c.groups:
            keys, groups = list(c.groups), list(c.groups.values())
            counters = list(zip(*(g.counters()[:-1] for g in groups), strict=True))
            self.connection.execute(
                queries.UPDATE_GROUPS,
                (
                    [k[0] for k in keys],
                    [k[1] for k in keys],
                    *(list(column) for column in counters),
                    [Jsonb(g.reason) if g.reason else None for g in groups],
                    [g.started_us for g in groups],
                    [g.finished_us for g in groups],
                ),
            )

    def _notify(self, c: Changes) -> None:
        """Receivers are to be told of the jobs that have begun or ended in this round."""
        told = [(job, "started") for job in c.begun] + [(job, JobState(job.run.state).name.lower()) for job in c.over]
        if told:
            named = [",".join(j.notify.get(event, ())) for j, event in told]
            columns = [[j.id for j, _ in told], [j.owner for j, _ in told], [event for _, event in told], named]
            self.connection.execute(queries.NOTIFY, (c.at_us, *columns))

    def _services(self, c: Changes) -> None:
        jobs = list(c.services.values())
        said = [Jsonb(job.services()) for job in jobs]
        tasks = [sum(group.run.count for group in job.groups) for job in jobs]
        self.connection.execute(queries.UPDATE_SERVICES, ([job.id for job in jobs], said, tasks, self.epoch))
        if c.revisions:
            last = [revisions[-1] for revisions in c.revisions.values()]
            specs, sizes = [Jsonb(r["spec"]) for r in last], [r["size"] for r in last]
            said = [Jsonb(revisions) for revisions in c.revisions.values()]
            self.connection.execute(queries.REVISE, (list(c.revisions), specs, said, sizes, self.epoch))
            given = [(job.id, g.run.no, *g.amounts) for job in jobs if job.id in c.revisions for g in job.groups]
            self.connection.execute(queries.RESHAPE, [list(column) for column in zip(*given, strict=True)])
        counts = [(job.id, g.run.no, g.run.count) for job in jobs for g in job.groups]
        self.connection.execute(queries.COUNT_TASKS, [list(column) for column in zip(*counts, strict=True)])

    def _spanning(self, c: Changes) -> None:
        """What was handed to other sub-clusters, and what became of what they have handed to us.

        Rows that two RMs write are locked in the order of their keys by both.
        """
        if c.asks:
            asks = dict(sorted(c.asks.items(), key=lambda item: item[0]))
            jobs, groups, subs = (list(column) for column in zip(*asks, strict=True))
            handed = [h for h, _ in asks.values()]
            columns = [[getattr(h, name) for h in handed] for name in ("base", "target", "wish")]
            work = [pack(h.index, h.attempt) for h in handed]
            self.connection.execute(
                queries.PUT_ASKS, (jobs, groups, subs, *columns, work, [halt for _, halt in asks.values()])
            )
        if c.guests:
            self._answer(c)
        if c.reports or c.lowered or c.home_events:
            packed = {job: np.concatenate(events).tobytes() for job, events in c.reports.items()}
            for_masters = {job: Jsonb(some) for job, some in c.home_events.items()}
            rows: list[tuple[object, ...]] = [
                (job, None, None, packed.get(job), for_masters.get(job)) for job in packed | for_masters
            ]
            rows += [(*lowered, None, None) for lowered in c.lowered]
            columns = [list(column) for column in zip(*rows, strict=True)]
            self.connection.execute(queries.ADD_REPORTS, (self.sub_cluster_id, *columns))
        if c.reports_read:
            self.connection.execute(queries.REPORTS_READ, (c.reports_read,))

    def _answer(self, c: Changes) -> None:
        keys = sorted(c.guests)
        jobs, groups = (list(column) for column in zip(*keys, strict=True))
        entries = [c.guests[key] for key in keys]
        lowered = {(job, group) for job, group, _ in c.lowered}
        handed = [g.run.handed for g in entries if isinstance(g.run, GuestRun)]  # as they all are
        columns = [
            [h.taken for h in handed],
            [h.target if key in lowered else UNLOWERED for key, h in zip(keys, handed, strict=True)],
            [g.ask_version for g in entries],
            [Jsonb(g.reason) if g.reason else None for g in entries],
        ]
        values = (UNLOWERED, jobs, groups, *columns, self.sub_cluster_id)
        stand = set(self.connection.execute(queries.ANSWER_ASKS, values).fetchall())
        # One that has ended meanwhile, or was lowered, matters only where it was believed to stand.
        if void := c.taken - stand:
            raise StoreDown(f"tasks were started of {len(void)} asks that do not stand any more")

    def _rest(self, c: Changes) -> None:
        if c.events:
            self.connection.execute(queries.ADD_EVENTS, [list(column) for column in zip(*c.events, strict=True)])
        if c.nodes:
            states = list(zip(*c.nodes.values(), strict=True))
            self.connection.execute(queries.UPDATE_NODES, (list(c.nodes), list(states[0]), list(states[1])))
        if c.admissions is not None:
            claims.write(self.connection, self.sub_cluster_id, self.epoch, c.admissions)
        if c.rehomed:
            self._rehome(c.rehomed)
        if c.rehomed or c.strayed:
            jobs = [*c.rehomed, *c.strayed]
            self.connection.execute(queries.FORWARD_INTENTS, {"jobs": jobs, "own": self.sub_cluster_id})
        if c.intents:
            self.connection.execute(queries.DONE_INTENTS, (c.intents,))
        if c.usage:
            self.connection.execute(queries.ADD_USAGE, (self.sub_cluster_id, *_used(c.usage)))
            self.connection.execute(queries.ADD_TAGGED, (*_used(c.tagged), TAGS_MAX, self.sub_cluster_id))

    def _rehome(self, homes: dict[int, int]) -> None:
        values = {"jobs": list(homes), "homes": list(homes.values()), "own": self.sub_cluster_id, "epoch": self.epoch}
        moved = self.connection.execute(queries.REHOME, values).rowcount
        if moved != len(homes):
            raise StoreDown(f"{len(homes)} jobs were to get another home, and {moved} could")

    def _log(self, c: Changes, count: int) -> None:
        if not count:
            return
        packed = np.concatenate(c.transitions).tobytes()
        self.connection.execute(
            queries.ADD_ROUND,
            (
                count, c.at_us, self.epoch, c.number, c.placed, c.ended_count, c.plan_us, self.last_commit_us, packed,
                self.sub_cluster_id,
            ),
        )  # fmt: skip


def _used(ledger: Mapping[Any, Sequence[int]]) -> list[list[Any]]:
    """The columns of a ledger of ``Changes``: keys, counts, seconds."""
    sums = list(zip(*ledger.values(), strict=True))
    seconds = [[round(each / 1e6) for each in column] for column in sums[USED_COUNTS:]]
    return [*map(list, zip(*ledger, strict=True)), *map(list, sums[:USED_COUNTS]), *seconds]
