"""What application masters do: register, ask, launch, finish. Their home RM hears of it by an ``Intent``.

Of a container the RM that holds it hears, wherever the job is at home.

One row lock per job makes the calls of a master follow one another, so that
asks are numbered without gaps and two attempts cannot mix theirs.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet, Sum

from contract.problems import FieldError
from contract.stored import GROUP
from controlplane import clock
from controlplane.statestore import bus
from controlplane.statestore.errors import Conflict, Forbidden, Invalid, TooMany
from controlplane.statestore.models import Container, Intent, Job, Master, MasterAsk, MasterLaunch, TaskGroup
from wire.ids import format_container, parse_container
from wire.states import ContainerState, JobState, terminal

from .keeping import keep_named, named

NOTHING_NEW = "the account of this job may submit nothing any more: its master may give back, hear and finish"
MASTER = "master"  # the name of the master's own group


@dataclass(frozen=True, slots=True)
class NewAsk:
    """``spec``: as a group of a job's specification. ``target``: absolute. ``bare``: only the target was said."""

    name: str
    target: int
    spec: dict[str, Any]
    bare: bool = False


@dataclass(frozen=True, slots=True)
class NewLaunch:
    container: str
    spec: dict[str, Any]


def _session(job_id: int) -> Master:
    """The session's row, locked until the transaction ends; ``Conflict`` when the master has finished."""
    Master.objects.bulk_create([Master(job_id=job_id)], ignore_conflicts=True)
    session = Master.objects.select_for_update().get(pk=job_id)
    if session.verdict is not None:
        status = JobState(session.verdict).name
        raise Conflict(f"the master of job {job_id} has finished: {status}; it can want nothing more")
    return session


def _tell(job_id: int, payload: dict[str, Any], **containers: Iterable[int]) -> None:
    """Let the home RM know, and of these containers those that hold them, once this is committed.

    containers: what became of them, ``launched`` or ``release``; those that have ended concern nobody.
    """
    home, state = Job.objects.values_list("home_id", "state").get(pk=job_id)
    if terminal(state):
        raise Conflict(f"job {job_id} has ended")
    told = [(home, Intent.Kind.MASTER, payload)] if payload else []
    for what, ids in containers.items():
        holders: dict[int, list[str]] = {}
        live = Container.objects.filter(pk__in=list(ids), job_id=job_id).order_by("pk")
        for cid, sub in live.values_list("pk", "sub_cluster_id"):
            holders.setdefault(sub, []).append(format_container(cid))
        told += [(sub, Intent.Kind.CONTAINERS, {what: held}) for sub, held in sorted(holders.items())]
    Intent.objects.bulk_create(
        [Intent(sub_cluster_id=sub, kind=kind, job_id=job_id, payload=said) for sub, kind, said in told]
    )
    transaction.on_commit(lambda: bus.wake({sub for sub, _, _ in told}))


def _keep_named(job_id: int, specs: Iterable[dict[str, Any]]) -> None:
    """What these name stays for the job's owner."""
    if digests := {digest for spec in specs for digest in named(spec)}:
        keep_named(Job.objects.values_list("owner_id", flat=True).get(pk=job_id), digests)


def register(job_id: int, attempt: int, tracking: dict[str, Any] | None = None) -> None:
    """The attempt speaks for the job from now on, and its page is ``tracking``. Doing it again changes nothing."""
    with transaction.atomic():
        session = _session(job_id)
        if (session.attempt, session.tracking) != (attempt, tracking):
            session.registered_at = session.registered_at if session.attempt == attempt else clock.now()
            session.attempt, session.tracking = attempt, tracking
            session.save(update_fields=["attempt", "registered_at", "tracking"])


def allocate(job_id: int, asks: Sequence[NewAsk], release: Sequence[str], *, may_want: bool = True) -> None:
    """Set the targets of asks, new ones among them, and give containers back.

    ``Forbidden`` where targets rise though the master's owner may have nothing new started (not ``may_want``).
    """
    with transaction.atomic():
        _session(job_id)
        known = {ask.name: ask for ask in MasterAsk.objects.filter(job_id=job_id)}
        before, changed, named_by = len(known), list[int](), list[dict[str, Any]]()
        for i, new in enumerate(asks):
            was = known[new.name].target if new.name in known else 0
            if (ask := _merged(job_id, known, new, f"asks.{i}")) is not None:
                if new.target > was and not may_want:
                    raise Forbidden(NOTHING_NEW)
                known[ask.name] = ask
                changed.append(ask.no)
                named_by.append(new.spec)
        if len(known) > before:
            _bound_specs([ask.spec for ask in known.values()])
        if changed:
            _bound(job_id, list(known.values()))
            _keep_named(job_id, named_by)
        if changed or release:
            asked = {"asks": sorted(set(changed))} if changed else {}
            _tell(job_id, asked, release=map(parse_container, release))


