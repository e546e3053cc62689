"""Patience: what is tried again, for how long, and what never is."""

from datetime import UTC, datetime
from typing import Any

import pytest

from client import Client, HydraError, Unreachable
from client.transport import check_url, is_loopback, retry_after_s

SPEC = {"name": "a", "groups": [{"name": "g", "command": ["true"]}]}


def first(times: int, what: Any) -> Any:
    """Trouble for the first so many requests that are not reads of a job."""
    left = [times]

    def trouble(request: Any) -> Any:
        if request.path.startswith("/api/v1/jobs/") and request.method == "GET":
            return None
        left[0] -= 1
        return what if left[0] >= 0 else None

    return trouble


def refusal(status: int, **headers: str) -> Any:
    return status, headers, {"title": "no", "status": status, "detail": "not now"}


@pytest.mark.parametrize(
    "trouble", ["drop", "drop-after", refusal(503, **{"Retry-After": "0"}), refusal(429, **{"Retry-After": "0"})]
)
def test_a_submit_is_repeated_until_answered_and_makes_one_job(cluster: Any, trouble: Any) -> None:
    cluster.trouble = first(2, trouble)
    with Client(cluster.url, "secret-token") as client:
        job = client.submit(SPEC)
    sent = cluster.requests("POST", "/jobs")
    assert len(sent) == 3
    assert len({r.headers["Idempotency-Key"] for r in sent}) == 1
    assert [j["id"] for j in cluster.jobs] == [job.id]


def test_every_submit_has_its_own_key(cluster: Any) -> None:
    with Client(cluster.url, "secret-token") as client:
        assert client.submit(SPEC).id != client.submit(SPEC).id
        assert client.submit(SPEC, idempotency_key="mine").id == client.submit(SPEC, idempotency_key="mine").id


def test_a_retry_whose_answer_was_lost_is_repeated_under_its_key(cluster: Any) -> None:
    cluster.add_job(SPEC, "FAILED")
    cluster.trouble = first(1, "drop-after")
    with Client(cluster.url, "secret-token") as client:
        client.retry(1)
    sent = cluster.requests("POST", "/jobs/1/retry")
    assert len(sent) == 2
    assert len({request.headers["Idempotency-Key"] for request in sent}) == 1


def test_refused_for_its_rate_anything_is_repeated(cluster: Any) -> None:
    cluster.add_job(SPEC, "FAILED")
    cluster.trouble = first(1, refusal(429, **{"Retry-After": "0"}))
    with Client(cluster.url, "secret-token") as client:
        client.retry(1)
    assert len(cluster.requests("POST", "/jobs/1/retry")) == 2


def test_a_longer_wait_than_there_is_patience_for_fails_at_once(cluster: Any) -> None:
    cluster.trouble = first(9, refusal(503, **{"Retry-After": "3600"}))
    with Client(cluster.url, "secret-token", retry_s=2) as client, pytest.raises(HydraError, match="not now") as caught:
        client.me()
    assert caught.value.retry_after_s == 3600
    assert len(cluster.seen) == 1


def test_a_mistake_is_not_repeated(cluster: Any) -> None:
    with Client(cluster.url, "secret-token") as client, pytest.raises(HydraError) as caught:
        client.job(99)
    assert (caught.value.status, len(cluster.seen)) == (404, 1)
    assert str(caught.value) == "there is no job 99, or it is not yours."


def test_without_a_token_the_remedy_is_to_log_in(cluster: Any) -> None:
    with Client(cluster.url) as client, pytest.raises(HydraError, match="hydractl login"):
        client.me()


def test_nobody_listens(unused_url: str) -> None:
    with Client(unused_url, retry_s=0) as client, pytest.raises(Unreachable, match="does not answer") as caught:
        client.me()
    assert caught.value.sent is False


@pytest.fixture
def unused_url() -> str:
    import socket

    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{s.getsockname()[1]}"


def test_retry_after_is_a_number_or_a_date() -> None:
    now = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    assert retry_after_s("7") == 7
    assert retry_after_s("Fri, 02 Jan 2026 03:04:15 GMT", now) == 10
    assert retry_after_s("Fri, 02 Jan 2026 03:04:00 GMT", now) == 0
    assert retry_after_s("soon") is None
    assert retry_after_s(None) is None


def test_addresses() -> None:
    assert check_url("https://x.example/") == "https://x.example"
    assert is_loopback("http://127.0.0.1:1")
    assert is_loopback("http://[::1]:1")
    assert is_loopback("http://localhost")
    assert not is_loopback("https://hydra.example.org")
    for bad in ("", "hydra", "ftp://x", "http://"):
        with pytest.raises(HydraError, match="not an address"):
            check_url(bad)
