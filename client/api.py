"""``Client``: the cluster's REST API as typed Python.

Every call that can safely be repeated is, for ``retry_s`` seconds, while the
server is away (connection errors, 502, 503, 504) or says to slow down (429).
"""

from __future__ import annotations

import hashlib
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, TypeVar
from urllib.parse import parse_qs, quote, urlsplit

import httpx

from client import answers, config, jobfile
from client.accounts import AccountCalls
from client.comparison import ComparisonCalls
from client.conversion import Brought, Spec, taken
from client.copying import CopyCalls
from client.errors import HydraError, client_error, locating
from client.jobcalls import JobCalls
from client.logcalls import PATIENCE_S, LogCalls
from client.policycalls import PolicyCalls
from client.queuecalls import QueueCalls
from client.receivercalls import ReceiverCalls
from client.rollouts import RolloutCalls
from client.schedulecalls import ScheduleCalls
from client.series import SeriesCalls
from client.simulations import SimulationCalls
from client.subclusters import SubClusterCalls
from client.transport import Transport
from contract.accounts import Login, Me
from contract.artifacts import Kept, KeptArtifact
from contract.base import Answer
from contract.jobs import (
    Artifact,
    Container,
    Endpoint,
    Event,
    Job,
    JobDetail,
    JobPlaces,
    JobSubmitted,
    Output,
    Task,
)
from contract.jobusage import JobUsage
from contract.logsearch import FoundLine
from contract.nodes import DrainPreview, Maintenance, Node, NodeContainer
from contract.queues import Queue, QueueRight
from contract.subclusters import Overview, SubCluster
from contract.waiting import JobExplanation
from wire.arrays import Scalar

A = TypeVar("A", bound=Answer)
OnUpload = Callable[[jobfile.LocalFile, int], None]  # the file, bytes sent so far; its size at once when it is there
PREFIX = "/api/v1"
_BLOCK_BYTES = 256 * 1024
_POLL_MIN_S, _POLL_MAX_S = 0.1, 1.0


