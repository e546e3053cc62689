"""A small federation in the database, accounts of every role, and a client that speaks as any of them."""

import json
from dataclasses import dataclass, field
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.test.client import ClientHandler
from knox.models import AuthToken

from controlplane.accounts.models import QueueAccess, Role, User
from controlplane.policy import versions
from controlplane.statestore.actions import accounts, nodes, subclusters
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import SubCluster
from wire.nodeapi import NodeSession, Register

PASSWORD = "a-long-enough-password"
_handler = ClientHandler(enforce_csrf_checks=False)

POLICY = {
    "queues": {
        "default": {"guaranteed": 0.5, "open_to_all": True},
        "prod": {"guaranteed": 0.4, "children": {"etl": {"guaranteed": 1.0}, "web": {}}},
        "closed": {"guaranteed": 0.1, "stopped": True, "open_to_all": True},
    }
}


def plain_client() -> Client:
    """One that shares the middleware with all others: loading it looks at every static file, which takes long."""
    client = Client(raise_request_exception=False)
    client.handler = _handler
    return client


@dataclass
class Api:
    """Requests under ``/api/v1`` as one account, or as nobody."""

    token: str = ""
    http: Client = field(default_factory=plain_client)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        known = {"authorization": f"Token {self.token}"} if self.token else {}
        full = path if path.startswith("/") else f"/api/v1/{path}"
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        return self.http.generic(method, full, _encode(body), kind, headers=known | headers)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> HttpResponse:
        return self("POST", path, {} if body is None else body, **headers)

    def put(self, path: str, body: bytes, **headers: str) -> HttpResponse:
        return self("PUT", path, body, **headers)


def _encode(body: Any) -> bytes | str:
    return body if isinstance(body, bytes | str) else "" if body is None else json.dumps(body)


@dataclass
class NodeApi:
    """Requests under ``/node/v1`` as one node."""

    session: NodeSession
    http: Client = field(default_factory=plain_client)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> HttpResponse:
        known = {"authorization": f"Node {self.session.node_id}:{self.session.credential}"}
        kind = "application/octet-stream" if isinstance(body, bytes) else "application/json"
        return self.http.generic(method, f"/node/v1/{path}", _encode(body), kind, headers=known | headers)


@dataclass
class World:
    west: SubCluster
    east: SubCluster
    users: dict[str, User]
    apis: dict[str, Api]
    nodes: list[NodeApi]

    def __getitem__(self, role: str) -> Api:
        return self.apis[role]


def job(**fields: Any) -> dict[str, Any]:
    """A minimal job, with some fields changed."""
    return {"name": "a-job", "groups": [{"name": "map", "count": 3, "command": ["true"]}]} | fields


def build_world() -> World:
    """Two sub-clusters with a node each; accounts of every role, two of them with rights in a queue."""
    versions.publish(SYSTEM, POLICY, "for tests")
    west, east = subclusters.create(SYSTEM, "west"), subclusters.create(SYSTEM, "east")
    roles = {
        "operator": Role.OPERATOR,
        "viewer": Role.VIEWER,
        "tenant": Role.TENANT,
        "other": Role.TENANT,
        "submitter": Role.TENANT,
        "admin": Role.TENANT,
    }
    users = {name: accounts.create(SYSTEM, name, PASSWORD, role) for name, role in roles.items()}
    accounts.grant_queue(SYSTEM, users["submitter"], "root.prod", QueueAccess.Level.SUBMIT)
    accounts.grant_queue(SYSTEM, users["admin"], "root.prod", QueueAccess.Level.ADMIN)
    apis = {name: Api(AuthToken.objects.create(user)[1]) for name, user in users.items()}
    apis["anonymous"] = Api()
    sessions = [
        nodes.bulk_register(sub, [Register("", f"{sub.name}-1", "r1", 4096, 4000, 1, host="10.0.0.1")])[0]
        for sub in (west, east)
    ]
    return World(west, east, users, apis, [NodeApi(s) for s in sessions])
