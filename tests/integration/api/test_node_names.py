"""Whose a node's name is: who registered it, until an operator gives it to another machine."""

import secrets
from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.management import CommandError, call_command
from django.utils import timezone
from redis.backoff import NoBackoff
from redis.retry import Retry

from controlplane.embedded import bootstrap
from controlplane.statestore import bus
from controlplane.statestore.actions import nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.actions.credentials import hashed
from controlplane.statestore.models import JoinToken, Node, SubCluster
from tests.integration.api.test_nodes import register
from tests.integration.api.world import NodeApi, World
from wire import keys
from wire.nodeapi import NodeSession


@pytest.fixture
def token(world: World) -> str:
    return made(world)


def made(world: World, **fields: Any) -> str:
    answer = world["operator"].post("sub-clusters/west/join-tokens", fields)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["token"])


def session(answer: Any) -> NodeSession:
    assert answer.status_code == 201, answer.content
    return NodeSession(**answer.json())


def test_a_token_that_registers_nodes_takes_no_name_from_one(world: World, token: str) -> None:
    first = session(register(world, token))
    for wrong in ({}, {"credential": secrets.token_urlsafe(32)}):
        refused = register(world, token, **wrong)
        assert refused.status_code == 403 and "join-token west --node n1" in refused.json()["detail"]
    assert NodeApi(first)("GET", "session").status_code == 200, "its credential is good"


def test_who_has_the_credential_registers_again_without_a_token(world: World, token: str) -> None:
    first = session(register(world, token))
    again = session(register(world, "", credential=first.credential, memory_mib=2048))
    assert (again.node_id, again.credential) == (first.node_id, first.credential)
    assert Node.objects.get(pk=first.node_id).memory_mib == 2048
    assert register(world, "", credential=secrets.token_urlsafe(32)).status_code == 403
    assert register(world, "", credential=first.credential, name="n2").status_code == 403
    assert register(world, token, credential="short", name="n2").status_code == 422


def test_a_registration_whose_answer_was_lost_is_repeated(world: World, token: str) -> None:
    mine = secrets.token_urlsafe(32)
    once, again = (session(register(world, token, credential=mine)) for _ in range(2))
    assert once == again and once.credential == mine
    bound = made(world, node="n1")
    other = secrets.token_urlsafe(32)
    once, again = (session(register(world, bound, credential=other)) for _ in range(2))
    assert once == again and once.credential == other
    assert register(world, bound, credential=mine).status_code == 403


def test_a_token_for_a_name_gives_it_to_one_machine_once(world: World, token: str) -> None:
    first = session(register(world, token))
    bound = made(world, node="n1")
    listed = {t["node"] for t in world["operator"].get("join-tokens").json()["results"]}
    assert listed == {"", "n1"}
    assert register(world, bound, name="n2").status_code == 403, "it is for another name"
    second = session(register(world, bound))
    assert second.node_id == first.node_id and second.credential != first.credential
    assert NodeApi(first)("GET", "session").status_code == 401
    assert NodeApi(second)("GET", "session").status_code == 200
    assert register(world, bound).status_code == 403, "it is used up"
    assert {t["node"] for t in world["operator"].get("join-tokens").json()["results"]} == {""}


def test_of_who_had_the_name_before_nothing_is_heard_any_more(world: World, token: str) -> None:
    """Its last statuses would be newer than any of the next machine's, which would be lost for as long."""
    first = session(register(world, token))
    former, key = of_node(first), keys.status(first.sub_cluster_id, first.node_id)
    former.set(key, b"newest")
    session(register(world, made(world, node="n1")))
    with pytest.raises(redis.ConnectionError):  # or that it may not sign in, as it tries again
        former.set(key, b"newer")
    assert bus.client().get(key) is None


def of_node(session: NodeSession) -> redis.Redis:
    """Redis as the node reaches it, on one connection that does not come back by itself."""
    shared = bus.client().connection_pool.connection_kwargs
    where = {name: shared[name] for name in ("host", "port", "path") if name in shared}
    kind = redis.UnixDomainSocketConnection if "path" in where else redis.Connection
    pool = redis.ConnectionPool(
        kind, username=session.redis_user, password=session.credential, retry=Retry(NoBackoff(), 0), **where
    )
    return redis.Redis(connection_pool=pool)


def test_a_node_that_is_taken_back_registers_with_what_it_had(world: World, token: str) -> None:
    first = session(register(world, token))
    node = Node.objects.get(pk=first.node_id)
    nodes.decommission(SYSTEM, node)
    assert NodeApi(first)("GET", "session").status_code == 401
    assert register(world, "", credential=first.credential).status_code == 410
    Node.objects.filter(pk=node.pk).update(duty=Node.Duty.IN_SERVICE)
    assert session(register(world, "", credential=first.credential)).node_id == first.node_id
    assert NodeApi(first)("GET", "session").status_code == 200


def test_every_join_token_ends(world: World) -> None:
    answer = world["operator"].post("sub-clusters/west/join-tokens", {}).json()
    assert answer["expires_at"] is not None
    session(register(world, answer["token"]))
    JoinToken.objects.filter(sha256=hashed(answer["token"])).update(expires_at=timezone.now())
    assert register(world, answer["token"], name="n2").status_code == 403
    refused = world["operator"].post("sub-clusters/west/join-tokens", {"valid_s": None})
    assert refused.status_code == 422


def test_a_hosts_own_token_ends_unless_the_host_is_prepared_again(world: World) -> None:
    token = secrets.token_urlsafe(24)
    given = {"join_token_west": token}
    bootstrap.run(["west"], given)
    row = JoinToken.objects.get(sha256=hashed(token))
    for until in (None, timezone.now()):  # as an older version made it, and when it has ended
        JoinToken.objects.filter(pk=row.pk).update(expires_at=until)
        bootstrap.run(["west"], given)
        row.refresh_from_db()
        assert row.expires_at is not None and 29 <= (row.expires_at - timezone.now()).days <= 30
    JoinToken.objects.filter(pk=row.pk).update(expires_at=timezone.now())
    assert register(world, token).status_code == 403
    bootstrap.run(["west"], given)
    session(register(world, token))
    nodes.revoke_join_token(SYSTEM, row)
    bootstrap.run(["west"], given)
    assert register(world, token, name="n2").status_code == 403


def test_a_password_that_no_operator_may_have_is_named(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HYDRA_HOME", str(tmp_path))  # without secrets of its own
    world.users["operator"].username = "chief"
    world.users["operator"].save(update_fields=["username"])
    monkeypatch.setenv("HYDRA_OPERATOR_PASSWORD", "short")
    with pytest.raises(CommandError, match=r"HYDRA_OPERATOR_PASSWORD: .*10 characters"):
        call_command("prepare", "--sub-clusters", "west")


def test_sub_clusters_are_named_as_people_write_lists(
    world: World, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HYDRA_HOME", str(tmp_path))
    monkeypatch.delenv("HYDRA_OPERATOR_PASSWORD", raising=False)
    before = set(SubCluster.objects.values_list("name", flat=True))
    with pytest.raises(CommandError, match=r"^--sub-clusters: 'Hall 1' is not a name; use up to 63 small letters"):
        call_command("prepare", "--sub-clusters", "west,hall-2,Hall 1")
    call_command("prepare", "--sub-clusters", " west, hall-1,,")
    assert set(SubCluster.objects.values_list("name", flat=True)) == before | {"hall-1"}
