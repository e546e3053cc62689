"""Every address x every role x whose object: who gets what. The routes come from the URL list, so none can be left out.

``RULES`` names each route's verdict per role for its own object (``mine``) and
a stranger's (``foreign``). A route without a rule fails the test.
"""

import hashlib
import json
import re
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import pytest
from django.core.cache import caches
from django.db import transaction
from django.urls import URLPattern, URLResolver, get_resolver

from controlplane.accounts.models import TokenNote
from controlplane.statestore.actions import accounts, joining, nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.models import (
    AuditEntry,
    Intent,
    Job,
    PolicyOverride,
    PolicyProposal,
    PolicyVersion,
    Schedule,
    TaskOutput,
)
from tests.integration.api import rows
from tests.integration.api.world import PASSWORD, POLICY, Api, NodeApi, World, job
from wire.ids import format_container
from wire.states import JobState

ROLES = ("anonymous", "tenant", "other", "viewer", "operator")
PUBLIC = {"tenant": 200, "other": 200, "viewer": 200, "operator": 200, "anonymous": 200}
SEEN = {"anonymous": 401, "tenant": 200, "other": 404, "viewer": 200, "operator": 200}
LISTED = {"anonymous": 401, "tenant": 200, "other": 200, "viewer": 200, "operator": 200}
OWN = {"anonymous": 401, "tenant": 204, "other": 204, "viewer": 404, "operator": 204}
CHANGED = {"anonymous": 401, "tenant": 202, "other": 404, "viewer": 403, "operator": 202}
OPERATORS = {"anonymous": 401, "tenant": 403, "other": 403, "viewer": 403, "operator": 200}
WATCHED = OPERATORS | {"viewer": 200}
NODES_ONLY = dict.fromkeys(ROLES, 401)
MASTERS_ONLY = dict.fromkeys(ROLES, 401)


@dataclass(frozen=True)
class Rule:
    """What each role is answered; with the body to send, and the job's state it needs."""

    verdicts: dict[str, int]
    body: Any = None
    needs: JobState = JobState.RUNNING
    query: str = ""


LOGIN = {"username": "tenant", "password": PASSWORD}
DATA = b"what the tenant has uploaded"
DIGEST = hashlib.sha256(DATA).hexdigest()
SUBMITTED = {"anonymous": 401, "tenant": 201, "other": 201, "viewer": 403, "operator": 201}

WINDOW = {
    "sub_cluster": "west", "node": "west-1", "starts_at": "2120-01-01T00:00:00Z", "ends_at": "2120-01-02T00:00:00Z"
}  # fmt: skip
OVERRIDE = {
    "queue": "root.prod", "field": "weight", "change": {"to": 2}, "message": "for a time",
    "starts_at": "2120-01-01T00:00:00Z", "ends_at": "2120-01-02T00:00:00Z",
}  # fmt: skip

SCHEDULE = {"name": "nightly", "cron": "@daily", "job": json.dumps(job()), "overlap": "allow"}
ALTERED = {"anonymous": 401, "tenant": 200, "other": 404, "viewer": 403, "operator": 200}

