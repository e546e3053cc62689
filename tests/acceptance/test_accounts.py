"""An account as operators keep it from a shell, and what its owner may do meanwhile."""

from collections.abc import Callable

import pytest

from client import Client, HydraError
from tests.acceptance.cluster import Cluster

pytestmark = pytest.mark.acceptance

NAME, FIRST, SECOND = "ada", "the-first-long-password", "a-second-long-password"


def token(cluster: Cluster, password: str) -> str:
    """Of a log-in."""
    with Client(cluster.stack.url) as anonymous:
        return anonymous.login(NAME, password).token


def refusal(call: Callable[[], object]) -> int:
    """The status with which it is refused."""
    with pytest.raises(HydraError) as caught:
        call()
    return caught.value.status


def test_an_account_may_do_what_it_was_given_until_that_is_taken(cluster: Cluster) -> None:
    def account(*words: str, stdin: str = "") -> str:
        return cluster.hydractl("operator", "account", *words, stdin=stdin).stdout

    account("create", NAME, "--password-stdin", stdin=f"{FIRST}\n")
    with Client(cluster.stack.url, token(cluster, FIRST)) as theirs:
        job = theirs.submit(cluster.spec("hers", "true"))
        assert theirs.wait(job.id, timeout_s=60).succeeded
        assert "viewer" in account("role", NAME, "viewer")
        assert theirs.me().role == "viewer" and theirs.job(job.id).id == job.id
        assert refusal(lambda: theirs.submit(cluster.spec("hers", "true"))) == 403
        account("reset-password", NAME, "--password-stdin", stdin=f"{SECOND}\n")
        assert refusal(theirs.me) == 401
    assert refusal(lambda: token(cluster, FIRST)) == 401
    with Client(cluster.stack.url, token(cluster, SECOND)) as theirs:
        assert theirs.me().username == NAME
        assert "closed" in account("close", NAME)
        assert refusal(theirs.me) == 401
    assert refusal(lambda: token(cluster, SECOND)) == 401
