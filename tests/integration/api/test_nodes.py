"""The nodes' API: registration, credentials in HTTP and Redis, logs, files."""

import base64
import datetime as dt
import hashlib
import json
import re
from typing import Any

import pytest
import redis
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from controlplane.router import nodeapi
from controlplane.statestore import bus, partitions
from controlplane.statestore.actions import nodes
from controlplane.statestore.actions.audit import SYSTEM
from controlplane.statestore.actions.duty import database_now
from controlplane.statestore.models import (
    AuditEntry,
    Container,
    ContainerHistory,
    Intent,
    Job,
    LogChunk,
    Node,
    NodeCredential,
    TaskOutput,
)
from controlplane.statestore.queries.jobs import outputs
from tests.integration.api import rows
from tests.integration.api.world import NodeApi, World, job
from wire import keys
from wire.ids import format_container
from wire.nodeapi import NodeSession, Register
from wire.states import TaskState


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def registration(token: str, **fields: Any) -> dict[str, Any]:
    return {"join_token": token, "name": "n1", "rack": "r1", "memory_mib": 1024, "vcores_milli": 2000} | fields


def register(world: World, token: str, **fields: Any) -> Any:
    return world["anonymous"]("POST", "/node/v1/register", registration(token, **fields))


@pytest.fixture
def token(world: World) -> str:
    answer = world["operator"].post("sub-clusters/west/join-tokens", {"note": "rack 1", "valid_s": 60})
    assert answer.status_code == 201
    return str(answer.json()["token"])


def as_node(session: NodeSession) -> "redis.Redis[bytes]":
    """Redis as this node sees it."""
    return redis.Redis.from_url(session.redis_url, username=session.redis_user, password=session.credential)


def test_registration_gives_number_credential_keys_and_a_redis_user(world: World, token: str) -> None:
    answer = register(world, token, labels={"zone": "a"}, enforces=["memory"])
    assert answer.status_code == 201, answer.content
    session = NodeSession(**answer.json())
    node = Node.objects.get(pk=session.node_id)
    assert (node.name, node.labels, session.sub_cluster) == ("n1", {"zone": "a"}, "west")
    assert Intent.objects.filter(kind="node", node_id=node.pk).count() == 1
    assert session.credential not in str(NodeCredential.objects.values().get(node=node))
    assert set(session.lease_keys) == {"1"} and len(bytes.fromhex(session.lease_keys["1"])) == 32
    as_node(session).set(keys.status(world.west.pk, node.pk), b"x")


def test_the_same_name_again_is_the_same_node_with_a_new_credential(world: World, token: str) -> None:
    first = NodeSession(**register(world, token).json())
    _, secret = nodes.new_join_token(SYSTEM, world.west, node="n1")
    second = NodeSession(**register(world, secret, memory_mib=2048).json())
    assert second.node_id == first.node_id and second.credential != first.credential
    assert Node.objects.get(pk=first.node_id).memory_mib == 2048
    assert NodeApi(first)("GET", "session").status_code == 401
    assert NodeApi(second)("GET", "session").status_code == 200
    with pytest.raises(redis.AuthenticationError):
        as_node(first).ping()


@pytest.mark.parametrize(
    "wrong",
    [{"memory_mib": 0}, {"gpus": 64}, {"name": "../x"}, {"name": "a b"}, {"labels": {"a": 1}}, {"memory_mib": "1"},
     {"rack": ""}, {"host": "\0"}, {"unknown": 1}],
)  # fmt: skip
def test_a_node_that_describes_itself_badly_is_refused(world: World, token: str, wrong: dict) -> None:
    assert register(world, token, **wrong).status_code == 422
    assert not Node.objects.filter(name="n1").exists()


def test_a_node_manager_of_an_older_version_registers(world: World, token: str) -> None:
    """It still says which extended resources it has, which nothing ever looked at."""
    answer = register(world, token, extended={"fpga": 2})
    assert answer.status_code == 201 and Node.objects.get(name="n1").pk == answer.json()["node_id"]


