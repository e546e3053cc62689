"""What nodes ask over HTTP (``wire.nodeapi``). A node reaches its own containers and their files, nothing else."""

import datetime as dt
from dataclasses import MISSING, asdict, fields
from typing import Any, NoReturn

from django.http.response import HttpResponseBase
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response

from contract.problems import FieldError
from controlplane import clock
from controlplane.accounts.throttles import Join, Rate
from controlplane.router import download, masterauth
from controlplane.router.nodeauth import IsNode, NodeAuthentication, NodePrincipal
from controlplane.router.views.artifacts import RawBody, body_of, check_digest, check_size
from controlplane.router.views.common import SMALL, UPLOAD_MAX, View
from controlplane.statestore.actions import artifacts, logs, nodes
from controlplane.statestore.actions.audit import Actor, record
from controlplane.statestore.errors import Conflict, Forbidden, Invalid
from controlplane.statestore.models import Artifact, Container, ContainerHistory, Job, Node
from controlplane.statestore.queries.accounts import secrets
from controlplane.statestore.queries.jobs import masters, outputs
from controlplane.statestore.queries.jobs.declared import declared
from wire.ids import parse_container
from wire.nodeapi import FORMER_FIELDS, HEALTH_TEXT_MAX, TIME_HEADER, InputFile, Register

INDEX = "{index}"
NODE_JSON_MAX = 4 << 20  # a batch of logs has 512 KiB of them, and says in base64 what it has


class RefusedNode(Rate):
    """What the audit log is told of one node's wrong requests: a broken node may make many, and for ever."""

    rate = "60/min"

    def get_cache_key(self, request: Request, view: Any) -> str:
        return f"throttle:refused:{principal(request).node_id}"


class NodeView(View):
    """Base of the nodes' views. They are the wire's business and so not in the people's schema.

    Each answer says what time it is: nodes end containers by it, whatever their own clocks and those of web hosts say.
    """

    authentication_classes = [NodeAuthentication]
    permission_classes = [IsNode]
    throttle_classes: list[Any] = []
    schema: Any = None
    body_max = NODE_JSON_MAX

    def finalize_response(self, request: Request, response: HttpResponseBase, *args: Any, **named: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **named)
        if clock.known():
            answer[TIME_HEADER] = f"{clock.unix():.3f}"
        return answer


def principal(request: Request) -> NodePrincipal:
    assert isinstance(request.user, NodePrincipal)
    return request.user


class RegisterNode(NodeView):
    authentication_classes: list[Any] = []
    permission_classes = [AllowAny]
    throttle_classes = [Join]
    body_max = SMALL

    def post(self, request: Request) -> Response:
        """Join token and description in, session with credential out."""
        data = request.data
        if isinstance(data, dict):
            data = {name: value for name, value in data.items() if name not in FORMER_FIELDS}
        known = {f.name for f in fields(Register)}
        needed = {f.name for f in fields(Register) if f.default is MISSING and f.default_factory is MISSING}
        if not isinstance(data, dict) or not needed <= data.keys() <= known:
            wrong = FieldError(
                "body", "does not have the fields of a registration", "send wire.nodeapi.Register as JSON"
            )
            raise Invalid("the node cannot be registered", [wrong])
        session = nodes.register(Register(**data), request.META.get("REMOTE_ADDR") or None)
        return Response(asdict(session), status=201)


class NodeSession(NodeView):
    def get(self, request: Request) -> Response:
        """The session without its credential; the node's Redis user is made again if Redis has lost it."""
        me = principal(request)
        node = Node.objects.select_related("sub_cluster").get(pk=me.node_id)
        nodes.ensure_redis_user(node, me.sha256)
        return Response(asdict(nodes.session(node, node.sub_cluster)))


class NodeHealthText(NodeView):
    def post(self, request: Request) -> Response:
        """What the node's health script complains of, when that changes; empty when of nothing."""
        text = request.data.get("text") if isinstance(request.data, dict) else None
        if not isinstance(text, str) or len(text) > HEALTH_TEXT_MAX or not (text.isprintable() or not text):
            wrong = FieldError("text", "is not one short line", f"send at most {HEALTH_TEXT_MAX} printable characters")
            raise Invalid("the health text cannot be kept", [wrong])
        nodes.set_health_text(principal(request).node_id, text)
        return Response(status=204)


