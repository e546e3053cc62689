"""From decoded JSON to stored jobs: validate, check rights and artifacts, choose homes, store.

Queries per submit, however many jobs: artifacts (only where files are named), nodes (only where they are named),
secrets and receivers (only where they are named), live-job count (every other second), the storing statement.
"""

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from django.conf import settings
from django.db.models import Q

from contract import jobspec
from contract.jobspec import JobSpec
from contract.problems import FieldError
from controlplane.accounts import writes
from controlplane.accounts.models import User
from controlplane.accounts.rights import is_operator
from controlplane.router import cluster, impossible, intake, named, outlook, receivers, secrets
from controlplane.router.intake import Live
from controlplane.statestore.actions import artifacts, jobs
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.actions.jobs import NewGroup, NewJob, Once
from controlplane.statestore.errors import Conflict, Forbidden, Invalid
from controlplane.statestore.models import Artifact, Job, TaskOutput
from controlplane.statestore.queries.jobs.listing import waiting
from controlplane.statestore.queries.jobs.services import as_scaled
from controlplane.statestore.queries.subclusters import places
from controlplane.statestore.queries.subclusters.places import Named
from scheduler.federation.feasible import GroupNeed, Verdict
from scheduler.federation.routing import RoutedJob, RoutingDecision
from wire.states import GroupState, JobState

Json = dict[str, Any]
MAX_ERRORS = 50
UPLOAD = "hydractl artifacts put FILE uploads it (over REST: PUT {}); or correct the digest"
MAX_GROUPS = 10_000  # of all jobs of a request: one of thirty bytes takes kilobytes while it is looked at and stored


def submit_one(user: User, actor: Actor, data: Any, once: Once | None, retry_of: int | None = None) -> Json:
    """Store one job; Job JSON."""
    if once and (earlier := jobs.earlier_answer(user.pk, once)):
        return earlier
    ready = _prepare(user, [data], "")
    (spec,), (new,), (home,) = ready.specs, ready.new, ready.homes
    new = replace(new, retry_of=retry_of)
    more = {"retry_of": retry_of, "warnings": [asdict(each) for each in ready.warnings]}

    def respond(ids: list[int], at: dt.datetime) -> Json:
        return _as_json(ids[0], at, spec, home, user.username) | more

    return jobs.submit(actor, [new], respond, once)


def retry(user: User, actor: Actor, job: Job, once: Once | None) -> Json:
    """Submit an ended job's specification again, as a new job that names it; Job JSON."""
    if job.state not in (JobState.FAILED, JobState.KILLED):
        state = JobState(job.state).name
        raise Conflict(f"job {job.pk} is {state}; only a FAILED or KILLED job can be retried")
    spec = as_scaled(job.spec, job.services) | {"queue": job.queue}  # it may have moved since
    if job.owner_id != user.pk and any(group.get("secrets") for group in spec["groups"]):
        raise Forbidden(f"job {job.pk} uses secrets, and would get yours: only its owner may try it again")
    if job.owner_id != user.pk:
        spec |= {"notify": []}  # receivers of its owner
    if job.kind == Job.Kind.SERVICE:  # those of older versions may say retries, which were never looked at
        spec["groups"] = [group | {"retries": 0} for group in spec["groups"]]
    if job.kind == Job.Kind.APPLICATION:  # its group was made of its master
        spec = {name: value for name, value in spec.items() if name != "groups"}
    return submit_one(user, actor, spec, once, retry_of=job.pk)


def submit_many(user: User, actor: Actor, data: list[Any], once: Once | None) -> Json:
    """Store all the jobs or none; ``{"ids": [...]}`` in their order, with what is to be said of any of them."""
    if once and (earlier := jobs.earlier_answer(user.pk, once)):
        return earlier
    ready = _prepare(user, data, "jobs.{}.")
    warned = [asdict(each) for each in ready.warnings[:MAX_ERRORS]]
    return jobs.submit(actor, ready.new, lambda ids, _: {"ids": ids, "warnings": warned}, once)