RULES: dict[tuple[str, str], Rule] = {
    ("POST", "api/v1/auth/login"): Rule(PUBLIC, LOGIN),
    ("POST", "api/v1/auth/logout"): Rule({r: 401 if r == "anonymous" else 204 for r in ROLES}),
    ("POST", "api/v1/auth/session"): Rule(PUBLIC, LOGIN),
    ("DELETE", "api/v1/auth/session"): Rule(dict.fromkeys(ROLES, 204)),
    ("GET", "api/v1/auth/csrf"): Rule(PUBLIC),
    ("GET", "api/v1/me"): Rule(LISTED),
    ("GET", "api/v1/me/tokens"): Rule(LISTED),
    ("POST", "api/v1/me/tokens"): Rule(
        {"anonymous": 401, "tenant": 201, "other": 201, "viewer": 201, "operator": 201}, {"name": "mine"}
    ),
    ("DELETE", "api/v1/me/tokens/<str:key>"): Rule(
        {"anonymous": 401, "tenant": 204, "other": 404, "viewer": 404, "operator": 404}
    ),
    ("GET", "api/v1/me/secrets"): Rule(LISTED),
    ("PUT", "api/v1/me/secrets/<str:name>"): Rule(
        {r: 200 if s == 201 else s for r, s in SUBMITTED.items()}, {"value": "secret-name"}
    ),
    ("DELETE", "api/v1/me/secrets/<str:name>"): Rule({r: 200 if s == 204 else s for r, s in OWN.items()}),
    ("GET", "api/v1/me/receivers"): Rule(LISTED),
    ("PUT", "api/v1/me/receivers/<str:name>"): Rule(
        {r: 200 if s == 201 else s for r, s in SUBMITTED.items()}, {"webhook": "https://1.1.1.1/secret-name"}
    ),
    ("DELETE", "api/v1/me/receivers/<str:name>"): Rule(OWN),
    ("POST", "api/v1/me/receivers/<str:name>/test"): Rule(
        {"anonymous": 401, "tenant": 202, "other": 202, "viewer": 403, "operator": 202}
    ),
    ("GET", "api/v1/me/receivers/<str:name>/notifications"): Rule(
        {"anonymous": 401, "tenant": 200, "other": 200, "viewer": 404, "operator": 200}
    ),
    ("POST", "api/v1/me/password"): Rule(
        {"anonymous": 401} | dict.fromkeys(ROLES[1:], 422), {"current": "guessed", "password": PASSWORD}
    ),
    ("GET", "api/v1/accounts"): Rule(WATCHED),
    ("POST", "api/v1/accounts"): Rule(OPERATORS | {"operator": 201}, {"username": "new", "password": PASSWORD}),
    ("GET", "api/v1/accounts/<str:username>"): Rule(WATCHED),
    ("POST", "api/v1/accounts/<str:username>/role"): Rule(OPERATORS, {"role": "tenant"}),
    ("POST", "api/v1/accounts/<str:username>/email"): Rule(OPERATORS, {"email": "ada@example.org"}),
    ("POST", "api/v1/accounts/<str:username>/close"): Rule(OPERATORS),
    ("POST", "api/v1/accounts/<str:username>/open"): Rule(OPERATORS),
    ("POST", "api/v1/accounts/<str:username>/password"): Rule(OPERATORS, {"password": PASSWORD}),
    ("POST", "api/v1/accounts/<str:username>/sign-out"): Rule(OPERATORS),
    ("GET", "api/v1/accounts/<str:username>/tokens"): Rule(WATCHED),
    ("DELETE", "api/v1/accounts/<str:username>/tokens/<str:key>"): Rule(OPERATORS | {"operator": 204}),
    ("GET", "api/v1/join-tokens"): Rule(WATCHED),
    ("DELETE", "api/v1/join-tokens/nodes/<int:token_id>"): Rule(OPERATORS | {"operator": 204}),
    ("DELETE", "api/v1/join-tokens/sub-clusters/<int:token_id>"): Rule(OPERATORS | {"operator": 204}),
    ("GET", "api/v1/components"): Rule(WATCHED),
    ("GET", "api/v1/jobs"): Rule(LISTED),
    ("POST", "api/v1/jobs"): Rule(SUBMITTED, job()),
    ("POST", "api/v1/jobs/bulk"): Rule(SUBMITTED, {"jobs": [job()]}),
    ("GET", "api/v1/jobs/<int:job_id>"): Rule(SEEN),
    ("POST", "api/v1/jobs/<int:job_id>/kill"): Rule(CHANGED, {}),
    ("POST", "api/v1/jobs/<int:job_id>/retry"): Rule(
        CHANGED | {"tenant": 201, "operator": 201}, {}, needs=JobState.FAILED
    ),
    ("POST", "api/v1/jobs/<int:job_id>/priority"): Rule(CHANGED, {"priority": 1}),
    ("POST", "api/v1/jobs/<int:job_id>/scale"): Rule(
        CHANGED | {"tenant": 409, "operator": 409},
        {"group": "g", "count": 2},  # a batch job
    ),
    ("PUT", "api/v1/jobs/<int:job_id>/spec"): Rule(
        CHANGED | {"tenant": 409, "operator": 409},
        {"revision": 1, "spec": job()},  # a batch job
    ),
    ("POST", "api/v1/jobs/<int:job_id>/rollback"): Rule(CHANGED | {"tenant": 409, "operator": 409}, {"revision": 1}),
    ("GET", "api/v1/jobs/<int:job_id>/revisions"): Rule(SEEN),
    ("POST", "api/v1/jobs/<int:job_id>/restart"): Rule(CHANGED | {"tenant": 409, "operator": 409}, {}),
    ("POST", "api/v1/jobs/<int:job_id>/queue"): Rule(
        CHANGED | {"tenant": 422, "operator": 202}, {"queue": "root.prod.etl"}
    ),
    ("POST", "api/v1/jobs/actions"): Rule(
        {"anonymous": 401, "tenant": 202, "other": 202, "viewer": 403, "operator": 202}, {"action": "kill", "jobs": [1]}
    ),
    ("POST", "api/v1/jobs/validate"): Rule(
        {"anonymous": 401, "tenant": 200, "other": 200, "viewer": 403, "operator": 200}, job()
    ),
    ("GET", "api/v1/saved-views"): Rule(LISTED),
    ("POST", "api/v1/saved-views"): Rule(LISTED, {"name": "mine", "query": "state=live"}),
    ("DELETE", "api/v1/saved-views/<int:view_id>"): Rule(
        {"anonymous": 401, "tenant": 204, "other": 404, "viewer": 404, "operator": 404}
    ),
    ("GET", "api/v1/schedules"): Rule(LISTED),
    ("POST", "api/v1/schedules"): Rule(SUBMITTED, SCHEDULE),
    ("POST", "api/v1/schedules/preview"): Rule(
        {"anonymous": 401, "tenant": 200, "other": 200, "viewer": 403, "operator": 200}, SCHEDULE
    ),
    ("GET", "api/v1/schedules/<int:schedule_id>"): Rule(SEEN),
    ("PUT", "api/v1/schedules/<int:schedule_id>"): Rule(ALTERED, SCHEDULE | {"revision": 1}),
    ("DELETE", "api/v1/schedules/<int:schedule_id>"): Rule(ALTERED | {"tenant": 204, "operator": 204}),
    ("POST", "api/v1/schedules/<int:schedule_id>/suspend"): Rule(ALTERED),
    ("POST", "api/v1/schedules/<int:schedule_id>/resume"): Rule(ALTERED),
    ("POST", "api/v1/schedules/<int:schedule_id>/run"): Rule(ALTERED | {"tenant": 201, "operator": 201}),
    ("GET", "api/v1/schedules/<int:schedule_id>/runs"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/explain"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/tasks"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/containers"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/logs"): Rule(SEEN, query="?contains=error"),
    ("GET", "api/v1/jobs/<int:job_id>/places"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/usage"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/receivers"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/events"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/outputs"): Rule(SEEN),
    ("GET", "api/v1/jobs/<int:job_id>/endpoints"): Rule(SEEN),
    ("GET", "api/v1/containers/<str:container>/logs"): Rule(SEEN),
    ("GET", "api/v1/containers/<str:container>/logs/merged"): Rule(SEEN),
    ("POST", "api/v1/containers/<str:container>/exec"): Rule(
        CHANGED | {"tenant": 201, "operator": 201}, {"command": ["true"]}
    ),
    ("POST", "api/v1/containers/<str:container>/forward"): Rule(
        CHANGED | {"tenant": 201, "operator": 201}, {"ports": [8080]}
    ),
    ("GET", "api/v1/artifacts/<str:digest>"): Rule(SEEN),
    ("PUT", "api/v1/artifacts/<str:digest>"): Rule({r: 200 if s == 201 else s for r, s in SUBMITTED.items()}, DATA),
    ("GET", "api/v1/artifacts"): Rule(LISTED),
    ("DELETE", "api/v1/artifacts/<str:digest>"): Rule(SEEN | {"tenant": 204, "viewer": 403, "operator": 404}),
    ("GET", "api/v1/queues"): Rule(LISTED),
    ("GET", "api/v1/queues/tree"): Rule(LISTED),
    ("GET", "api/v1/queues/use"): Rule(LISTED),
    ("GET", "api/v1/queues/matrix"): Rule(LISTED),
    ("GET", "api/v1/queues/<str:path>/detail"): Rule(
        {"anonymous": 401, "tenant": 404, "other": 404, "viewer": 200, "operator": 200}
    ),
    ("GET", "api/v1/usage/hours"): Rule(LISTED),
    ("GET", "api/v1/usage/accounts"): Rule(WATCHED),
    ("GET", "api/v1/usage/tags"): Rule(LISTED),
    ("GET", "api/v1/usage/tags.csv"): Rule(LISTED),
    ("GET", "api/v1/usage/hours.csv"): Rule(LISTED),
    ("GET", "api/v1/queues/<str:path>/rights"): Rule(WATCHED),
    ("PUT", "api/v1/queues/<str:path>/rights"): Rule(OPERATORS, {"user": "admin"}),
    ("DELETE", "api/v1/queues/<str:path>/rights"): Rule(OPERATORS | {"operator": 204}, query="?user=submitter"),
    ("GET", "api/v1/policy"): Rule(WATCHED),
    ("POST", "api/v1/policy"): Rule(OPERATORS, {"document": POLICY, "message": "again"}),
    ("GET", "api/v1/policy/versions"): Rule(WATCHED),
    ("POST", "api/v1/policy/validate"): Rule(WATCHED, {"document": POLICY}),
    ("GET", "api/v1/policy/schema"): Rule(LISTED),
    ("POST", "api/v1/policy/diff"): Rule(WATCHED, {"document": POLICY}),
    ("POST", "api/v1/policy/plan"): Rule(WATCHED, {"document": POLICY}),
    ("POST", "api/v1/policy/rollback"): Rule(OPERATORS | {"operator": 404}, {"version": 2**40, "message": "back"}),
    ("GET", "api/v1/policy/proposals"): Rule(WATCHED),
    ("GET", "api/v1/policy/proposals/<int:proposal_id>"): Rule(WATCHED),
    ("POST", "api/v1/policy/proposals/<int:proposal_id>/approve"): Rule(OPERATORS, {"message": "good"}),
    ("POST", "api/v1/policy/proposals/<int:proposal_id>/reject"): Rule(OPERATORS, {"message": "bad"}),
    ("GET", "api/v1/policy/overrides"): Rule(WATCHED),
    ("POST", "api/v1/policy/overrides"): Rule(OPERATORS | {"operator": 201}, OVERRIDE),
    ("POST", "api/v1/policy/overrides/<int:override_id>/cancel"): Rule(OPERATORS),
    ("GET", "api/v1/policy/convergence"): Rule(WATCHED),
    ("GET", "api/v1/policy/rollouts"): Rule(WATCHED),
    ("POST", "api/v1/policy/rollouts"): Rule(
        OPERATORS | {"operator": 201}, {"document": POLICY, "message": "slowly", "stages": [{"sub_clusters": ["west"]}]}
    ),
    ("GET", "api/v1/policy/rollouts/<int:rollout_id>"): Rule(WATCHED),
    ("POST", "api/v1/policy/rollouts/<int:rollout_id>/pause"): Rule(OPERATORS),
    ("POST", "api/v1/policy/rollouts/<int:rollout_id>/resume"): Rule(OPERATORS),
    ("POST", "api/v1/policy/rollouts/<int:rollout_id>/abort"): Rule(OPERATORS),
    ("GET", "api/v1/simulations"): Rule(WATCHED),
    ("POST", "api/v1/simulations"): Rule(OPERATORS | {"operator": 201}, {"document": POLICY}),
    ("GET", "api/v1/simulations/traces"): Rule(WATCHED),
    ("POST", "api/v1/simulations/traces"): Rule(OPERATORS | {"operator": 422}, DATA, query="?kind=guessed"),
    ("PUT", "api/v1/simulations/traces/<int:trace_id>/nodes"): Rule(OPERATORS | {"operator": 404}, DATA),
    # Who may is told that nothing so old is kept.
    ("GET", "api/v1/simulations/history"): Rule(OPERATORS | {"operator": 422}, query="?from=2020-01-01&to=2020-01-02"),
    ("GET", "api/v1/simulations/<int:simulation_id>"): Rule(WATCHED),
    ("POST", "api/v1/simulations/<int:simulation_id>/cancel"): Rule(OPERATORS),
    ("GET", "api/v1/simulations/<int:simulation_id>/report"): Rule(WATCHED),
    ("GET", "api/v1/sub-clusters"): Rule(LISTED),
    ("GET", "api/v1/sub-clusters/compare"): Rule(WATCHED),
    ("POST", "api/v1/sub-clusters/<str:name>/join-tokens"): Rule(OPERATORS | {"operator": 201}, {}),
    ("GET", "api/v1/sub-clusters/<str:name>"): Rule(LISTED),
    ("POST", "api/v1/sub-clusters/tokens"): Rule(OPERATORS | {"operator": 201}, {}),
    ("POST", "api/v1/sub-clusters/register"): Rule(dict.fromkeys(ROLES, 403), {"token": "guessed", "name": "third"}),
    ("GET", "api/v1/sub-clusters/<str:name>/drain-preview"): Rule(WATCHED),
    ("POST", "api/v1/sub-clusters/<str:name>/drain"): Rule(OPERATORS, {}),
    ("POST", "api/v1/sub-clusters/<str:name>/resume"): Rule(OPERATORS, {}),
    ("POST", "api/v1/sub-clusters/<str:name>/decommission"): Rule(OPERATORS | {"operator": 409}, {}),
    ("GET", "api/v1/nodes"): Rule(LISTED),
    ("GET", "api/v1/nodes/<int:node_id>"): Rule(LISTED),
    ("GET", "api/v1/nodes/<int:node_id>/containers"): Rule(LISTED),
    ("GET", "api/v1/fleet"): Rule(LISTED),
    ("POST", "api/v1/nodes/<int:node_id>/cordon"): Rule(OPERATORS, {}),
    ("POST", "api/v1/nodes/<int:node_id>/uncordon"): Rule(OPERATORS, {}),
    ("GET", "api/v1/nodes/<int:node_id>/drain"): Rule(WATCHED),
    ("POST", "api/v1/nodes/<int:node_id>/drain"): Rule(OPERATORS, {}),
    ("POST", "api/v1/nodes/<int:node_id>/decommission"): Rule(OPERATORS, {}),
    ("GET", "api/v1/maintenance"): Rule(LISTED),
    ("POST", "api/v1/maintenance"): Rule(OPERATORS | {"operator": 201}, WINDOW),
    ("POST", "api/v1/maintenance/<int:window_id>/cancel"): Rule(OPERATORS, {}),
    ("GET", "api/v1/overview"): Rule(LISTED),
    ("GET", "api/v1/series"): Rule(
        {"anonymous": 401, "tenant": 403, "other": 403, "viewer": 200, "operator": 200}, query="?metric=decisions_per_s"
    ),
    ("GET", "api/v1/series/instant"): Rule(LISTED),
    ("GET", "api/v1/audit"): Rule(WATCHED),
    ("POST", "api/v1/am/register"): Rule(MASTERS_ONLY, {}),
    ("POST", "api/v1/am/allocate"): Rule(MASTERS_ONLY, {"asks": [{"id": "work", "target": 1}]}),
    ("POST", "api/v1/am/launch"): Rule(MASTERS_ONLY, {"launches": []}),
    ("POST", "api/v1/am/finish"): Rule(MASTERS_ONLY, {"status": "FAILED"}),
    ("GET", "api/v1/am/events"): Rule(MASTERS_ONLY),
    ("GET", "api/v1/am/containers/<str:container>/outputs/<str:name>"): Rule(MASTERS_ONLY),
    ("GET", "api/v1/healthz"): Rule(PUBLIC),
    ("GET", "api/v1/metrics"): Rule(WATCHED),
    ("GET", "api/v1/schema"): Rule(PUBLIC),
    ("GET", "api/v1/docs"): Rule(PUBLIC),
    ("GET", "healthz"): Rule(PUBLIC),
    ("GET", "metrics"): Rule(WATCHED),
    ("POST", "node/v1/register"): Rule(dict.fromkeys(ROLES, 422), {}),
    ("GET", "node/v1/session"): Rule(NODES_ONLY),
    ("POST", "node/v1/health"): Rule(NODES_ONLY, {"text": "ERROR"}),
    ("POST", "node/v1/logs"): Rule(NODES_ONLY, {"chunks": []}),
    ("GET", "node/v1/containers/<str:container>/inputs"): Rule(NODES_ONLY),
    ("GET", "node/v1/containers/<str:container>/token"): Rule(NODES_ONLY),
    ("GET", "node/v1/containers/<str:container>/secrets"): Rule(NODES_ONLY),
    ("PUT", "node/v1/containers/<str:container>/outputs/<str:name>"): Rule(NODES_ONLY, DATA),
    ("POST", "node/v1/containers/<str:container>/endpoints"): Rule(NODES_ONLY, {"endpoints": {"http": 20_000}}),
    ("GET", "node/v1/execs"): Rule(NODES_ONLY),
    ("GET", "node/v1/artifacts/<str:digest>"): Rule(NODES_ONLY),
}