class NodeLogs(NodeView):
    def post(self, request: Request) -> Response:
        """Pieces of logs of this node's containers; repeating one changes nothing.

        Pieces of others are left out, so that one container which is no longer known does not keep the rest waiting.
        """
        data = request.data
        pieces = logs.parse(data.get("chunks") if isinstance(data, dict) else None)
        wanted = logs.containers(pieces)
        node_id = principal(request).node_id
        days: dict[int, dt.date] = {}
        for model in (Container, ContainerHistory):
            rows = model.objects.filter(pk__in=wanted - days.keys(), node_id=node_id).values_list("pk", "allocated_at")
            days |= {pk: at.date() for pk, at in rows}
        logs.store(node_id, [piece for piece in pieces if piece.container_id in days], days)
        if foreign := len(wanted - days.keys()):
            what = f"logs of {foreign} containers that are not its own"
            if not days:
                refuse(request, what)
            note_refused(request, what)
        return Response(status=204)


def note_refused(request: Request, what: str) -> None:
    """Note in the audit log that a node reached for what is not its own, unless that log is full of it."""
    me = principal(request)
    if RefusedNode().allow_request(request, None):
        actor = Actor(None, request.META.get("REMOTE_ADDR") or None)
        record(actor, "node.refused", f"node/{me.node_id}", after={"what": what})


def refuse(request: Request, what: str) -> NoReturn:
    """Note it, and refuse."""
    note_refused(request, what)
    raise Forbidden(f"node {principal(request).node_id} may not have {what}")


def own_container(request: Request, text: str) -> Container:
    """The live container on this node; ``Conflict`` when it is over or elsewhere, audited when it is another node's."""
    try:
        container_id = parse_container(text)
    except ValueError as error:
        raise Invalid(str(error)[:200]) from None
    container = Container.objects.filter(pk=container_id).first()
    if container is None:
        raise Conflict(f"{text} is not live")
    if container.node_id != principal(request).node_id:
        refuse(request, f"{text}, which is live on another node")
    return container


def inputs_of(container: Container) -> list[InputFile]:
    """The outputs of other groups that the container's group asks for; winning attempts only."""
    job, group = masters.container_group(container)
    found = outputs.of_groups(job, {(i["group"], i["name"]) for i in group["inputs"]})
    return [
        InputFile(i["path"].replace(INDEX, str(o["index"])), o["digest"], o["size"])
        for i in group["inputs"]
        for o in found
        if (o["group"], o["name"]) == (i["group"], i["name"])
    ]


class ContainerInputs(NodeView):
    def get(self, request: Request, container: str) -> Response:
        """Where to place which artifact before the command starts."""
        return Response({"inputs": [asdict(i) for i in inputs_of(own_container(request, container))]})


class ContainerToken(NodeView):
    def get(self, request: Request, container: str) -> Response:
        """What the application master in this container speaks to the API with."""
        live = own_container(request, container)
        application = Job.objects.filter(pk=live.job_id, kind=Job.Kind.APPLICATION).exists()
        if live.group_no or not application:
            refuse(request, f"a token for {container}, which holds no application master")
        return Response({"token": masterauth.token(live.pk)})


class ContainerSecrets(NodeView):
    def get(self, request: Request, container: str) -> Response:
        """Values of the secrets that the container's group names, as they are now; they are its job's owner's."""
        job, may = declared(own_container(request, container))
        found = secrets.values(job.owner_id, may.secrets)
        return Response(asdict(found), headers={"Cache-Control": "no-store"})


class NodeArtifact(NodeView):
    def get(self, request: Request, digest: str) -> HttpResponseBase:
        """The bytes, for a live container on this node whose files or inputs name them."""
        container = own_container(request, request.query_params.get("container", ""))
        job, may = declared(container)
        if check_digest(digest) not in may.files and not outputs.made(job, may.inputs, digest):
            refuse(request, f"artifact {digest[:12]}, which its container does not name")
        size = Artifact.objects.filter(digest=digest).values_list("size", flat=True).first()
        artifacts.touch([digest])
        return download.artifact(digest, size or 0, request.headers.get("Range"))


class ContainerOutput(NodeView):
    parser_classes = [RawBody]
    body_max = UPLOAD_MAX

    def put(self, request: Request, container: str, name: str) -> Response:
        """Keep an output of a live attempt. An attempt that has ended publishes nothing (409)."""
        check_size(request)
        live = own_container(request, container)
        digest, path = check_digest(request.query_params.get("sha256", "")), request.query_params.get("path", "")
        if (name, path) not in declared(live)[1].outputs:
            refuse(request, f"an output {name[:63]!r} that its container does not name")
        size = artifacts.publish_output(live.pk, principal(request).node_id, name, path, digest, body_of(request))
        return Response({"digest": digest, "size": size}, status=201)