def _merged(job_id: int, known: dict[str, MasterAsk], new: NewAsk, field: str) -> MasterAsk | None:
    """The ask's row, written; None when that says the same already."""
    ask = known.get(new.name)
    if ask is None:
        if new.name == MASTER:
            raise Invalid("an ask has an error", [FieldError(f"{field}.id", "is the master's own", "choose another")])
        most = int(settings.HYDRA["master_max_asks"])
        if len(known) >= most:
            what = FieldError(
                f"{field}.id", f"this master has made {most} asks already", "raise the target of one of them"
            )
            raise Invalid("there are too many asks", [what])
        # Numbered from 1 on; 0 is the master's own group.
        return MasterAsk.objects.create(
            job_id=job_id, no=len(known) + 1, name=new.name, spec=new.spec, target=new.target
        )
    was, said = GROUP | ask.spec, GROUP | new.spec  # an older release may have stored less
    if was != said and not new.bare:
        differ = sorted(name for name in said if said[name] != was.get(name))
        raise Conflict(f"{field}: the ask {new.name!r} was made with another {differ[0]}; give this one another id")
    if ask.target == new.target:
        return None
    MasterAsk.objects.filter(job_id=job_id, no=ask.no).update(target=new.target, version=F("version") + 1)
    ask.target = new.target
    return ask


def _bound_specs(specs: list[dict[str, Any]]) -> None:
    """``Invalid`` when asks say more than a job may: Redis keeps it for as long as the job lives."""
    size, most = sum(len(json.dumps(spec)) for spec in specs), int(settings.HYDRA["job_max_kib"] * 1024)
    if size > most:
        remedy = "put long commands and environments into files, or raise the target of an ask that was made"
        problem = f"all asks of this master come to {size:,} bytes, at most {most:,} are allowed"
        raise Invalid("the asks say too much", [FieldError("asks", problem, remedy)])


def _bound(job_id: int, asks: list[MasterAsk]) -> None:
    """``TooMany`` when more containers are wanted at once than one master may have."""
    ended = TaskGroup.objects.filter(job_id=job_id, no__gt=0).aggregate(
        n=Sum(F("succeeded") + F("failed") + F("killed"))
    )["n"]
    most = int(settings.HYDRA["master_max_containers"])
    at_once = sum(ask.target for ask in asks) - (ended or 0)
    if at_once > most:
        what = FieldError(
            "asks", f"{at_once} containers would be wanted at once, at most {most} are allowed", "ask for fewer"
        )
        raise TooMany("a master may not want so many containers at once", [what], retry_after_s=1)


def launch(job_id: int, launches: Sequence[NewLaunch]) -> None:
    """Say what granted containers are to run. Saying the same again changes nothing."""
    with transaction.atomic():
        _session(job_id)
        numbers = {parse_container(new.container): new for new in launches}
        said = dict(MasterLaunch.objects.filter(pk__in=numbers).values_list("pk", "spec"))
        left = {cid: new for cid, new in numbers.items() if said.get(cid) != new.spec}
        if again := left.keys() & said.keys():
            raise Conflict(f"{format_container(min(again))} was launched with another command already")
        sizes = _launchable(job_id, left)
        _bound_launches(job_id, sum(sizes.values()))
        _keep_named(job_id, [new.spec for new in left.values()])
        MasterLaunch.objects.bulk_create(
            MasterLaunch(container_id=cid, job_id=job_id, spec=new.spec, spec_bytes=sizes[cid])
            for cid, new in left.items()
        )
        if left:
            _tell(job_id, {}, launched=left)


def _bound_launches(job_id: int, size: int) -> None:
    """``TooMany`` when what live containers were launched with would come to more bytes than Redis has room for.

    What is kept of containers that have ended counts, too, and goes when there is no room beside it.
    """
    kept = MasterLaunch.objects.filter(job_id=job_id)
    most = settings.HYDRA["master_launches_max_mib"] * 2**20
    if _bytes_of(kept) + size > most:
        kept.exclude(pk__in=Container.objects.filter(job_id=job_id).values("pk")).delete()
    if (before := _bytes_of(kept)) + size > most:
        problem = f"live launches would come to {(before + size) / 2**20:.1f} MiB, at most {most / 2**20:g} are allowed"
        remedy = "wait for containers to end, or put what they share into files"
        raise TooMany(
            "a master may not launch so much at once", [FieldError("launches", problem, remedy)], retry_after_s=1
        )


def _bytes_of(launches: QuerySet[MasterLaunch]) -> int:
    return launches.aggregate(size=Sum("spec_bytes"))["size"] or 0


def _launchable(job_id: int, wanted: dict[int, NewLaunch]) -> dict[int, int]:
    """Bytes that each of these is to be launched with: its own spec and its ask's.

    ``Conflict`` naming the first container that is not the job's, over, or of an ask with a command.
    """
    asks = MasterAsk.objects.filter(job_id=job_id, spec__held=True).values_list("no", "spec")
    held = {no: len(json.dumps(spec)) for no, spec in asks}
    sizes = {}
    rows = Container.objects.filter(pk__in=wanted, job_id=job_id).values_list("pk", "group_no", "state")
    live = {pk: (no, state) for pk, no, state in rows}
    for cid, new in wanted.items():
        no, state = live.get(cid, (0, None))
        if state is None:
            raise Conflict(f"{new.container} is no live container of job {job_id}; it may have been taken back")
        if no not in held or state != ContainerState.ALLOCATED:
            raise Conflict(
                f"{new.container} runs the command of its ask; only what was asked for without one is launched"
            )
        sizes[cid] = held[no] + len(json.dumps(new.spec))
    return sizes


def finish(job_id: int, verdict: JobState, message: str) -> None:
    """How the job is to end; all of it but the master stops. The first word stands."""
    with transaction.atomic():
        session = _session(job_id)
        session.verdict, session.message = verdict, message
        session.save(update_fields=["verdict", "message"])
        _tell(job_id, {"finished": True})