# By threads whose connections see only what is committed; nothing is changed there.
IN_THREADS = {("GET", f"api/v1/containers/<str:container>/{logs}") for logs in ("logs", "logs/merged")}


def routes() -> list[tuple[str, str]]:
    """(method, route) of everything under ``api/``, ``node/`` and the two monitors' addresses."""

    def walk(resolver: URLResolver, prefix: str) -> list[tuple[str, Any]]:
        found: list[tuple[str, Any]] = []
        for entry in resolver.url_patterns:
            at = prefix + str(entry.pattern)
            found += walk(entry, at) if isinstance(entry, URLResolver) else [(at, entry)]
        return found

    def methods(pattern: URLPattern) -> list[str]:
        view = getattr(pattern.callback, "cls", None)
        return [m.upper() for m in ("get", "post", "put", "patch", "delete") if hasattr(view, m)]

    mine = ("api/", "node/", "healthz", "metrics")
    return [(m, at) for at, pattern in walk(get_resolver(), "") if at.startswith(mine) for m in methods(pattern)]


@dataclass
class Objects:
    """Everything of the tenant's that an address can name."""

    job_id: int
    container: str
    node_id: int
    digest: str = DIGEST
    name: str = "west"
    path: str = "root.prod"
    window_id: int = 0
    proposal_id: int = 0
    override_id: int = 0
    rollout_id: int = 0
    simulation_id: int = 0
    trace_id: int = 0
    view_id: int = 0
    schedule_id: int = 0
    username: str = "submitter"
    key: str = ""
    token_id: int = 0

    def address(self, route: str) -> str:
        return "/" + re.sub(r"<\w+:(\w+)>", lambda found: str(getattr(self, found[1])), route)