def test_join_tokens_expire_and_are_revoked(world: World, token: str) -> None:
    assert register(world, "nonsense").status_code == 403
    assert register(world, "\0").status_code == 403
    row, secret = nodes.new_join_token(SYSTEM, world.west, expires_at=timezone.now())
    assert register(world, secret).status_code == 403
    row, secret = nodes.new_join_token(SYSTEM, world.west)
    nodes.revoke_join_token(SYSTEM, row)
    assert register(world, secret).status_code == 403


def test_a_node_reaches_its_own_keys_in_redis_and_nothing_else(world: World) -> None:
    west, east = world.nodes
    mine, s = as_node(west.session), world.west.pk
    mine.get(keys.desired(s, west.session.node_id))
    mine.set(keys.status(s, west.session.node_id), b"x")
    mine.zadd(keys.dirty(s), {str(west.session.node_id): 0})
    for forbidden in (
        lambda: mine.get(keys.desired(world.east.pk, east.session.node_id)),
        lambda: mine.set(keys.desired(s, west.session.node_id), b"x"),
        lambda: mine.set(keys.status(world.east.pk, east.session.node_id), b"x"),
        lambda: mine.get(keys.status(s, west.session.node_id)),
        mine.flushall,
        lambda: mine.set(keys.dirty(s), b"x"),
        lambda: mine.set(keys.dirty(s), b"x", get=True),
        lambda: mine.delete(keys.dirty(s)),
        lambda: mine.zrem(keys.dirty(s), "1"),
        lambda: mine.zrange(keys.dirty(s), 0, -1),
        lambda: mine.expire(keys.dirty(s), 1),
        lambda: mine.get(keys.template(world.east.pk, "0" * 64)),
        lambda: mine.zadd(keys.status(s, west.session.node_id), {"1": 0}),
        lambda: mine.config_get("*"),
        lambda: mine.keys("*"),
        lambda: mine.publish(keys.wake_channel(s, west.session.node_id), b"x"),
    ):
        with pytest.raises(redis.exceptions.NoPermissionError):
            forbidden()


def test_a_decommissioned_node_is_out_at_once(world: World) -> None:
    west = world.nodes[0]
    connection = as_node(west.session)
    connection.ping()
    nodes.decommission(SYSTEM, Node.objects.get(pk=west.session.node_id))
    assert west("GET", "session").status_code == 401
    with pytest.raises(redis.RedisError):
        connection.ping()
    assert nodes.restore_acl(world.west.pk) == 0


def test_users_that_redis_lost_come_back_with_a_session_or_all_at_once(world: World) -> None:
    west = world.nodes[0]
    admin = bus.client()
    admin.execute_command("ACL DELUSER", keys.acl_user(west.session.node_id))
    with pytest.raises(redis.AuthenticationError):
        as_node(west.session).ping()
    answer = west("GET", "session")
    assert answer.status_code == 200 and answer.json()["credential"] == ""
    as_node(west.session).ping()
    admin.execute_command("ACL DELUSER", keys.acl_user(west.session.node_id))
    assert nodes.restore_acl(world.west.pk) == 1
    as_node(west.session).ping()


def chunk(container: str, offset: int, data: bytes, stream: str = "stdout", skipped: int = 0) -> dict[str, Any]:
    text = base64.b64encode(data).decode()
    return {"container": container, "stream": stream, "offset": offset, "data": text, "skipped": skipped}


def job_with_container(world: World, spec: dict[str, Any]) -> tuple[Job, Any, str]:
    answer = world["tenant"].post("jobs", spec)
    assert answer.status_code == 201, answer.content
    row = Job.objects.get(pk=answer.json()["id"])
    live = rows.container(row, world.nodes[0].session.node_id)
    return row, live, format_container(live.pk)


