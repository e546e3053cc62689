"""The jobs of sub-clusters that others lead, for who reads them ahead: a session of its own, that only reads."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import psycopg
from psycopg.types.json import set_json_loads
from pydantic_core import from_json

from controlplane.rm.adapters import queries
from controlplane.rm.adapters.named import read
from controlplane.rm.rows import JobRow
from controlplane.statestore.membership import conninfo

SPEC_BYTES = 4096  # what jobs with more run is long; they are few


class JobSource:
    """``readahead.Source`` over a session. Raises ``psycopg.Error``."""

    def __init__(self, session: psycopg.Connection) -> None:
        self.session = session
        set_json_loads(from_json, session)

    def live(self, sub: int) -> list[int]:
        return [job for (job,) in self.session.execute(queries.AHEAD, (sub, SPEC_BYTES), binary=True)]

    def jobs(self, ids: Sequence[int]) -> list[JobRow]:
        return read(self.session, JobRow, queries.JOBS, (list(ids),))


@contextmanager
def job_source() -> Iterator[JobSource]:
    with psycopg.connect(conninfo("rm:ahead"), autocommit=True) as session:
        yield JobSource(session)