def checked(user: User, data: Any, *, files: bool = False) -> tuple[JobSpec, list[FieldError], Json]:
    """The job as a submit would take it, what it would be warned of, and what would become of it now.

    ``Invalid`` as a submit would say. Nothing is stored. files: whether those that it names must be there.
    """
    (spec,) = _sound(user, [data], "", files=files)
    new = _new_job(spec, 0, "", "")
    _check_sizes([new], "")
    intake.check({}, {new.queue: Live(1, new.tasks, new.size)}, cluster.view().queues, "groups")
    needs, warned = _needs(spec), warnings(spec, data)
    verdicts = cluster.verdicts({0: needs}, also_of_one=True)[0]
    return spec, warned, outlook.outlook(user, spec, needs, _ask(spec, user.pk, verdicts))


def warnings(spec: JobSpec, data: Any, prefix: str = "") -> list[FieldError]:
    """What keeps one job from ever starting; data: as it was sent."""
    return jobspec.told(impossible.warnings([spec], {0: _needs(spec)}).get(0, []), data, prefix)


@dataclass(slots=True)
class _Ready:
    """Jobs that can be stored, each with the name of its home; and what is to be said of them."""

    specs: list[JobSpec]
    new: list[NewJob] = field(default_factory=list)
    homes: list[str] = field(default_factory=list)
    warnings: list[FieldError] = field(default_factory=list)


def _prepare(user: User, data: list[Any], prefix: str) -> _Ready:
    specs = _sound(user, data, prefix, files=True)
    ready = _Ready(specs)
    needs = {no: _needs(spec) for no, spec in enumerate(specs)}
    verdicts, warned = cluster.verdicts(needs), impossible.warnings(specs, needs)
    for no, spec in enumerate(specs):
        home, decision = cluster.home(_ask(spec, user.pk, verdicts.get(no, {})))
        said = jobspec.told(warned.get(no, []), data[no], prefix.format(no))
        ready.new.append(_new_job(spec, home.id, _told(home.name, decision), " ".join(each.said() for each in said)))
        ready.homes.append(home.name)
        ready.warnings += said
    _check_sizes(ready.new, prefix)
    claimed: dict[str, Live] = {}
    for job in ready.new:
        claimed[job.queue] = claimed.get(job.queue, Live()).plus(Live(1, job.tasks, job.size))
    cluster.claim_live_jobs(user.pk, claimed, "jobs" if prefix else "groups")
    writes.claim(user, len(ready.new) - 1, sum(job.size for job in ready.new))  # the first is the request itself
    return ready


def _check_sizes(new: list[NewJob], prefix: str) -> None:
    """Each sub-cluster that runs a job keeps what it says in its Redis."""
    most = int(settings.HYDRA["job_max_kib"] * 1024)
    remedy = "put long commands and environments into files, or split the job"
    wrong = [
        FieldError(f"{prefix.format(i)}groups", f"comes to {job.size:,} bytes, at most {most:,} are allowed", remedy)
        for i, job in enumerate(new)
        if job.size > most
    ]
    if wrong:
        raise Invalid("the job says too much" if len(new) == 1 else "some jobs say too much", wrong[:MAX_ERRORS])


