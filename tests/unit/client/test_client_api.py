"""The SDK's calls: pages, waiting, logs that resume, artifacts checked both ways."""

import hashlib
import json
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from client import Client, HydraError
from client.answers import read, to_json
from contract.jobs import Job

SPEC = {"name": "a", "groups": [{"name": "g", "command": ["true"]}]}


@pytest.fixture
def client(cluster: Any) -> Any:
    with Client(cluster.url, "secret-token") as made:
        yield made


def test_pages_follow_one_another_under_our_own_address(cluster: Any, client: Client) -> None:
    for _ in range(5):
        cluster.add_job(SPEC)
    assert [job.id for job in client.jobs(state="RUNNING")] == [1, 2, 3, 4, 5]
    assert {r.query["state"] for r in cluster.requests("GET", "/jobs")} == {"RUNNING"}
    assert len(cluster.requests("GET", "/jobs")) == 3


def test_pages_are_fetched_as_needed(cluster: Any, client: Client) -> None:
    for _ in range(5):
        cluster.add_job(SPEC)
    assert next(client.jobs()).id == 1
    assert len(cluster.seen) == 1


def test_a_list_may_come_without_pages(client: Client) -> None:
    assert [(q.path, q.pending) for q in client.queues()] == [("root", 3)]


def test_an_answer_is_typed_and_ignores_what_it_does_not_know(cluster: Any, client: Client) -> None:
    cluster.add_job(SPEC, "SUCCEEDED")
    job = client.job(1)
    assert job.ended
    assert job.succeeded
    assert job.submitted_at is not None
    assert job.submitted_at.utcoffset() is not None
    assert to_json(job)["submitted_at"] == "2026-01-02T03:04:05Z"


def test_an_answer_of_another_shape_is_said_so() -> None:
    with pytest.raises(HydraError, match="not a Job this client understands: id"):
        read(Job, {"id": "x", "name": "a", "state": "RUNNING"})


def test_wait_tells_every_change_once_and_survives_an_outage(cluster: Any, client: Client) -> None:
    cluster.add_job(SPEC)
    step = count()

    def on(job: dict[str, Any]) -> None:
        job["state"] = ["SUBMITTED", "RUNNING", "RUNNING", "SUCCEEDED"][min(3, next(step))]

    cluster.on_get_job = on
    drops = iter([None, "drop", "drop"])
    cluster.trouble = lambda request: next(drops, None)
    told: list[str] = []
    assert client.wait(1, lambda job: told.append(job.state)).succeeded
    assert told == ["SUBMITTED", "RUNNING", "SUCCEEDED"]


def test_wait_gives_up_when_told_to(cluster: Any, client: Client) -> None:
    cluster.add_job(SPEC)
    with pytest.raises(TimeoutError, match="job 1 is SUBMITTED"):
        client.wait(1, timeout_s=0)


def test_logs_resume_at_the_offset_after_a_broken_connection(cluster: Any, client: Client) -> None:
    text = "".join(f"line {n}\n" for n in range(20)).encode()
    cluster.logs["c-1-1-1", "stdout"] = text
    cluster.ended.add("c-1-1-1")
    turns = count()
    cluster.trouble = lambda request: "drop" if next(turns) % 3 == 1 else None
    pieces = list(client.logs("c-1-1-1", follow=True))
    assert "".join(p.data for p in pieces).encode() == text
    assert [p.offset for p in pieces] == list(range(0, len(text), 7))


def test_logs_start_where_asked_and_end_where_the_stream_is(cluster: Any, client: Client) -> None:
    cluster.logs["c-1-1-1", "stderr"] = b"0123456789abc"
    assert "".join(p.data for p in client.logs("c-1-1-1", stream="stderr", offset=10)) == "abc"
    assert list(client.logs("c-1-1-1")) == []


def test_followed_logs_wait_for_more(cluster: Any, client: Client) -> None:
    cluster.logs["c-1-1-1", "stdout"] = b"one"
    got = []
    for piece in client.logs("c-1-1-1", follow=True):
        got.append(piece.data)
        if len(got) == 1:
            cluster.logs["c-1-1-1", "stdout"] += b"two"
            cluster.ended.add("c-1-1-1")
    assert got == ["one", "two"]