@pytest.mark.django_db(transaction=True)  # logs are read on threads of their own
def test_logs_are_idempotent_and_read_by_offset(world: World) -> None:
    _, live, cid = job_with_container(world, job())
    west = world.nodes[0]
    pieces = [chunk(cid, 0, b"hello "), chunk(cid, 6, "wörld".encode()), chunk(cid, 100, b"late", skipped=88)]
    for _ in range(2):
        assert west("POST", "logs", {"chunks": pieces}).status_code == 204
    assert LogChunk.objects.count() == 3

    def read(query: str) -> dict[str, Any]:
        answer = world["tenant"].get(f"containers/{cid}/logs?{query}")
        assert answer.status_code == 200, answer.content
        return answer.json()

    assert read("") == {"data": "hello wörld", "offset": 0, "next_offset": 12, "skipped": 0, "complete": False}
    assert read("offset=3")["data"] == "lo wörld"
    cut = read("limit=8")
    assert (cut["data"], cut["next_offset"]) == ("hello w", 7)  # a character is never cut in two
    assert read("offset=12") == {"data": "late", "offset": 12, "next_offset": 104, "skipped": 88, "complete": False}
    assert read("offset=104")["data"] == "" and read("stream=stderr")["data"] == ""
    assert world["other"].get(f"containers/{cid}/logs").status_code == 404
    assert world["tenant"].get("containers/c-1-1-99999/logs").status_code == 404
    assert world["tenant"].get("containers/nonsense/logs").status_code == 404
    rows.end(live, ago_s=60)
    assert read("offset=104")["complete"] is True


def test_logs_of_foreign_containers_are_refused_and_audited(world: World) -> None:
    _, _, cid = job_with_container(world, job())
    east = world.nodes[1]
    assert east("POST", "logs", {"chunks": [chunk(cid, 0, b"forged")]}).status_code == 403
    assert AuditEntry.objects.filter(action="node.refused", target=f"node/{east.session.node_id}").count() == 1
    assert not LogChunk.objects.exists()
    for wrong in ({}, {"chunks": [1]}, {"chunks": [chunk(cid, -1, b"")]}, {"chunks": [chunk("x", 0, b"")]}, []):
        assert east("POST", "logs", wrong).status_code == 422


def test_one_foreign_container_does_not_keep_the_others_logs_waiting(world: World) -> None:
    _, live, cid = job_with_container(world, job())
    west = world.nodes[0]
    for n in range(100):
        pieces = [chunk("c-1-1-99999", 0, b"of nobody"), chunk(cid, n, b"x")]
        assert west("POST", "logs", {"chunks": pieces}).status_code == 204
    assert set(LogChunk.objects.values_list("container_id", flat=True)) == {live.pk}
    assert LogChunk.objects.count() == 100
    refused = AuditEntry.objects.filter(action="node.refused", target=f"node/{west.session.node_id}")
    assert 1 <= refused.count() <= 60


@pytest.mark.django_db(transaction=True)
def test_pieces_that_overlap_are_kept_once_however_they_are_cut(world: World) -> None:
    _, live, cid = job_with_container(world, job())
    text = bytes(range(97, 123)) * 40
    for begin in range(0, len(text), 7):
        pieces = [chunk(cid, begin, text[begin : begin + 500]), chunk(cid, max(0, begin - 3), text[begin - 3 :][:9])]
        assert world.nodes[0]("POST", "logs", {"chunks": pieces}).status_code == 204
    for _ in range(2):
        assert world.nodes[0]("POST", "logs", {"chunks": [chunk(cid, len(text), b"")]}).status_code == 204
    kept = LogChunk.objects.filter(container_id=live.pk).order_by("offset")
    assert [c.offset for c in kept if not c.data] == [len(text)], "the word that nothing follows"
    assert b"".join(bytes(c.data) for c in kept) == text and sum(len(c.data) for c in kept) == len(text)
    shown = world["tenant"].get(f"containers/{cid}/logs").json()
    assert shown["next_offset"] > 500 and text.startswith(shown["data"].encode())