def objects_of(world: World, state: JobState) -> Objects:
    assert world["tenant"].put(f"artifacts/{DIGEST}", DATA).status_code in {200, 201}
    row = Job.objects.get(pk=world["tenant"].post("jobs", job(name="secret-name")).json()["id"])
    live = rows.container(row, world.nodes[0].session.node_id)
    rows.tell(row.pk, "retry", "secret-name failed")
    Job.objects.filter(pk=row.pk).update(state=state)
    window = world["operator"].post("maintenance", WINDOW).json()["id"]
    proposal_id, override_id = changes_of_policy(world)
    node_id = world.nodes[0].session.node_id
    view = world["tenant"].post("saved-views", {"name": "secret-name"}).json()["id"]
    found = Objects(row.pk, format_container(live.pk), node_id, window_id=window, view_id=view)
    found.proposal_id, found.override_id = proposal_id, override_id
    found.schedule_id = schedule(world)
    return found


def schedule(world: World) -> int:
    """One of the tenant's; there is none beside it."""
    Schedule.objects.all().delete()
    wanted = SCHEDULE | {"name": "secret-name"}
    return int(world["tenant"].post("schedules", wanted).json()["id"])


def tokens_of(world: World, owner: str, of_sub_cluster: bool) -> tuple[str, int]:
    """How a token of the owner begins, and the number of one with which others join; nothing older has a name."""
    TokenNote.objects.filter(token__user=world.users["tenant"]).delete()
    for user in world.users.values():
        TokenNote.objects.filter(token__user=user).update(name="")
    row, _ = accounts.new_token(SYSTEM, world.users[owner])
    joins = joining.new_token(SYSTEM, "", "", 60) if of_sub_cluster else nodes.new_join_token(SYSTEM, world.west)
    return row.token_key, joins[0].pk


