"""What ``hydractl receiver put`` and ``hydractl views`` ask a server to keep."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from contract.jobs import SavedView
from contract.notifications import ReceiverKept
from tests import hydractl
from tests.answers import said_by_the_api

URL = "https://hooks.example.org/x"


def run(env: dict[str, str], *words: str, stdin: str = "") -> Any:
    return hydractl.run(words, env, stdin)


@pytest.mark.parametrize(
    ("typed", "sent"),
    [
        ((), {"webhook": URL, "mail": False}),
        (("--every-job", "failed", "--every-job", "killed"), {"every_job": ["failed", "killed"]}),
        (("--every-job", "none"), {"every_job": []}),
    ],
)
def test_what_is_not_said_of_a_receiver_is_not_sent(
    cluster: Any, env: dict[str, str], typed: tuple[str, ...], sent: dict[str, Any]
) -> None:
    kept = said_by_the_api(ReceiverKept, name="ci", every_job=["failed"], signing_key=None)
    cluster.trouble = lambda request: (200, {}, kept)
    done = run(env, "receiver", "put", "ci", "--webhook", URL, *typed)
    assert done.returncode == 0 and "told of every job of yours: failed" in done.stderr, done.stderr
    assert json.loads(cluster.seen[0].body) == {"webhook": URL, "mail": False} | sent


def test_a_receiver_is_said_once(cluster: Any, env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "url").write_text(URL)
    both = run(env, "receiver", "put", "ci", "--webhook", URL, "--webhook-file", str(tmp_path / "url"))
    assert "--webhook: does not go with --webhook-file. Leave one of them out." in both.stderr
    mixed = run(env, "receiver", "put", "ci", "--every-job", "none", "--every-job", "failed")
    assert "--every-job: none goes with no other." in mixed.stderr
    assert (both.returncode, mixed.returncode, cluster.seen) == (2, 2, [])


def test_a_view_keeps_filters_as_a_list_takes_them(cluster: Any, env: dict[str, str]) -> None:
    view = said_by_the_api(SavedView, id=7, name="broken", query="state=FAILED")
    cluster.trouble = lambda request: (
        (200, {}, {"results": [view]} if request.method == "GET" else view)
        if request.path.startswith("/api/v1/saved-views")
        else None
    )
    run(env, "views", "save", "broken", "state=failed", "since=2030-01-31T12:00", "tag=a b")
    since = datetime(2030, 1, 31, 12).astimezone().isoformat().replace(":", "%3A").replace("+", "%2B")
    assert json.loads(cluster.seen[0].body)["query"] == f"state=FAILED&since={since}&tag=a+b"
    for span in ("-2d", "2d", "now"):
        refused = run(env, "views", "save", "broken", f"since={span}")
        assert refused.returncode == 2 and f"since: {span} would be the same moment for ever." in refused.stderr
    gone = run(env, "views", "delete", "broken")
    assert (gone.returncode, gone.stdout, gone.stderr) == (0, "", "view broken is deleted\n")
    assert [r.path for r in cluster.seen if r.method == "DELETE"] == ["/api/v1/saved-views/7"]