@pytest.mark.django_db(transaction=True)
def test_of_a_flood_the_newest_is_kept(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.HYDRA, "log_max_mib", 0.25)
    _, live, cid = job_with_container(world, job())
    piece = bytes(range(97, 123)) * 2048  # 52 KiB
    for n in range(20):
        pieces = [chunk(cid, n * len(piece), piece), chunk(cid, n, b"x", "stderr")]
        assert world.nodes[0]("POST", "logs", {"chunks": pieces}).status_code == 204
    kept = LogChunk.objects.filter(container_id=live.pk, stream=LogChunk.Stream.STDOUT).order_by("offset")
    assert 0.15 * 2**20 < sum(len(c.data) for c in kept) <= 0.25 * 2**20 + len(piece)
    assert kept.last().offset == 19 * len(piece)
    assert LogChunk.objects.filter(stream=LogChunk.Stream.STDERR).count() == 20
    shown = world["tenant"].get(f"containers/{cid}/logs").json()
    assert shown["skipped"] == kept.first().offset and shown["data"].startswith("abc")


@pytest.mark.django_db(transaction=True)
def test_what_has_run_for_weeks_keeps_its_newest_logs(world: World) -> None:
    _, live, cid = job_with_container(world, job())
    today = timezone.now().date()
    weeks_ago = timezone.now() - dt.timedelta(days=20)
    Container.objects.filter(pk=live.pk).update(allocated_at=weeks_ago)
    LogChunk.objects.create(container_id=live.pk, stream=1, offset=0, day=weeks_ago.date(), data=b"first ")
    for _ in range(2):
        assert world.nodes[0]("POST", "logs", {"chunks": [chunk(cid, 6, b"newest")]}).status_code == 204
    assert world["tenant"].get(f"containers/{cid}/logs").json()["data"] == "first newest"
    partitions.ensure(today)
    partitions.drop_old(today)
    shown = world["tenant"].get(f"containers/{cid}/logs").json()
    assert (shown["data"], shown["skipped"]) == ("newest", 6)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("hours", [-25, -1, 1, 25])
