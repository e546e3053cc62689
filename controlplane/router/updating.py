"""Other numbers of tasks and other specifications for services: checked as a submit is, and what cannot change."""

import json
from dataclasses import replace
from typing import Any

from django.conf import settings

from contract.jobs import RollbackRequest, RolloutRequest, ScaleRequest, UpdateRequest
from contract.jobspec import GroupSpec, JobSpec, parse
from contract.problems import FieldError
from controlplane.accounts import writes
from controlplane.accounts.models import User
from controlplane.accounts.rights import is_operator
from controlplane.router import cluster, differences, secrets, submission
from controlplane.router.intake import Live
from controlplane.statestore.actions import services as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.errors import Conflict, Invalid
from controlplane.statestore.models import Job
from controlplane.statestore.queries.jobs import services

Json = dict[str, Any]
# What decides whose nodes it is placed on, and when; or says how many tasks of what kind there are.
KEPT = (
    "partition", "gang", "parallelism", "execution_type", "inputs", "after", "retries", "array",
)  # fmt: skip
_RULES = ("max_unavailable", "max_surge", "min_ready_s", "deadline_s", "max_failures")


def scale(user: User, actor: Actor, job: Job, asked: ScaleRequest) -> None:
    """Ask the home for so many tasks of a group; refused as a submit is that its owner has no room for."""

    def claim(more: int) -> None:
        _claim(user, job, Live(tasks=more), "count")

    actions.scale(actor, job, asked.group, asked.count, user.username, claim)


def update(user: User, actor: Actor, job: Job, asked: UpdateRequest) -> tuple[list[str] | None, list[FieldError]]:
    """Ask the home to roll it out; what differs from what the job runs, None and nothing asked where nothing; warnings.

    ``Invalid`` names every field that is wrong, or that cannot change.
    """
    actions.refuse_others(job)
    spec, wrong = parse(asked.spec, "spec.", int(settings.HYDRA["max_tasks_per_job"]))
    if spec is None:
        raise Invalid("the job has errors", wrong)
    before = Job.objects.values_list("spec", flat=True).get(pk=job.pk)
    if wrong := _fixed(spec, before):
        raise Invalid("a service that runs keeps this", wrong[: submission.MAX_ERRORS])
    _check_files(user, spec, before, uploaded=not asked.dry_run)
    _check_secrets(user, job, spec)
    spec.queue = job.queue
    for group, was in zip(spec.groups, before["groups"], strict=True):
        group.count = was["count"]
    warned, after = submission.warnings(spec, asked.spec, "spec."), spec.model_dump(mode="json")
    if _runs(before, after) and actions.settled(job, asked.revision):
        return None, warned
    stored = before | {"files": after["files"], "groups": after["groups"]}
    size = _size(user, job, stored)
    changes = _changes(before, stored)
    if asked.dry_run:
        _claim_surge(user, job, asked, stored)
        actions.refuse_update(job, asked.revision)
    else:
        writes.claim(user, 0, size)
        _ask(user, actor, job, asked, {"spec": stored, "size": size, "back": None, "changes": changes})
    return changes, warned


def rollback(user: User, actor: Actor, job: Job, asked: RollbackRequest) -> list[str] | None:
    """Ask the home to roll out what the job ran before; what differs from what it runs, None and nothing asked where
    nothing does."""
    actions.refuse_others(job)
    target, spec, changes = _before(job, asked.to)
    if not changes and actions.settled(job, asked.revision):
        return None
    _claim(user, job, Live(size=max(0, target["size"] - job.spec_bytes)), "to")
    what = {"spec": spec, "size": target["size"], "back": target["revision"], "changes": changes}
    _ask(user, actor, job, asked, what)
    return changes


def _before(job: Job, to: int | None) -> tuple[Json, Json, list[str]]:
    """The revision to go back to, what it says, and what differs from what the job runs; of those kept if it is named.

    Else the one before while another is rolled out, and then the last that did not fail and says something else.
    ``Conflict`` where it goes back already, and which one is not named.
    """
    kept, runs = services.revisions(job), Job.objects.values_list("spec", flat=True).get(pk=job.pk)
    going = (job.services or {}).get("rollout")
    if going and going["back"] and to is None:
        back, left = kept[-1]["back"], going["previous"]
        text = f"revision {going['revision']} of job {job.pk} goes back to {back} already"
        raise Conflict(f"{text}; wait for it, or name {left} to have that again")
    named = going["previous"] if going and to is None else to
    for r in reversed(kept if to is not None else kept[:-1]):
        if r["outcome"] if named is None else r["revision"] != named:
            continue
        spec = services.specification(job, r["revision"])
        changes = _changes(runs, spec)
        if changes or named is not None:
            return r, spec, changes
    known = ", ".join(f"{r['revision']}" for r in kept[:-1])
    remedy = f"name one of {known}" if known else "it was never updated"
    text = "no revision before it served and ran anything else" if named is None else "there is no such revision before"
    raise Invalid("there is nothing to go back to", [FieldError("to", text, remedy)])


