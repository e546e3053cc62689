"""An Airflow operator whose task is a Hydra job, followed to its end.

from client.airflow import HydraOperator

census = HydraOperator(task_id="census", job="census/job.yaml", parameters={"day": "{{ ds }}"})

Needs Airflow 2.9 or newer, also 3: ``pip install '.[airflow]'`` in a clone.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    from airflow.triggers.base import BaseTrigger, TriggerEvent

    try:
        from airflow.sdk import BaseOperator
        from airflow.sdk.bases.hook import BaseHook
    except ImportError:  # before Airflow 3
        from airflow.hooks.base import BaseHook
        from airflow.models import BaseOperator
    try:
        from airflow.sdk.exceptions import AirflowException, AirflowFailException
    except ImportError:  # before 3.2
        from airflow.exceptions import AirflowException, AirflowFailException
except ImportError as missing:
    raise ImportError("the operator needs Airflow; in a clone of this project: pip install '.[airflow]'") from missing

from client import config, jobfile
from client.api import Client
from client.config import Context
from client.errors import HydraError, Unreachable, client_error, locating
from client.follow import Printer, follow_job, where_it_says
from client.logcalls import PATIENCE_S
from client.progress import Lines, headline
from contract.jobs import JobDetail

logging.getLogger("httpx").setLevel(logging.WARNING)  # a line for each request otherwise; Airflow 3 does the same
CONNECTION = "hydra_default"
TRIGGER = "client.airflow.HydraTrigger"
_KILL_S = 5.0  # Airflow ends a task's process soon after it has asked it to end
_WORTH_ANOTHER_TRY = frozenset({429, 502, 503, 504})


class HydraOperator(BaseOperator):  # type: ignore[misc]
    """Submits a job, writes what its tasks write into Airflow's log, and succeeds if the job does.

    job: a job file's path, relative to the DAG's file, or the same as a dict, whose texts are Airflow's templates.
    parameters: values of those that the job declares. Both are templated; a file's text is not. hydra_conn_id: a
    connection with the server's address and, as its password, a token; None: the login of ``hydractl`` on the worker,
    or HYDRA_URL and HYDRA_TOKEN there. deferrable: a triggerer waits, which looks every ``poll_s`` seconds, and no
    worker does; what tasks write is in the log after the end then.

    XCom has ``job_id`` as soon as there is one, ``state`` after the end, and both as the task's result. A retry of the
    Airflow task goes on with the job of the try before, unless that one has failed. Ending the task kills the job.
    """

    template_fields: Sequence[str] = ("job", "parameters")
    template_fields_renderers = {"job": "json", "parameters": "json"}

    def __init__(
        self,
        *,
        job: str | dict[str, Any],
        parameters: Mapping[str, Any] | None = None,
        hydra_conn_id: str | None = CONNECTION,
        show_log: bool = True,
        deferrable: bool = False,
        poll_s: float = 10.0,
        **more: Any,
    ) -> None:
        super().__init__(**more)
        if isinstance(job, dict) and "${{" in json.dumps(job, default=str):
            raise ValueError(
                "the job says ${{ ... }}, of which Airflow's templates would leave a $; say {{ ... }} instead, or "
                "write the job as a file and give its path"
            )
        self.job, self.parameters = job, parameters
        self.hydra_conn_id, self.show_log = hydra_conn_id, show_log
        self.deferrable, self.poll_s = deferrable, poll_s
        self._runs: tuple[Context, int] | None = None

    # -- what Airflow asks --------------------------------------------------------------------------------------

    def execute(self, context: Any) -> dict[str, Any]:
        with _refused():
            where = server(self.hydra_conn_id)
        with Client(where.url, where.token) as hydra:
            job_id = self._begin(hydra, context)
            self._runs = where, job_id
            self.log.info("job %s: %s/jobs/%s", job_id, hydra.url, job_id)
            context["ti"].xcom_push(key="job_id", value=job_id)
            if self.deferrable and not hydra.job(job_id).ended:
                self.defer(
                    trigger=HydraTrigger(job_id, self.hydra_conn_id, self.poll_s),
                    method_name="execute_complete",
                    timeout=self.execution_timeout,
                )
            return self._attend(hydra, job_id, context)

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        """After the triggerer has seen the job's end, or why it cannot."""
        if why := event.get("error"):
            raise AirflowException(why)
        where = server(self.hydra_conn_id)
        with Client(where.url, where.token) as hydra:
            return self._attend(hydra, event["job_id"], context)

    def on_kill(self) -> None:
        """Kill the job: in a thread, as this is a signal's handler and may have interrupted whoever holds a lock."""
        if self._runs is not None:
            killing = threading.Thread(target=kill, args=self._runs)
            killing.start()
            killing.join(_KILL_S)

    # -- the job ------------------------------------------------------------------------------------------------

    def _begin(self, hydra: Client, context: Any) -> int:
        """Submit the job, or find the one that an earlier try has submitted: the number of the job.

        Each try submits one job at most. So those of the tries before are found under their keys, the first of them
        that has not failed is gone on with, and a key that no try has used is this one's.
        """
        with _refused():
            spec, text, base = self._read(Path(self.dag.fileloc).parent)
            with locating(text):
                packed = jobfile.pack(jobfile.given(spec, self.parameters), base)
                if packed.spec.get("kind") == "service":
                    raise client_error(
                        "a service never ends", field_name="kind", remedy="Leave it out, for a batch job."
                    )
                hydra.upload_all(packed.uploads)
                name, tries = _identity(context["ti"], self.retries, packed.spec)
                for number in range(1, tries + 1):
                    with packed.as_written():
                        job_id = hydra.submit(packed.spec, idempotency_key=f"airflow-{name}-{number}").id
                    job = hydra.job(job_id)
                    if job.succeeded or not job.ended:
                        break
        return job_id

    def _read(self, folder: Path) -> tuple[dict[str, Any], str | None, Path]:
        """The job as it is written, its file's text, and the folder that its files are relative to."""
        if isinstance(self.job, dict):
            return self.job, None, folder
        path = folder / self.job
        text = jobfile.read_text(path)
        return jobfile.parse(text, path), text, path.parent

    def _attend(self, hydra: Client, job_id: int, context: Any) -> dict[str, Any]:
        """Until the end, and what it comes to. Raises ``AirflowException`` in the job's own words."""
        try:
            lines = _Lines(self.log.info)
            following = follow_job(hydra, job_id, printer=lines, note=self.log.info) if self.show_log else []
            done = hydra.wait(job_id, Lines(self.log.info).show)
            for thread in following:
                thread.join()
        except HydraError as error:
            raise AirflowException(f"job {job_id}: {error}") from error
        return self._outcome(hydra, done, context)

    def _outcome(self, hydra: Client, done: JobDetail, context: Any) -> dict[str, Any]:
        context["ti"].xcom_push(key="state", value=done.state)
        if not done.succeeded:
            raise AirflowException(f"{headline(done)}. Look at: {where_it_says(hydra, done)}")
        return {"job_id": done.id, "state": done.state}


