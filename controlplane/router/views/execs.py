"""Commands that people run in live containers, and connections to their ports."""

from typing import Any

import rules
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from contract.execs import ExecBegun, ExecRequest, ForwardRequest
from controlplane.statestore.actions import execs as actions
from controlplane.statestore.errors import Conflict, Forbidden, NotFound
from controlplane.statestore.models import Container, Job
from controlplane.statestore.queries.jobs import execs
from controlplane.statestore.queries.jobs.declared import declared
from wire.execs import SOCKET
from wire.ids import format_container, parse_container

from .common import SMALL, View, account, actor, answers, body

MASTER = 0  # an application's first group


class ContainerExec(View):
    body_max = SMALL

    @extend_schema(
        operation_id="containers_exec", request=ExecRequest, responses=answers({201: ExecBegun}, 409, 413, 415)
    )
    def post(self, request: Request, container: str) -> Response:
        """Begin a command in a container that runs: as its task's user, in its folder, by its limits.

        It starts when the WebSocket at ``socket`` is opened with a token of
        the account, or from the page it is signed in to, and ends with it, or
        with the container. Who may kill the job may do this; where its group
        has secrets, its owner alone.
        """
        return _begun(request, container, body(request, ExecRequest).model_dump())


class ContainerForward(View):
    body_max = SMALL

    @extend_schema(
        operation_id="containers_forward", request=ForwardRequest, responses=answers({201: ExecBegun}, 409, 413, 415)
    )
    def post(self, request: Request, container: str) -> Response:
        """Begin to bring TCP connections to ports on which a live container's processes listen.

        They are streams over the WebSocket at ``socket``, which is opened as
        that of a command. The same accounts may do this.
        """
        order = {"command": [], "ports": body(request, ForwardRequest).ports}
        return _begun(request, container, order)


def _begun(request: Request, container: str, order: dict[str, Any]) -> Response:
    found = changeable_container(request, container)
    begun = actions.begin(actor(request), found, order)
    answer = {
        "id": begun.pk,
        "container": format_container(found.pk),
        "node": actions.node_of(begun),
        "socket": f"{SOCKET}/{begun.pk}",
    }
    return Response(answer, status=201)


def changeable_container(request: Request, name: str) -> Container:
    """A live container of a job that the account may change; refused as its job would be."""
    try:
        known = execs.of(account(request), parse_container(name))
    except ValueError:
        known = None
    if known is None:
        raise NotFound(f"there is no container {name[:40]} that you may see")
    if not rules.has_perm("jobs.change", request.user, known.job):
        raise Forbidden(f"you may see job {known.job.pk} but not run commands in its containers")
    if known.live is None:
        raise Conflict(f"{name} has ended; see hydractl logs {name} for what it wrote")
    if known.job.owner_id != account(request).pk and (what := _confidential(known.job, known.live)):
        raise Forbidden(f"{name} has {what}, which a command in it could read: only the owner of its job may run one")
    return known.live


def _confidential(job: Job, live: Container) -> str:
    """What the container has that is its owner's alone; nodes keep what has none from reading what has some."""
    if job.kind == Job.Kind.APPLICATION and live.group_no == MASTER:
        return "an application master's token"
    return "secrets" if declared(live)[1].secrets else ""