class Client(
    JobCalls,
    ScheduleCalls,
    LogCalls,
    CopyCalls,
    PolicyCalls,
    RolloutCalls,
    SubClusterCalls,
    ComparisonCalls,
    AccountCalls,
    ReceiverCalls,
    QueueCalls,
    SeriesCalls,
    SimulationCalls,
):
    """One server and one account. Safe to use from several threads; close it, or use it in ``with``."""

    def __init__(self, url: str, token: str | None = None, *, timeout_s: float = 30.0, retry_s: float = 30.0) -> None:
        self._transport = Transport(url, token, timeout_s=timeout_s, retry_s=retry_s)

    @classmethod
    def logged_in(cls) -> Client:
        """By the login that ``hydractl`` uses; HYDRA_URL and HYDRA_TOKEN override it here too."""
        where = config.current()
        return cls(where.url, where.token)

    @property
    def url(self) -> str:
        return self._transport.url

    def now(self) -> datetime:
        """The server's time, by the last of its answers."""
        return self._transport.now()

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # -- account ------------------------------------------------------------------------------------------------

    def login(self, username: str, password: str) -> Login:
        """Get a token; this client uses it from then on."""
        body = {"username": username, "password": password}
        found = answers.read(Login, self._transport.request("POST", f"{PREFIX}/auth/login", json=body).json())
        self._transport.use(found.token)
        return found

    def logout(self) -> None:
        """Make this client's token worthless."""
        self._transport.request("POST", f"{PREFIX}/auth/logout")

    def me(self) -> Me:
        return answers.read(Me, self._get("/me"))

    # -- jobs ---------------------------------------------------------------------------------------------------

    def submit(
        self,
        job: Spec | str | Path,
        *,
        parameters: Mapping[str, Scalar] | None = None,
        idempotency_key: str | None = None,
        on_upload: OnUpload | None = None,
        accept_losses: bool = False,
    ) -> JobSubmitted:
        """Upload the files a job brings and submit it; returns once the cluster will not forget it.

        ``warnings`` of the answer say what keeps it from ever starting.
        ``job`` is a job file's path, or the same as a dict (its sources relative to the working folder); or the path of
        a batch script or a Kubernetes Job, which is converted. What that loses of it is refused as ``InvalidJob``
        unless ``accept_losses``; ``client.convert`` tells it before. ``parameters``: values of those that the job
        declares.
        A repeat with the same ``idempotency_key`` returns the first answer; by default every call has its own.
        """
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        found = taken(job, accept_losses=accept_losses)
        packed = self._packed(found, parameters, on_upload)
        body = packed.spec
        with locating(found.source), packed.as_written():
            answer = self._transport.request("POST", f"{PREFIX}/jobs", json=body, headers=headers, repeatable=True)
        return answers.read(JobSubmitted, answer.json())

    def submit_many(
        self, jobs: Sequence[Spec | str | Path], *, idempotency_key: str | None = None, accept_losses: bool = False
    ) -> list[int]:
        """Submit up to 1000 jobs, each as ``submit`` takes one, all or none; returns their ids in order."""
        headers = {"Idempotency-Key": idempotency_key or uuid.uuid4().hex}
        found = [taken(job, accept_losses=accept_losses) for job in jobs]
        body = {"jobs": [self._packed(each).spec for each in found]}
        answer = self._transport.request("POST", f"{PREFIX}/jobs/bulk", json=body, headers=headers, repeatable=True)
        return [int(each) for each in answer.json()["ids"]]

    def job(self, job_id: int, *, patience_s: float | None = None) -> JobDetail:
        return answers.read(JobDetail, self._get(f"/jobs/{job_id}", patience_s=patience_s))

    def explain(self, job_id: int) -> JobExplanation:
        """Why each group of the job waits, with numbers, an estimate and the smallest change that would start it."""
        return answers.read(JobExplanation, self._get(f"/jobs/{job_id}/explain"))

    def jobs(self, *, page_size: int = 100, **filters: str | None) -> Iterator[Job]:
        """Newest first. Filters: state, queue (and below), owner, tag, name, kind, node, since, until (ISO), order."""
        return self._pages("/jobs", Job, {**filters, "page_size": page_size})

    def wait(
        self,
        job_id: int,
        on_change: Callable[[Job], None] | None = None,
        *,
        timeout_s: float | None = None,
        patience_s: float = PATIENCE_S,
    ) -> JobDetail:
        """Until the job has ended; ``on_change`` gets the job at first and whenever it differs.

        ``TimeoutError`` after ``timeout_s``. A server that is away is waited for, ``patience_s`` at a time.
        """
        end = None if timeout_s is None else time.monotonic() + timeout_s
        seen: Job | None = None
        pause_s = _POLL_MIN_S
        while True:
            job = self.job(job_id, patience_s=patience_s)
            changed = job != seen
            if changed and on_change:
                on_change(job)
            if job.ended:
                return job
            if end is not None and time.monotonic() >= end:
                raise TimeoutError(f"job {job_id} is {job.state} after {timeout_s} s")
            seen = job
            pause_s = _POLL_MIN_S if changed else min(pause_s * 1.5, _POLL_MAX_S)
            time.sleep(pause_s)

    def kill(self, job_id: int, message: str = "") -> None:
        """Ask for a job's end; ``wait`` for it. A repeat changes nothing."""
        self._post(f"/jobs/{job_id}/kill", {"message": message} if message else {}, repeatable=True)

    def retry(self, job_id: int) -> JobSubmitted:
        """Submit a failed or killed job again; the new job, which names the old one in ``retry_of``."""
        headers = {"Idempotency-Key": uuid.uuid4().hex}
        path = f"{PREFIX}/jobs/{job_id}/retry"
        answer = self._transport.request("POST", path, json={}, headers=headers, repeatable=True)
        return answers.read(JobSubmitted, answer.json())

    def priority(self, job_id: int, priority: int) -> None:
        """Ask for another priority, -500 to 499; higher goes first."""
        self._post(f"/jobs/{job_id}/priority", {"priority": priority}, repeatable=True)

    def tasks(
        self, job_id: int, *, group: str | None = None, state: str | None = None, page_size: int = 500
    ) -> Iterator[Task]:
        return self._pages(f"/jobs/{job_id}/tasks", Task, {"group": group, "state": state, "page_size": page_size})

    def containers(
        self, job_id: int, *, task: str | None = None, newest_first: bool = False, page_size: int = 500
    ) -> Iterator[Container]:
        """The job's attempts; ``task`` is ``group/index``. newest_first: of a task, which is named then."""
        order = {"order": "newest"} if newest_first else {}
        return self._pages(f"/jobs/{job_id}/containers", Container, {"task": task, "page_size": page_size} | order)

    def job_places(self, job_id: int) -> JobPlaces:
        """The sub-clusters in which the job was given containers, the first one first."""
        return answers.read(JobPlaces, self._get(f"/jobs/{job_id}/places"))

    def job_usage(self, job_id: int) -> JobUsage:
        """What the job's ended attempts used of what they asked for, by group, and a size that would do."""
        return answers.read(JobUsage, self._get(f"/jobs/{job_id}/usage"))

    def events(self, job_id: int, *, newest_first: bool = False) -> Iterator[Event]:
        order = {"order": "newest"} if newest_first else {}
        return self._pages(f"/jobs/{job_id}/events", Event, {"page_size": 500} | order)

    def find_in_logs(
        self, job_id: int, contains: str, *, group: str | None = None, stream: str | None = None
    ) -> Iterator[FoundLine]:
        """Lines that hold a text, in whatever case, in all that the job's tasks, or those of one ``group``, have
        written so far to stdout and stderr, or to one ``stream``: every attempt, by task and age.

        The server looks for them; only what it finds is sent.
        """
        params = {"contains": contains, "group": group, "stream": stream, "page_size": 1000}
        return self._pages(f"/jobs/{job_id}/logs", FoundLine, params)

    def outputs(self, job_id: int) -> Iterator[Output]:
        """The files that the job's tasks have left behind, each task's valid attempt only."""
        return self._pages(f"/jobs/{job_id}/outputs", Output, {"page_size": 500})

    def endpoints(self, job_id: int) -> Iterator[Endpoint]:
        """Where the job's tasks serve, now."""
        return self._pages(f"/jobs/{job_id}/endpoints", Endpoint, {"page_size": 500})

    # -- artifacts ----------------------------------------------------------------------------------------------

    def has_artifact(self, digest: str) -> bool:
        """Whether the server holds these bytes and you may use them."""
        try:
            self._transport.request("HEAD", f"{PREFIX}/artifacts/{_hex(digest)}")
        except HydraError as error:
            if error.status in (403, 404):
                return False
            raise
        return True

    def upload(self, source: str | Path, on_upload: OnUpload | None = None) -> Artifact:
        """Put a file there, unless it is there already."""
        local = jobfile.read_file(Path(source))
        self._put(local, on_upload)
        return Artifact(digest=local.digest, size=local.size)

    def upload_all(self, files: Sequence[jobfile.LocalFile], on_upload: OnUpload | None = None) -> None:
        """Put several files there, a few at a time; ``on_upload`` is called from several threads."""
        if files:
            with ThreadPoolExecutor(max_workers=4) as pool:
                for done in [pool.submit(self._put, local, on_upload) for local in files]:
                    done.result()

    def artifacts(self) -> Iterator[KeptArtifact]:
        """What you keep, the largest first: what you have uploaded, and what your tasks have left."""
        return self._pages("/artifacts", KeptArtifact, {"page_size": 500})

    def artifacts_kept(self) -> Kept:
        """How much that is, and how much you may keep."""
        return answers.read(Kept, self._get("/artifacts", {"page_size": 1})["kept"])

    def delete_artifact(self, digest: str) -> None:
        """Keep it no longer, neither as a file nor as an output of ended jobs; it goes if nobody else keeps it."""
        self._transport.request("DELETE", f"{PREFIX}/artifacts/{_hex(digest)}")

    def download(self, digest: str, target: str | Path, on_bytes: Callable[[int], None] | None = None) -> Path:
        """Fetch an artifact into the file ``target``, which appears only once its digest was checked."""
        target = Path(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = target.with_name(f".{uuid.uuid4().hex}.part")
        try:
            self._fetch(digest, temporary, on_bytes)
            temporary.replace(target)
        except OSError as error:
            error.filename, error.filename2 = str(target), None  # nobody knows the other name
            raise
        finally:
            temporary.unlink(missing_ok=True)
        return target

    def _fetch(self, digest: str, target: Path, on_bytes: Callable[[int], None] | None) -> None:
        def take(answer: httpx.Response) -> None:
            found = hashlib.sha256()
            got = 0
            with target.open("wb") as file:  # from the start, also when this is a second try
                for block in answer.iter_bytes(_BLOCK_BYTES):
                    file.write(block)
                    found.update(block)
                    got += len(block)
                    if on_bytes:
                        on_bytes(got)
            if found.hexdigest() != digest:
                raise client_error(
                    f"what the server sent as {digest[:12]} has another digest ({got} bytes)",
                    remedy="Try again; if it stays so, the stored file is damaged: tell the operator.",
                )

        self._transport.stream(f"{PREFIX}/artifacts/{_hex(digest)}", take)

    def _packed(
        self,
        job: Brought,
        parameters: Mapping[str, Scalar] | None = None,
        on_upload: OnUpload | None = None,
    ) -> jobfile.Packed:
        """What the server is sent of a job, whose files are there then."""
        with locating(job.source):
            packed = jobfile.pack(jobfile.given(job.spec, parameters), job.base)
        self.upload_all(packed.uploads, on_upload)
        return packed

    def _put(self, local: jobfile.LocalFile, on_upload: OnUpload | None) -> None:
        tell = on_upload or (lambda _file, _sent: None)
        if not self.has_artifact(local.digest):
            self._transport.request(
                "PUT",
                f"{PREFIX}/artifacts/{local.digest}",
                body=lambda: _blocks(local, tell),
                headers={"Content-Type": "application/octet-stream", "Content-Length": str(local.size)},
            )
        tell(local, local.size)

    # -- the cluster --------------------------------------------------------------------------------------------

    def queues(self) -> list[Queue]:
        return list(self._pages("/queues", Queue, {}))

    def nodes(
        self, *, sub_cluster: str | None = None, name: str | None = None, contains: str | None = None
    ) -> Iterator[Node]:
        """``contains``: only those whose name does."""
        asked = {"sub_cluster": sub_cluster, "name": name, "contains": contains, "page_size": 500}
        return self._pages("/nodes", Node, asked)

    def node(self, node_id: int) -> Node:
        return answers.read(Node, self._get(f"/nodes/{node_id}"))

    def node_containers(self, node_id: int) -> Iterator[NodeContainer]:
        """What runs there now, of the jobs you may see."""
        return self._pages(f"/nodes/{node_id}/containers", NodeContainer, {"page_size": 500})

    def cordon(self, node_id: int, message: str = "") -> Node:
        """The node takes no new containers; what runs there runs on."""
        return self._duty(node_id, "cordon", message=message)

    def uncordon(self, node_id: int, message: str = "") -> Node:
        """The node takes containers again, whatever it was taken out for."""
        return self._duty(node_id, "uncordon", message=message)

    def drain(self, node_id: int, *, deadline_s: int | None = 3600, message: str = "") -> Node:
        """Empty the node: services move at once, the rest is stopped at the deadline (None: never)."""
        return self._duty(node_id, "drain", deadline_s=deadline_s, message=message)

    def drain_preview(self, node_id: int, *, deadline_s: int | None = 3600) -> DrainPreview:
        """What ``drain`` would do now."""
        return answers.read(DrainPreview, self._get(f"/nodes/{node_id}/drain", {"deadline_s": deadline_s}))

    def decommission(
        self, node_id: int, *, deadline_s: int | None = 3600, message: str = "", now: bool = False
    ) -> Node:
        """Drain the node; once it is empty it leaves for good. ``now``: without waiting."""
        return self._duty(node_id, "decommission", deadline_s=deadline_s, message=message, now=now)

    def _duty(self, node_id: int, what: str, **body: Any) -> Node:
        path = f"{PREFIX}/nodes/{node_id}/{what}"
        return answers.read(Node, self._transport.request("POST", path, json=body, repeatable=True).json())

    def maintenance(self) -> list[Maintenance]:
        """Windows that are planned or active, the next one first."""
        return list(self._pages("/maintenance", Maintenance, {}))

    def add_maintenance(self, sub_cluster: str, starts_at: datetime, ends_at: datetime, **more: Any) -> Maintenance:
        """``more``: one of node, rack and labels; lead_s, message. Times with their zone."""
        times = {"starts_at": starts_at.isoformat(), "ends_at": ends_at.isoformat()}
        body = {"sub_cluster": sub_cluster, **times, **more}
        return answers.read(Maintenance, self._transport.request("POST", f"{PREFIX}/maintenance", json=body).json())

    def cancel_maintenance(self, window_id: int) -> Maintenance:
        path = f"{PREFIX}/maintenance/{window_id}/cancel"
        return answers.read(Maintenance, self._transport.request("POST", path, json={}, repeatable=True).json())

    def sub_clusters(self) -> list[SubCluster]:
        return list(self._pages("/sub-clusters", SubCluster, {}))

    def overview(self) -> Overview:
        return answers.read(Overview, self._get("/overview"))

    # -- rights, for operators -------------------------------------------------------------------------------------

    def queue_rights(self, path: str) -> list[QueueRight]:
        return list(self._pages(f"/queues/{quote(path, safe='')}/rights", QueueRight, {}))

    def grant_queue(self, path: str, user: str, level: str = "submit") -> None:
        """Let an account use a queue and all below it; ``level``: submit or admin."""
        address = f"{PREFIX}/queues/{quote(path, safe='')}/rights"
        self._transport.request("PUT", address, json={"user": user, "level": level})

    def withdraw_queue(self, path: str, user: str) -> None:
        address = f"{PREFIX}/queues/{quote(path, safe='')}/rights"
        self._transport.request("DELETE", address, params={"user": user})

    # -- plumbing -----------------------------------------------------------------------------------------------

    def _get(
        self,
        path: str,
        params: dict[str, Any] | None = None,
        *,
        patience_s: float | None = None,
        timeout_s: float | None = None,
    ) -> Any:
        return self._transport.request(
            "GET", PREFIX + path, params=params, patience_s=patience_s, timeout_s=timeout_s
        ).json()

    def _post(self, path: str, body: Spec, *, repeatable: bool) -> None:
        self._transport.request("POST", PREFIX + path, json=body, repeatable=repeatable)

    def _pages(self, path: str, kind: type[A], params: dict[str, Any]) -> Iterator[A]:
        """Every element of a list, page by page, fetched as it is needed."""
        while True:
            page = self._get(path, params)
            rows = page if isinstance(page, list) else page["results"]
            for row in rows:
                yield answers.read(kind, row)
            onward = None if isinstance(page, list) else page.get("next")
            if not onward:
                return
            # Only the query: the server may know itself by another address than we do.
            params = {key: values[-1] for key, values in parse_qs(urlsplit(onward).query).items()}


def _blocks(local: jobfile.LocalFile, tell: OnUpload) -> Iterator[bytes]:
    """The file in pieces; ``HydraError`` when it is no longer the file that was read for its digest."""
    sent = 0
    found = hashlib.sha256()
    with local.source.open("rb") as file:
        while block := file.read(_BLOCK_BYTES):
            sent += len(block)
            found.update(block)
            if sent > local.size:
                break
            if sent == local.size and found.hexdigest() != local.digest:
                break
            yield block
            if sent < local.size:  # the end is told once the server has confirmed it
                tell(local, sent)
        else:
            if sent == local.size:
                return
    raise client_error(
        f"{local.source} changed while it was uploaded", field_name="source", remedy="Submit again when it is at rest."
    )


def _hex(digest: str) -> str:
    if len(digest) != 64 or any(c not in "0123456789abcdef" for c in digest):
        raise client_error(
            f"not a digest: {digest[:80]!r}", field_name="digest", remedy="Give a SHA-256 as 64 hexadecimal digits."
        )
    return digest