class HydraTrigger(BaseTrigger):  # type: ignore[misc]
    """Fires when a job has ended: ``job_id``, or ``error`` where nobody can say."""

    def __init__(self, job_id: int, hydra_conn_id: str | None, poll_s: float) -> None:
        super().__init__()
        self.job_id, self.hydra_conn_id, self.poll_s = job_id, hydra_conn_id, poll_s

    def serialize(self) -> tuple[str, dict[str, Any]]:
        return TRIGGER, {"job_id": self.job_id, "hydra_conn_id": self.hydra_conn_id, "poll_s": self.poll_s}

    async def run(self) -> AsyncIterator[TriggerEvent]:
        try:
            where = await asyncio.to_thread(server, self.hydra_conn_id)
            with Client(where.url, where.token) as hydra:
                while True:
                    job = await asyncio.to_thread(hydra.job, self.job_id, patience_s=PATIENCE_S)
                    if job.ended:
                        break
                    await asyncio.sleep(self.poll_s)
            yield TriggerEvent({"job_id": self.job_id})
        except HydraError as error:
            yield TriggerEvent({"job_id": self.job_id, "error": f"job {self.job_id}: {error}"})

    async def on_kill(self) -> None:
        """Kill the job, as somebody has ended the deferred task. Airflow calls it from 3.3 on."""
        await asyncio.to_thread(lambda: kill(server(self.hydra_conn_id), self.job_id))


def kill(where: Context, job_id: int) -> None:
    """With a client of its own: nobody waits for another's requests."""
    with Client(where.url, where.token, retry_s=_KILL_S) as hydra:
        hydra.kill(job_id, "its Airflow task was ended")


def server(conn_id: str | None) -> Context:
    """Address and token that Airflow knows under that name; None: of the login of ``hydractl`` here."""
    if conn_id is None:
        return config.current()
    found = BaseHook.get_connection(conn_id)
    return Context(_address(found), token=found.password or None)


def _address(connection: Any) -> str:
    """The server's, of a connection whose host is all of it, or just a name."""
    host = connection.host or ""
    if "://" in host:
        return str(host)
    if not host:
        raise client_error(
            f"the Airflow connection {connection.conn_id!r} names no host",
            field_name="host",
            remedy="Give it the server's address, like https://hydra.example.org, and a token as the password.",
        )
    kind = connection.conn_type if connection.conn_type in ("http", "https") else "https"
    name = f"[{host}]" if ":" in host else host
    return f"{connection.schema or kind}://{name}" + (f":{connection.port}" if connection.port else "")


def _identity(ti: Any, retries: int, spec: dict[str, Any]) -> tuple[str, int]:
    """A name that all tries of an Airflow task have, for this job, and the number of the try among them, from 1.

    Who clears a task wants it to run again: that raises ``max_tries``, and the tries from then on have another name.
    """
    before = max(0, ti.max_tries - retries)  # tries before it was cleared
    where = [ti.dag_id, ti.run_id, ti.task_id, ti.map_index, before, spec]
    name = hashlib.sha256(json.dumps(where, sort_keys=True, default=str).encode()).hexdigest()
    return name[:40], max(1, ti.try_number - before)


class _Lines(Printer):
    """Into Airflow's log, a line each, under the task's name."""

    def __init__(self, tell: Callable[[str], object]) -> None:
        super().__init__(prefixed=True, both=True)
        self._tell = tell

    def _write(self, text: str) -> None:
        for line in text.splitlines():
            self._tell(line)


@contextmanager
def _refused() -> Iterator[None]:
    """What is refused and would be so again fails the Airflow task for good, all else may be tried again."""
    try:
        yield
    except HydraError as error:
        away = isinstance(error, Unreachable) or error.status in _WORTH_ANOTHER_TRY
        raise (AirflowException if away else AirflowFailException)("\n".join(error.lines())) from error