def _sound(user: User, data: list[Any], prefix: str, *, files: bool) -> list[JobSpec]:
    """The jobs as they can be stored, with the true sizes of their files; ``Invalid`` with all that is wrong.

    files: whether those that they name must be there.
    """
    groups = sum(len(g) for item in data if isinstance(item, dict) and isinstance(g := item.get("groups"), list))
    if len(data) > 1 and groups > MAX_GROUPS:
        many = f"have {groups} groups together, at most {MAX_GROUPS} are taken at once"
        raise Invalid("too many groups at once", [FieldError("jobs", many, "send them in several requests")])
    specs: dict[int, JobSpec] = {}
    wrong: list[FieldError] = []
    keeps: dict[int, named.Named] = {}  # secrets, by job
    tells: dict[int, named.Named] = {}  # receivers, likewise
    queues = _Queues(user, suggest=len(data) == 1)
    most = int(settings.HYDRA["max_tasks_per_job"])
    for no, item in enumerate(data):
        spec, found = jobspec.parse(item, prefix.format(no), most)
        wrong += found + jobspec.told(queues.refuses(item, spec), item, prefix.format(no))
        if spec is not None:
            specs[no] = spec
        keeps[no] = secrets.named(spec) if spec else named.secrets_in(item)
        tells[no] = receivers.named(spec) if spec else named.receivers_in(item)
        if len(wrong) > MAX_ERRORS:
            break
    if files:
        brought = [(no, where, file) for no, spec in specs.items() for where, file in _files(spec)]
        for no, found in missing_files(user, brought).items():
            wrong += jobspec.told(found, data[no], prefix.format(no))
    for lacking in (secrets.missing(user, keeps), receivers.missing(user, tells)):
        for no, found in lacking.items():
            wrong += jobspec.told(found, data[no], prefix.format(no))
    if wrong:
        raise Invalid("the job has errors" if len(data) == 1 else "some jobs have errors", _first(wrong))
    return list(specs.values())


def _first(wrong: list[FieldError]) -> list[FieldError]:
    """Of very many errors the first, and that there are more."""
    if len(wrong) <= MAX_ERRORS:
        return wrong
    return [*wrong[: MAX_ERRORS - 1], FieldError("", "there are more errors", "correct those that are told first")]


class _Queues:
    """What queues say of jobs; of each queue that an account may not use, once."""

    def __init__(self, user: User, *, suggest: bool) -> None:
        self._user, self._suggest = user, suggest
        self._verdicts: dict[str, FieldError | None] = {}

    def refuses(self, item: Any, spec: JobSpec | None) -> list[FieldError]:
        """What is wrong with the job's queue, or what the queue does not give it. Of a job with errors, the first."""
        path = spec.queue if spec else jobspec.queue_of(item)
        if path is None:
            return []
        if path not in self._verdicts:
            self._verdicts[path] = found = cluster.queue_error(self._user, path, suggest=self._suggest)
            if found:
                return [found]
        if self._verdicts[path] or spec is None:
            return []
        return _beyond_queue(self._user, spec)


def _beyond_queue(user: User, spec: JobSpec) -> list[FieldError]:
    """What the job wants that its queue does not give. A priority left out becomes the queue's usual one."""
    if spec.priority is None:
        spec.priority = cluster.default_priority(spec.queue)
    found = [cluster.priority_error(user, spec.queue, spec.priority)]
    for no, group in enumerate(spec.groups):
        found.append(cluster.partition_error(spec.queue, group.partition, f"groups.{no}.partition"))
    if spec.master and spec.master.container:
        at = "master.container.partition"
        found.append(cluster.partition_error(spec.queue, spec.master.container.partition, at))
    return [e for e in found if e]


def missing_files(user: User, named: list[tuple[int, str, Any]]) -> dict[int, list[FieldError]]:
    """What names an artifact that is not there or not the user's; the true sizes of the others are filled in.

    named: a job's position, a field's name in it, and its file. The answer is by position.
    """
    found: dict[int, list[FieldError]] = {}
    digests = {f.digest for _, _, f in named}
    sizes = _usable(user, digests) if digests else {}
    for no, where, f in named:
        if f.digest in sizes:
            f.size = sizes[f.digest]
        else:
            missing = f"you have not uploaded {f.digest[:12]}..., which {f.path} is to hold"
            remedy = UPLOAD.format(f"/api/v1/artifacts/{f.digest}")
            found.setdefault(no, []).append(FieldError(f"{where}.digest", missing, remedy))
    if digests and not found:
        artifacts.touch(digests)
    return found


def check_files(user: User, named: list[tuple[str, Any]]) -> None:
    """Each of these, a field's name and its file, is an artifact of the user's; their true sizes are filled in."""
    if wrong := missing_files(user, [(0, where, f) for where, f in named]):
        raise Invalid("the job names files that are not there", _first(wrong[0]))


