"""The Store port over Postgres: one fenced transaction per round, rows by binary COPY."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import psycopg
from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from controlplane.rm import claims, copybin, queries
from controlplane.rm.changes import Changes
from controlplane.rm.ports import Fenced, StoreDown
from controlplane.statestore.membership import FENCED, Leadership

_TRANSACTION_GONE = "25"  # class of SQLSTATEs; one of them ends a session that was stopped inside a transaction


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

    def _rows(self, sql: str, *values: Any) -> list[dict[str, Any]]:
        with _translated(), self.connection.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(sql, values).fetchall()

    def now_us(self) -> int:
        """The database's clock: microseconds since the Unix epoch."""
        return int(self._rows("SELECT (extract(epoch FROM clock_timestamp()) * 1e6)::bigint AS t")[0]["t"])

    def nodes(self) -> list[dict[str, Any]]:
        return self._rows(queries.NODES, self.sub_cluster_id)

    def windows(self) -> list[dict[str, Any]]:
        """Maintenance windows that have not ended."""
        return self._rows(queries.WINDOWS, self.sub_cluster_id)

    def queues(self) -> tuple[int, list[dict[str, Any]]]:
        """(policy version, queue rows by path)."""
        rows = self._rows(queries.QUEUES)
        return (rows[0]["version"] if rows else 0), rows

    def policy(self, version: int) -> dict[str, Any]:
        """``partitions`` and ``components`` of a version's document; empty when there is no such version."""
        with _translated():
            row = self.connection.execute(queries.POLICY, (version,)).fetchone()
        return dict(zip(("partitions", "components"), row, strict=True)) if row else {}

    def elsewhere(self, singly: bool) -> list[tuple[Any, ...]]:
        """Nodes of other sub-clusters, ``singly`` or summed up, as ``QueueTree.share_out`` takes them."""
        with _translated():
            sql = queries.OTHER_NODES if singly else queries.OTHER_SUMS
            return self.connection.execute(sql, {"own": self.sub_cluster_id}).fetchall()

    def live_jobs(self) -> list[dict[str, Any]]:
        return self._rows(queries.LIVE_JOBS, self.sub_cluster_id)

    def jobs(self, ids: Sequence[int]) -> list[dict[str, Any]]:
        return self._rows(queries.JOBS, list(ids)) if ids else []

    def tasks(self, jobs: Mapping[int, Any]) -> Iterable[tuple[int, int, int, int, int, int]]:
        """Task rows of these jobs: (job, group, index, state, attempts, failures)."""
        if not jobs:
            return []
        days = sorted({job.submitted_on for job in jobs.values()})
        with _translated():
            return self.connection.execute(queries.TASKS, (list(jobs), days)).fetchall()  # type: ignore[return-value]

    def groups(self, jobs: Mapping[int, Any]) -> list[tuple[Any, ...]]:
        """Group rows of these jobs: (job, group, state, running, succeeded, failed, killed, retried, has a reason)."""
        if not jobs:
            return []
        with _translated():
            return self.connection.execute(queries.GROUPS, (list(jobs),)).fetchall()

    def containers(self) -> list[tuple[Any, ...]]:
        with _translated():
            return self.connection.execute(queries.CONTAINERS, (self.sub_cluster_id,)).fetchall()

    def intents(self, limit: int) -> list[dict[str, Any]]:
        return self._rows(queries.INTENTS, self.sub_cluster_id, limit)

    def admitted_elsewhere(self, version: int, keys: list[claims.Key]) -> dict[claims.Key, int]:
        """Admitted jobs of all other sub-clusters, where their number is limited. version: of the policy here."""
        with _translated():
            return claims.elsewhere(self.connection, self.sub_cluster_id, version, keys)

    def claim(self, version: int, wishes: Mapping[claims.Key, claims.Wish]) -> dict[claims.Key, tuple[int, int]]:
        """Raise own counts as far as there is room; per key what others run, and what stands now. A transaction."""
        with _translated():
            session = self.connection
            return claims.claim(session, self.sub_cluster_id, self.epoch, self.lease_s, version, wishes)

    def renew(self) -> None:
        """Extend the lease of an idle leader."""
        with _translated():
            self.connection.execute(
                "SELECT statestore_fence(%s::smallint, %s, %s)", (self.sub_cluster_id, self.epoch, self.lease_s)
            )

    def commit(self, changes: Changes) -> None:
        """Write the round. Raises ``Fenced`` or ``StoreDown``; after either nothing may be believed."""
        began = time.perf_counter()
        with _translated():
            self.connection.execute("BEGIN")
            self._containers(changes)
            self._jobs(changes)
            self._rest(changes)
            count = sum(map(len, changes.transitions))
            self._log(changes, count)
            # The fence and COMMIT travel as one message: no lease lock waits for this client.
            self.connection.execute(
                f"SELECT statestore_fence({self.sub_cluster_id}::smallint, {self.epoch}, {self.lease_s}, {count});"
                "COMMIT".encode()
            )
        self.last_commit_us = int((time.perf_counter() - began) * 1e6)

    def _copy(self, sql: str, table: np.ndarray) -> None:
        with self.connection.cursor() as cursor, cursor.copy(sql) as copy:
            copy.write(copybin.rows(table))

    def _containers(self, c: Changes) -> None:
        if c.new:
            self._copy(queries.COPY_NEW, np.concatenate(c.new))
        if c.moved:
            self._copy(queries.COPY_MOVED, np.concatenate(c.moved))
            self.connection.execute(queries.MOVE, (self.epoch,))
        if c.ended:
            self._end(np.concatenate(c.ended))
        if c.tasks_first:
            self._copy(queries.COPY_TASKS, np.concatenate(c.tasks_first))
        if c.tasks_again:
            self._copy(queries.COPY_RETOLD, np.concatenate(c.tasks_again))
            self.connection.execute(queries.RETELL)

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
                [j.admitted_us for j in jobs],
                [j.started_us for j in jobs],
                [j.finished_us for j in jobs],
            ]
            self.connection.execute(queries.UPDATE_JOBS, (self.epoch, *columns, self.epoch))
            done = [j.id for j in jobs if j.finished_us]
            if done:
                self.connection.execute(queries.DROP_ASKS, (done, self.sub_cluster_id))
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
        if c.asks:
            keys = list(c.asks)
            columns = [[k[0] for k in keys], [k[1] for k in keys]]
            columns += [[g.target for g in c.asks.values()], [g.ask_version for g in c.asks.values()]]
            self.connection.execute(queries.PUT_ASKS, (self.sub_cluster_id, *columns))

    def _rest(self, c: Changes) -> None:
        if c.events:
            self.connection.execute(queries.ADD_EVENTS, [list(column) for column in zip(*c.events, strict=True)])
        if c.nodes:
            states = list(zip(*c.nodes.values(), strict=True))
            self.connection.execute(queries.UPDATE_NODES, (list(c.nodes), list(states[0]), list(states[1])))
        if c.admissions is not None:
            claims.write(self.connection, self.sub_cluster_id, self.epoch, c.admissions)
        if c.intents:
            self.connection.execute(queries.DONE_INTENTS, (c.intents,))
        if c.usage:
            keys = list(zip(*c.usage, strict=True))
            counts = [sums[0] for sums in c.usage.values()]
            seconds = [[round(sums[i] / 1e6) for sums in c.usage.values()] for i in (1, 2, 3)]
            columns = [*(list(column) for column in keys), counts, *seconds]
            self.connection.execute(queries.ADD_USAGE, (self.sub_cluster_id, *columns))

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