def test_logs_are_kept_and_read_by_the_databases_clock(
    world: World, hours: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """25 hours are another day whenever it runs; one hour is one around midnight."""
    _, live, cid = job_with_container(world, job())
    now, today = timezone.now, database_now().date()
    monkeypatch.setattr(timezone, "now", lambda: now() + dt.timedelta(hours=hours))
    assert world.nodes[0]("POST", "logs", {"chunks": [chunk(cid, 0, b"seen")]}).status_code == 204
    assert LogChunk.objects.get().day in (today, database_now().date())

    def read() -> tuple[str, bool]:
        shown = world["tenant"].get(f"containers/{cid}/logs").json()
        return shown["data"], shown["complete"]

    assert read() == ("seen", False)
    rows.end(live)
    ContainerHistory.objects.filter(pk=live.pk).update(finished_at=database_now())
    assert read() == ("seen", False)  # what comes late may still come
    ContainerHistory.objects.filter(pk=live.pk).update(finished_at=database_now() - dt.timedelta(seconds=4))
    assert read() == ("seen", True)


def census(digest: str) -> dict[str, Any]:
    return job(
        groups=[
            {
                "name": "map",
                "count": 2,
                "command": ["python3", "map.py"],
                "files": [{"path": "map.py", "digest": digest}],
                "outputs": [{"name": "part", "path": "part.json"}],
            },
            {
                "name": "reduce",
                "command": ["cat"],
                "after": ["map"],
                "inputs": [{"group": "map", "name": "part", "path": "parts/{index}.json"}],
            },
        ]
    )


def test_outputs_inputs_and_artifacts_of_the_winning_attempt(world: World) -> None:
    code, part, stale = b"print(1)", b'{"n": 1}', b'{"n": "stale"}'
    assert world["tenant"].put(f"artifacts/{sha(code)}", code).status_code == 201
    row, live, cid = job_with_container(world, census(sha(code)))
    west, east = world.nodes
    assert row.spec["groups"][0]["files"][0]["size"] == len(code)

    got = west("GET", f"artifacts/{sha(code)}?container={cid}")
    assert got.status_code == 200 and b"".join(got) == code
    ranged = west("GET", f"artifacts/{sha(code)}?container={cid}", Range="bytes=2-4")
    assert ranged.status_code == 206 and b"".join(ranged) == code[2:5]
    assert east("GET", f"artifacts/{sha(code)}?container={cid}").status_code == 403

    def publish(who: NodeApi, container: str, data: bytes, name: str = "part", path: str = "part.json") -> int:
        return who("PUT", f"containers/{container}/outputs/{name}?path={path}&sha256={sha(data)}", data).status_code

    assert publish(east, cid, part) == 403
    assert publish(west, cid, part, name="other") == 403
    assert publish(west, cid, part, path="../etc") == 403
    assert west("PUT", f"containers/{cid}/outputs/part?path=part.json&sha256={sha(part)}", b"x").status_code == 422
    assert publish(west, cid, stale) == 201
    rows.end(live, TaskState.FAILED, 1)  # the first attempt failed: what it left does not count
    assert publish(west, cid, part) == 409

    second = rows.container(row, west.session.node_id, attempt=2)
    assert publish(west, format_container(second.pk), part) == 201
    assert publish(west, format_container(second.pk), part) == 201  # a repeat changes nothing
    assert publish(west, format_container(second.pk), stale) == 409
    reduce = rows.container(row, west.session.node_id, group=1)
    assert west("GET", f"containers/{format_container(reduce.pk)}/inputs").json() == {"inputs": []}
    rows.end(second)
    inputs = west("GET", f"containers/{format_container(reduce.pk)}/inputs").json()["inputs"]
    assert inputs == [{"path": "parts/0.json", "digest": sha(part), "size": len(part)}]
    got = west("GET", f"artifacts/{sha(part)}?container={format_container(reduce.pk)}")
    assert b"".join(got) == part
    assert west("GET", f"artifacts/{sha(stale)}?container={format_container(reduce.pk)}").status_code == 403

    shown = world["tenant"].get(f"jobs/{row.pk}/outputs").json()["results"]
    assert [(o["group"], o["index"], o["name"], o["digest"]) for o in shown] == [("map", 0, "part", sha(part))]
    assert b"".join(world["tenant"].get(f"artifacts/{sha(part)}")) == part
    assert world["other"].get(f"artifacts/{sha(part)}").status_code == 404
    assert TaskOutput.objects.count() == 2


def test_files_of_a_job_are_stored_once_and_all_its_containers_may_have_them(world: World) -> None:
    code, library = b"print(2)", b"# of all groups"
    for data in (code, library):
        assert world["tenant"].put(f"artifacts/{sha(data)}", data).status_code == 201
    brought = {"files": [{"path": "lib", "digest": sha(library)}]}
    row, _, mapping = job_with_container(world, census(sha(code)) | brought)
    assert json.dumps(row.spec).count(sha(library)) == 1
    assert (row.spec["files"][0]["size"], len(row.spec["groups"])) == (len(library), 2)
    west, _ = world.nodes
    reducing = format_container(rows.container(row, west.session.node_id, group=1).pk)
    for cid in (mapping, reducing):
        got = west("GET", f"artifacts/{sha(library)}?container={cid}")
        assert got.status_code == 200 and b"".join(got) == library
    assert west("GET", f"artifacts/{sha(code)}?container={reducing}").status_code == 403, "another group's"


def test_a_look_at_one_input_does_not_look_at_all(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    code = b"print(1)"
    world["tenant"].put(f"artifacts/{sha(code)}", code)
    row, live, cid = job_with_container(world, census(sha(code)))
    west = world.nodes[0]
    part = b"{}"
    wanted = f"containers/{cid}/outputs/part?path=part.json&sha256={sha(part)}"
    assert west("PUT", wanted, part).status_code == 201
    rows.end(live)
    reduce = format_container(rows.container(row, west.session.node_id, group=1).pk)
    monkeypatch.setattr(nodeapi, "inputs_of", None)
    monkeypatch.setattr(outputs, "of_groups", None)
    assert west("GET", f"artifacts/{sha(part)}?container={reduce}").status_code == 200
    assert west("GET", f"artifacts/{sha(code)}?container={reduce}").status_code == 403


def test_of_a_large_job_a_node_is_served_from_one_group(world: World) -> None:
    code = b"print(1)"
    world["tenant"].put(f"artifacts/{sha(code)}", code)
    _, _, cid = job_with_container(world, census(sha(code)))
    west = world.nodes[0]
    paths = f"artifacts/{sha(code)}?container={cid}", f"containers/{cid}/inputs"
    with CaptureQueriesContext(connection) as ran:
        assert [west("GET", path).status_code for path in paths] == [200, 200]
    read = [query["sql"] for query in ran if "statestore_job" in query["sql"]]
    assert read and not any(re.search(r'"spec"(?! *(#>|->))', sql.partition(" FROM ")[0]) for sql in read)


def test_of_a_thousand_files_a_look_at_one_reads_one(world: World) -> None:
    """What a group declares is read for the first of them."""
    files = [f"# file {n}".encode() for n in range(3)]
    for data in files:
        assert world["tenant"].put(f"artifacts/{sha(data)}", data).status_code == 201
    spec = census(sha(files[0]))
    spec["groups"][0]["files"] += [{"path": f"f{n}", "digest": sha(data)} for n, data in enumerate(files[1:])]
    _, _, cid = job_with_container(world, spec)
    west = world.nodes[0]
    assert west("GET", f"artifacts/{sha(files[0])}?container={cid}").status_code == 200
    with CaptureQueriesContext(connection) as ran:
        for data in files[1:]:
            assert b"".join(west("GET", f"artifacts/{sha(data)}?container={cid}")) == data
        kept = west("PUT", f"containers/{cid}/outputs/part?path=part.json&sha256={sha(b'{}')}", b"{}")
        refused = west("GET", f"artifacts/{sha(b'{}')}?container={cid}")
    assert (kept.status_code, refused.status_code) == (201, 403)
    assert len(ran) and not any('"spec"' in query["sql"] for query in ran)


def test_credentials_of_people_and_nodes_do_not_mix(world: World) -> None:
    assert world["operator"]("GET", "/node/v1/session").status_code == 401
    assert world.nodes[0]("GET", "/../../api/v1/me").status_code in {401, 404}
    bad = NodeSession(**{**vars_of(world.nodes[0].session), "credential": "wrong"})
    assert NodeApi(bad)("GET", "session").status_code == 401
    foreign = NodeSession(**{**vars_of(world.nodes[0].session), "node_id": world.nodes[1].session.node_id})
    assert NodeApi(foreign)("GET", "session").status_code == 401


def vars_of(session: NodeSession) -> dict[str, Any]:
    return {name: getattr(session, name) for name in session.__dataclass_fields__}


def test_many_nodes_at_once(world: World) -> None:
    wanted = [Register("", f"h{i}", f"r{i % 4}", 1024, 1000) for i in range(50)]
    sessions = nodes.bulk_register(world.west, wanted)
    assert len({s.node_id for s in sessions}) == 50
    as_node(sessions[49]).ping()
    again = nodes.bulk_register(world.west, wanted)
    assert [s.node_id for s in again] == [s.node_id for s in sessions]