def _files(spec: JobSpec) -> list[tuple[str, Any]]:
    found = [(f"files.{i}", f) for i, f in enumerate(spec.files)]
    for no, group in enumerate(spec.groups):
        found += [(f"groups.{no}.files.{i}", f) for i, f in enumerate(group.files)]
    return found


def _usable(user: User, digests: set[str]) -> dict[str, int]:
    """Of these digests, those the account may use, with their sizes: what it uploaded, and outputs of its jobs."""
    found = Artifact.objects.filter(digest__in=digests)
    if not is_operator(user):
        own = TaskOutput.objects.filter(job__owner_id=user.pk, digest__in=digests).values("digest")
        found = found.filter(Q(artifactowner__owner_id=user.pk) | Q(digest__in=own))
    return dict(found.values_list("digest", "size"))


def _needs(spec: JobSpec) -> list[GroupNeed]:
    """What nodes must be like to hold its groups."""
    found = []
    for g in spec.groups:
        named = tuple(g.locality.nodes), tuple(g.locality.racks)
        partition = cluster.partition_of(spec.queue, g.partition)
        strict = not g.locality.relax
        found.append(GroupNeed(g.count, g.resources.amounts, g.gang, g.node_labels, strict, *named, partition))
    return found


def _ask(spec: JobSpec, owner_id: int, verdicts: Mapping[int, Verdict]) -> RoutedJob:
    owned: dict[int, int] = {}
    if cluster.follows_names(spec.queue):
        named = [Named(g.count, g.locality.nodes, g.locality.racks, g.node_labels) for g in spec.groups]
        owned = places.owned({0: named})[0]
    containers = sum(g.count for g in spec.groups)
    return RoutedJob(spec.name, spec.queue, owner_id, spec.demand, containers, owned, verdicts)


def _told(home: str, decision: RoutingDecision) -> str:
    """What the job's events say of its home."""
    return f"routed to {home} by {decision.policy} ({decision.why})"


def _new_job(spec: JobSpec, home_id: int, routed: str, warned: str) -> NewJob:
    groups = tuple(
        NewGroup(
            g.name,
            g.count,
            g.resources.amounts,
            g.execution_type == "opportunistic",
            bool(g.after),
        )
        for g in spec.groups
    )
    return NewJob(
        spec.name,
        spec.kind,
        spec.queue,
        spec.priority or 0,
        json.dumps(spec.tags),
        spec.model_dump_json(),
        home_id,
        groups,
        routed=routed,
        warned=warned,
        files=tuple({f.digest for _, f in _files(spec)}),
        of_all=sum(len(file.model_dump_json()) for file in spec.files),
    )


def _as_json(job_id: int, at: dt.datetime, spec: JobSpec, home: str, owner: str) -> Json:
    """Job JSON of a job just stored, as the list would show it. JSON values only, for it is kept with the key."""
    groups = [
        {
            "no": no,
            "name": g.name,
            "count": g.count,
            "state": (GroupState.WAITING if g.after else GroupState.PENDING).name,
            "pending": g.count,
            "running": 0,
            "succeeded": 0,
            "failed": 0,
            "killed": 0,
            "retried": 0,
            "restarting": 0,
            "resources": g.resources.model_dump(),
            "after": g.after,
            "reason": None,
            "started_at": None,
            "finished_at": None,
        }
        for no, g in enumerate(spec.groups)
    ]
    return {
        "id": job_id,
        "name": spec.name,
        "kind": spec.kind,
        "queue": spec.queue,
        "owner": owner,
        "priority": spec.priority,
        "tags": spec.tags,
        "state": JobState.SUBMITTED.name,
        "message": "",
        "home": home,
        "submitted_at": at.astimezone(dt.UTC).isoformat().replace("+00:00", "Z"),
        "admitted_at": None,
        "started_at": None,
        "finished_at": None,
        "groups": groups,
        "waiting": waiting(JobState.SUBMITTED, home, groups),
    }