def changes_of_policy(world: World) -> tuple[int, int]:
    """A proposal that somebody else made, and an override that is to come."""
    times = {"created_at": WINDOW["starts_at"], "expires_at": WINDOW["ends_at"]}
    base, author = PolicyVersion.objects.get(active=True), world.users["admin"]
    payload = {"document": POLICY, "force": False}
    proposal = PolicyProposal.objects.create(
        kind="document", payload=payload, message="theirs", base=base, author=author, **times
    )
    times = {name: WINDOW[name] for name in ("starts_at", "ends_at")}
    fields = {"queue": "root.closed", "field": "weight", "change": {"to": 2}, "message": "for a time"}
    held = PolicyOverride.objects.filter(cancelled_at=None).first()
    override = held or PolicyOverride.objects.create(**fields, **times, created_at=WINDOW["starts_at"])
    return proposal.pk, override.pk


def test_every_route_has_a_rule_and_every_rule_a_route() -> None:
    assert not (set(routes()) ^ set(RULES)), "RULES above says of each route who may use it, and of no other"


def test_the_matrix(world: World) -> None:
    assert not wrong_answers(world, set(RULES) - IN_THREADS)


@pytest.mark.django_db(transaction=True)
def test_the_matrix_of_what_is_answered_in_threads(world: World) -> None:
    assert not wrong_answers(world, IN_THREADS)


