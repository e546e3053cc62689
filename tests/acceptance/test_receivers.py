"""Who is told of jobs, from the shell to a web server on a real socket."""

import base64
import hashlib
import hmac
import json
from typing import Any

import pytest

from tests.acceptance.cluster import Cluster
from tests.patience import wait_until
from tests.receiving import Hooks, hooks, mail_server

pytestmark = pytest.mark.acceptance
EVENTS = ["started", "succeeded", "failed", "killed"]


def told(web: Hooks, count: int) -> list[dict[str, Any]]:
    wait_until(lambda: len(web.told) >= count, 30, f"{count} webhooks have come")
    return [json.loads(body) for _, _, body in web.told]


def signed(web: Hooks, key: str) -> bool:
    """Whether all that came is signed with the key that was shown once."""
    secret = base64.b64decode(key.removeprefix("whsec_"))
    return all(
        hmac.new(secret, f"{head['webhook-id']}.{head['webhook-timestamp']}.".encode() + body, hashlib.sha256).digest()
        == base64.b64decode(head["webhook-signature"].removeprefix("v1,"))
        for _, head, body in web.told
    )


def test_a_webhook_is_told_when_a_job_begins_and_when_it_ends(cluster: Cluster) -> None:
    with hooks() as web:
        key = cluster.hydractl("tenant", "receiver", "put", "shell", "--webhook", web.url()).stdout.strip()
        try:
            spec = cluster.spec("told", cluster.gate("told")) | {"notify": [{"receiver": "shell", "events": EVENTS}]}
            (cluster.evidence / "told.json").write_text(json.dumps(spec))
            number = cluster.hydractl("tenant", "submit", "told.json", "--quiet").stdout.strip()
            (begun,) = told(web, 1)
            assert (begun["type"], begun["data"]["job"]) == ("job.started", int(number))
            cluster.open_gate("told")
            cluster.hydractl("tenant", "wait", number)
            assert [each["type"] for each in told(web, 2)] == ["job.started", "job.succeeded"]
            assert signed(web, key)
            assert "shell of started" in cluster.hydractl("tenant", "job", number).stdout
            wait_until(lambda: log(cluster) == ["sent", "sent"], 10, "both are known to be told")
        finally:
            cluster.hydractl("tenant", "receiver", "delete", "shell")


def test_a_mail_tells_how_a_job_has_ended(cluster: Cluster) -> None:
    """A receiver for each end: what one is told within a minute comes in one mail."""
    jobs = {"succeeded": "true", "failed": "exit 3"}
    with mail_server(port=cluster.mail_port) as mails:
        cluster.hydractl("operator", "account", "email", "tenant", "ann@example.org")
        try:
            for end in jobs:
                cluster.hydractl("tenant", "receiver", "put", f"{end}-ones", "--mail", "--every-job", end)
            ids = {end: cluster.task_job(f"mailed-{end}", script, retries=0).id for end, script in jobs.items()}
            wait_until(lambda: len(mails.taken) >= len(ids), 30, "both mails have come")
        finally:
            for end in jobs:
                cluster.hydractl("tenant", "receiver", "delete", f"{end}-ones")
            cluster.hydractl("operator", "account", "email", "tenant")
    assert {(sender, *to) for sender, to, _ in mails.taken} == {("hydra@localhost", "ann@example.org")}
    texts = sorted((text for *_, text in mails.taken), key=lambda text: "has failed" in text)
    why = "main/0 ended with exit status 3 after 1 attempt"
    assert f"Subject: [Hydra] Job {ids['succeeded']} mailed-succeeded has succeeded\n" in texts[0]
    assert f"Job {ids['failed']} mailed-failed has failed: {why}\nQueue root.default, waited " in texts[1]
    for text, number in zip(texts, ids.values(), strict=True):
        assert f"/jobs/{number}\n" in text


def log(cluster: Cluster) -> list[str]:
    """What became of each, as ``hydractl receiver log`` has it."""
    found = json.loads(cluster.hydractl("tenant", "receiver", "log", "shell", "-o", "json").stdout)
    return [each["state"] for each in found]