def _changes(before: Json, after: Json) -> list[str]:
    old, new = (spec | {"groups": [_whole(group) for group in spec["groups"]]} for spec in (before, after))
    return differences.told(old, new)


def _ask(user: User, actor: Actor, job: Job, asked: RolloutRequest, what: Json) -> None:
    _claim_surge(user, job, asked, what["spec"])
    rules = {name: getattr(asked, name) for name in _RULES}
    actions.update(actor, job, what | {"revision": asked.revision, "rules": rules, "by": user.username})


def _claim_surge(user: User, job: Job, asked: RolloutRequest, spec: Json) -> None:
    if asked.max_surge:
        _claim(user, job, Live(tasks=asked.max_surge * len(spec["groups"])), "max_surge")


def _fixed(spec: JobSpec, before: Json) -> list[FieldError]:
    """What differs and cannot."""
    if spec.kind != "service":
        return [FieldError("spec.kind", f"the job is a service, and cannot become a {spec.kind}", "say kind: service")]
    names, known = [g.name for g in spec.groups], [g["name"] for g in before["groups"]]
    if names != known:
        remedy = f"name {', '.join(known)}, in this order; for others submit another job"[:500]
        return [FieldError("spec.groups", "a service keeps its groups", remedy)]
    found = []
    for no, (group, was) in enumerate(zip(spec.groups, before["groups"], strict=True)):
        now, old = group.model_dump(mode="json"), _whole(was)
        remedy = "leave it as it is, or submit another job"
        found += [
            FieldError(f"spec.groups.{no}.{name}", "cannot change while the service runs", remedy)
            for name in KEPT
            if now[name] != old[name]
        ]
    return found


def _runs(before: Json, after: Json) -> bool:
    """Whether what is stored says the same of files and groups."""
    groups = [_whole(group) for group in before["groups"]]
    return bool(groups == after["groups"] and before.get("files", []) == after["files"])


def _whole(was: Json) -> Json:
    """A stored group, with defaults where an older release did not say."""
    return GroupSpec.model_construct().model_dump(mode="json") | was


def _check_files(user: User, spec: JobSpec, before: Json, *, uploaded: bool) -> None:
    """New files are the account's own; those that the job has already may stay, whoever asks.

    uploaded: whether new ones must be there.
    """
    parts = [before, *before["groups"]]
    sizes = {f["digest"]: f["size"] for part in parts for f in part.get("files") or ()}
    named = [(f"spec.files.{i}", f) for i, f in enumerate(spec.files)]
    for no, group in enumerate(spec.groups):
        named += [(f"spec.groups.{no}.files.{i}", f) for i, f in enumerate(group.files)]
    for _, file in named:
        file.size = sizes.get(file.digest, file.size)
    news = [(where, file) for where, file in named if file.digest not in sizes]
    if uploaded and news:
        submission.check_files(user, news)


def _check_secrets(user: User, job: Job, spec: JobSpec) -> None:
    """They are there, and it is their owner who writes what they are given to."""
    found = secrets.missing(user, {0: secrets.named(spec)}).get(0, [])
    if job.owner_id != user.pk:
        found = secrets.of_others(spec, job.owner)
    if found:
        wrong = [replace(each, field=f"spec.{each.field}") for each in found]
        raise Invalid("the job has errors", wrong[: submission.MAX_ERRORS])


def _size(user: User, job: Job, spec: Json) -> int:
    """Of what the containers' templates say; ``Invalid`` or ``TooMany`` where that is too much, as of a submit."""
    of_all = sum(len(json.dumps(file)) for file in spec["files"])
    size = len(json.dumps(spec).encode()) + max(0, len(spec["groups"]) - 1) * of_all
    most = int(settings.HYDRA["job_max_kib"] * 1024)
    if size > most:
        remedy = "put long commands and environments into files"
        wrong = FieldError("spec.groups", f"comes to {size:,} bytes, at most {most:,} are allowed", remedy)
        raise Invalid("the job says too much", [wrong])
    _claim(user, job, Live(size=max(0, size - job.spec_bytes)), "spec.groups")
    return size


def _claim(user: User, job: Job, more: Live, field: str) -> None:
    """Refused where the job's owner may not have so much live; an operator may give others more than they may take."""
    if job.owner_id == user.pk or not is_operator(user):
        cluster.claim_live_jobs(job.owner_id, {job.queue: more}, field)