def wrong_answers(world: World, asked: set[tuple[str, str]]) -> list[object]:
    """(role, method, route, status, what it should be) of each answer that is not as ``RULES`` or the schema say."""
    wrong: list[object] = []
    documented, found = documents(world), objects_of(world, JobState.RUNNING)
    for method, route in sorted(asked):
        rule = RULES[method, route]
        caches["throttles"].clear()  # nobody asks for all of this within seconds
        for role in ROLES:
            with nullcontext() if (method, route) in IN_THREADS else undone():
                Job.objects.filter(pk=found.job_id).update(state=rule.needs)
                address = named_by(world, found, route) + rule.query
                before = Intent.objects.count(), Job.objects.count()
                answer = ask(world[role], method, address, rule.body)
                if answer.status_code != rule.verdicts[role]:
                    wrong.append((role, method, route, answer.status_code, rule.verdicts[role]))
                if str(answer.status_code) not in documented.get((method, route), str(answer.status_code)):
                    wrong.append((role, method, route, answer.status_code, "not in the schema"))
                if answer.status_code in {401, 403, 404}:
                    assert (Intent.objects.count(), Job.objects.count()) == before, (role, method, route)
                    assert "secret-name" not in answer.content.decode(), (role, method, route)
    return wrong


@contextmanager
def undone() -> Iterator[None]:
    """Of what happens here nothing stays."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def named_by(world: World, found: Objects, route: str) -> str:
    """The route's address of these objects; those that only some routes want are made now."""
    if "rollout_id" in route:
        found = replace(found, rollout_id=rows.rollout(paused="resume" in route).pk)
    if "simulation_id" in route:
        found = replace(found, simulation_id=rows.simulation(done="report" in route).pk)
    if route.endswith("sub-clusters/<str:name>/resume"):
        assert world["operator"].post(f"sub-clusters/{found.name}/drain").status_code == 200
    if "secrets" in route:
        for account in ("tenant", "other", "operator"):
            assert world[account].put(f"me/secrets/{found.name}", {"value": "secret-name"}).status_code == 201
    if "v1/artifacts/" in route:  # its bytes are no part of what is undone
        assert world["tenant"].put(f"artifacts/{found.digest}", DATA).status_code in {200, 201}
    if "receivers" in route:
        for account in ("tenant", "other", "operator"):
            said = {"webhook": "https://1.1.1.1/secret-name"}
            assert world[account].put(f"me/receivers/{found.name}", said).status_code == 201
    if "token" in route:
        owner = found.username if "username" in route else "tenant"
        key, token_id = tokens_of(world, owner, "sub-clusters" in route)
        found = replace(found, key=key, token_id=token_id)
    return found.address(route)


