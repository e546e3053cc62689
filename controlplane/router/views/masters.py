"""Application masters: register, ask, launch, hear, finish. They speak with a token that opens only their own job."""

from typing import Any

from django.conf import settings
from django.http.response import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.masters import (
    AllocateRequest,
    Finished,
    FinishRequest,
    Launched,
    LaunchRequest,
    MasterEvents,
    Registered,
    RegisterRequest,
    Tracking,
    wrong,
)
from contract.problems import FieldError
from controlplane.accounts.models import User
from controlplane.router import download, submission
from controlplane.router.masterauth import ByMaster, IsMaster, MasterAuthentication, MasterPrincipal
from controlplane.statestore.actions import masters as actions
from controlplane.statestore.actions.masters import NewAsk, NewLaunch
from controlplane.statestore.errors import Forbidden, Invalid, NotFound
from controlplane.statestore.models import Job, TaskOutput
from controlplane.statestore.queries.jobs import masters
from wire.ids import format_container, parse_container
from wire.states import JobState

from .common import View, answers, body, text_parameter


class MasterView(View):
    """Base of the application masters' views."""

    authentication_classes = [MasterAuthentication]
    permission_classes = [IsMaster]
    throttle_classes = [ByMaster]


def me(request: Request) -> MasterPrincipal:
    assert isinstance(request.user, MasterPrincipal)
    return request.user


class MasterRegister(MasterView):
    @extend_schema(
        operation_id="masters_register",
        request=RegisterRequest,
        responses=answers({200: Registered}, 409),
    )
    def post(self, request: Request) -> Response:
        """Begin, or begin again after a failure: what the job is, what it has, what its master may."""
        wanted, master = body(request, RegisterRequest), me(request)
        job = Job.objects.select_related("owner").get(pk=master.job_id)
        actions.register(master.job_id, master.attempt, _page(job, wanted.tracking))
        cursor = masters.last_event(master.job_id)  # read first: what happens from here on comes as an event
        return Response(
            {
                "job": job.pk,
                "name": job.name,
                "queue": job.queue,
                "user": job.owner.username,
                "attempt": master.attempt,
                "container": format_container(master.container_id),
                "files": job.spec["groups"][0]["files"],
                "asks": masters.asks(job),
                "containers": masters.containers(job.pk),
                "cursor": cursor,
                "limits": _limits(),
            }
        )


def _page(job: Job, tracking: Tracking | None) -> dict[str, Any] | None:
    """The page as it is stored; ``Invalid`` unless it is on a port that the master itself declares."""
    if tracking is None:
        return None
    declared = [port["name"] for port in job.spec["groups"][0].get("ports") or ()]
    if tracking.port not in declared:
        remedy = f"name one of: {', '.join(declared) or 'none'}; or add it to the master's `ports` in the job file"
        wrong_port = FieldError("tracking.port", f"the master has no port {tracking.port!r}", remedy)
        raise Invalid("the page cannot be tracked", [wrong_port])
    return tracking.model_dump()


def _limits() -> dict[str, Any]:
    conf = settings.HYDRA
    return {
        "asks": int(conf["master_max_asks"]),
        "containers": int(conf["master_max_containers"]),
        "grant_s": conf["master_grant_s"],
        "requests": settings.REST_FRAMEWORK["DEFAULT_THROTTLE_RATES"]["master"],
    }


class MasterAllocate(MasterView):
    @extend_schema(
        operation_id="masters_allocate",
        request=AllocateRequest,
        responses=answers({200: MasterEvents}, 409),
    )
    def post(self, request: Request) -> Response:
        """Set how many containers are wanted, give others back, and hear what happened meanwhile."""
        wanted, master = body(request, AllocateRequest), me(request)
        _check(master, wanted.asks, "asks")
        asks = [NewAsk(ask.id, ask.target, ask.stored(), ask.bare) for ask in wanted.asks]
        actions.allocate(master.job_id, asks, wanted.release, may_want=master.may_want)
        after = masters.last_event(master.job_id) if wanted.after is None else wanted.after
        return Response(masters.events(master.job_id, after))


class MasterLaunch(MasterView):
    @extend_schema(
        operation_id="masters_launch",
        request=LaunchRequest,
        responses=answers({200: Launched}, 409),
    )
    def post(self, request: Request) -> Response:
        """Say what granted containers are to run."""
        wanted, master = body(request, LaunchRequest), me(request)
        if not master.may_want:
            raise Forbidden(actions.NOTHING_NEW)
        _check(master, wanted.launches, "launches")
        actions.launch(master.job_id, [NewLaunch(one.container, one.stored()) for one in wanted.launches])
        return Response({"containers": [one.container for one in wanted.launches]})


def _check(master: MasterPrincipal, parts: list[Any], field: str) -> None:
    """``Invalid`` where containers break the rules for groups of a job, or name files that are not the owner's."""
    if found := wrong(parts, field):
        raise Invalid("the request has errors", found[: submission.MAX_ERRORS])
    named = [(f"{field}.{i}.files.{k}", file) for i, part in enumerate(parts) for k, file in enumerate(part.files)]
    if named:
        submission.check_files(User.objects.get(pk=master.owner_id), named)
    _check_secrets(master, parts, field)


def _check_secrets(master: MasterPrincipal, parts: list[Any], field: str) -> None:
    """Containers have no other secrets than the owner has given the master."""
    if not any(part.secrets for part in parts):
        return
    own = Job.objects.values_list("spec__groups__0__secrets", flat=True).get(pk=master.job_id) or ()
    names = {secret["name"] for secret in own}
    remedy = "name it in the master's `secrets` in the job file"
    found = [
        FieldError(f"{field}.{i}.secrets.{k}.name", f"the master itself has no secret {secret.name!r}", remedy)
        for i, part in enumerate(parts)
        for k, secret in enumerate(part.secrets)
        if secret.name not in names
    ]
    if found:
        raise Invalid("the request has errors", found[: submission.MAX_ERRORS])


class MasterFinish(MasterView):
    @extend_schema(
        operation_id="masters_finish",
        request=FinishRequest,
        responses=answers({200: Finished}, 409),
    )
    def post(self, request: Request) -> Response:
        """Say how the job ends. Everything else of it is stopped, and it ends once the master has ended itself."""
        wanted = body(request, FinishRequest)
        actions.finish(me(request).job_id, JobState[wanted.status], wanted.message)
        return Response({"status": wanted.status, "message": wanted.message})


class MasterOutput(MasterView):
    @extend_schema(
        operation_id="masters_output",
        parameters=[
            text_parameter("container", where=OpenApiParameter.PATH, maxLength=40),
            text_parameter("name", "Of an output", OpenApiParameter.PATH, maxLength=63),
        ],
        responses=answers({}, 416)
        | {
            (200, "application/octet-stream"): OpenApiTypes.BINARY,
            (206, "application/octet-stream"): OpenApiTypes.BINARY,
        },
    )
    def get(self, request: Request, container: str, name: str) -> HttpResponseBase:
        """What a container of the job has left behind."""
        try:
            number = parse_container(container)
        except ValueError as error:
            raise NotFound(str(error)) from None
        kept = TaskOutput.objects.filter(job_id=me(request).job_id, container_id=number, name=name).first()
        if kept is None:
            raise NotFound(f"{container[:40]} of this job has left no {name[:63]!r}")
        return download.artifact(kept.digest, kept.size, request.headers.get("Range"))