def test_an_upload_is_skipped_when_it_is_there(cluster: Any, client: Client, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x" * 600_000)
    told: list[int] = []
    stored = client.upload(tmp_path / "x", lambda file, sent: told.append(sent))
    assert cluster.artifacts[stored.digest] == b"x" * 600_000
    assert told[-1] == 600_000
    assert told == sorted(told)
    client.upload(tmp_path / "x")
    assert len(cluster.requests("PUT", f"/artifacts/{stored.digest}")) == 1


def test_an_empty_file_is_a_file(cluster: Any, client: Client, tmp_path: Path) -> None:
    (tmp_path / "empty").touch()
    assert cluster.artifacts[client.upload(tmp_path / "empty").digest] == b""


def test_a_broken_upload_starts_again(cluster: Any, client: Client, tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"y" * 300_000)
    drops = iter([None, "drop"])
    cluster.trouble = lambda request: next(drops, None)
    stored = client.upload(tmp_path / "x")
    assert cluster.artifacts[stored.digest] == b"y" * 300_000


def test_submitting_a_file_brings_what_it_names(cluster: Any, client: Client, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_bytes(b"print(1)")
    job = "name: a\ngroups:\n  - {name: g, command: [python3, work.py], files: [{path: work.py, source: work.py}]}\n"
    (tmp_path / "job.yaml").write_text(job)
    client.submit(tmp_path / "job.yaml")
    digest = hashlib.sha256(b"print(1)").hexdigest()
    assert cluster.artifacts == {digest: b"print(1)"}
    assert cluster.jobs[0]["spec"]["groups"][0]["files"][0]["digest"] == digest
    assert client.submit_many([tmp_path / "job.yaml", SPEC]) == [2, 3]


def test_checking_and_updating_take_what_submitting_takes(cluster: Any, client: Client, tmp_path: Path) -> None:
    (tmp_path / "work.py").write_bytes(b"print(1)")
    files = [{"path": "work.py", "source": str(tmp_path / "work.py")}]
    job = {"name": "a", "groups": [{"name": "g", "command": ["python3", "work.py"], "files": files}]}
    (tmp_path / "job.json").write_text(json.dumps(job))
    digest = hashlib.sha256(b"print(1)").hexdigest()
    for given in (job, tmp_path / "job.json", str(tmp_path / "job.json")):
        assert client.check(given).spec["groups"][0]["files"][0]["digest"] == digest
    number = client.submit(SPEC).id
    client.update(number, 1, tmp_path / "job.json", dry_run=True)
    assert cluster.artifacts == {}, "nothing is uploaded where nothing is begun"
    client.update(number, 1, tmp_path / "job.json")
    assert cluster.artifacts == {digest: b"print(1)"}
    sent = json.loads(cluster.requests("PUT", f"/jobs/{number}/spec")[-1].body)
    assert sent["spec"] == client.check(job).spec and sent["revision"] == 1


def test_a_download_appears_only_when_its_digest_is_right(cluster: Any, client: Client, tmp_path: Path) -> None:
    good = hashlib.sha256(b"data").hexdigest()
    cluster.artifacts[good] = b"data"
    assert client.download(good, tmp_path / "deep" / "file").read_bytes() == b"data"
    bad = hashlib.sha256(b"other").hexdigest()
    cluster.artifacts[bad] = b"damaged"
    with pytest.raises(HydraError, match="another digest"):
        client.download(bad, tmp_path / "bad")
    assert [p.name for p in tmp_path.iterdir()] == ["deep"]


@pytest.mark.parametrize("digest", ["", "abc", "../../etc/passwd", "A" * 64])
def test_a_digest_is_checked_before_it_becomes_an_address(client: Client, cluster: Any, digest: str) -> None:
    with pytest.raises(HydraError, match="not a digest"):
        client.has_artifact(digest)
    assert cluster.seen == []


def test_login_gives_a_token_and_the_client_uses_it(cluster: Any) -> None:
    with Client(cluster.url) as client:
        assert client.login("ada", "right").token == "secret-token"
        client.has_artifact("a" * 64)
        assert cluster.seen[-1].headers["Authorization"] == "Token secret-token"
        with pytest.raises(HydraError, match="wrong name or password"):
            client.login("ada", "wrong")