def documents(world: World) -> dict[tuple[str, str], set[str]]:
    """The statuses that the schema tells of, by route; of nodes' and monitors' routes it tells nothing."""
    paths = world["operator"].get("schema?format=json").json()["paths"]
    named = {(method, "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)): (method, route) for method, route in RULES}
    return {
        named[method.upper(), at]: set(operation["responses"])
        for at, methods in paths.items()
        for method, operation in methods.items()
    }


def ask(api: Api, method: str, address: str, body: Any) -> Any:
    api.http.cookies.clear()
    return api(method, address, body)


def test_lists_show_strangers_nothing(world: World) -> None:
    found = objects_of(world, JobState.RUNNING)
    for address in ("jobs", "schedules", "overview", "queues", "nodes", "sub-clusters", f"nodes/{found.node_id}"):
        text = world["other"].get(address).content.decode()
        assert "secret-name" not in text, address
        assert "10.0.0.1" not in text, address
    assert world["other"].get("overview").json()["jobs"]["RUNNING"] == 0
    assert world["tenant"].get("overview").json()["jobs"]["RUNNING"] == 1
    assert world["viewer"].get(f"nodes/{found.node_id}").json()["host"] == "10.0.0.1"


def test_a_node_reaches_only_what_is_its_own(world: World) -> None:
    found = objects_of(world, JobState.RUNNING)
    stranger: NodeApi = world.nodes[1]
    asked = {
        ("GET", f"containers/{found.container}/inputs"): None,
        ("GET", f"containers/{found.container}/token"): None,
        ("GET", f"containers/{found.container}/secrets"): None,
        ("PUT", f"containers/{found.container}/outputs/part?path=p&sha256={DIGEST}"): DATA,
        ("GET", f"artifacts/{DIGEST}?container={found.container}"): None,
        ("POST", f"containers/{found.container}/endpoints"): {"endpoints": {"http": 20_000}},
        ("POST", "logs"): {"chunks": [{"container": found.container, "stream": "stdout", "offset": 0, "data": ""}]},
    }
    for (method, path), body in asked.items():
        assert stranger(method, path, body).status_code == 403, path
    assert AuditEntry.objects.filter(action="node.refused").count() == len(asked)
    assert not TaskOutput.objects.exists()
