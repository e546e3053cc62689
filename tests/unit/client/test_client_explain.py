"""``hydractl explain``: why a job waits, at its home and elsewhere."""

import json
from typing import Any

from tests import hydractl

REASON = {
    "code": "queue_maximum",
    "text": "The queue root.a is at its maximum: 512 MiB of memory left, asked 1,024.",
    "waiting": 4,
    "asked": {"memory_mib": 1024},
    "at": "2026-01-02T03:04:05+00:00",
    "limits": [
        {
            "limit": "queue_maximum",
            "text": "The queue root.a is at its maximum: 512 MiB of memory left, asked 1,024.",
            "asked": {"memory_mib": 1024},
            "available": {"memory_mib": 512},
            "queue": "root.a",
        }
    ],
    "position": {"jobs_ahead": 1, "containers_ahead": 9},
    "estimate": {"earliest_s": 40.0, "latest_s": None, "text": "In 40 s at the earliest."},
    "change": {"what": "container", "starts": True, "text": "Ask for at most 512 MiB of memory per container."},
}


def _explain(env: dict[str, str], *words: str) -> Any:
    return hydractl.run(("explain", *words), env)


def test_why_a_job_waits_is_told_for_people_and_programs(cluster: Any, env: dict[str, str]) -> None:
    job = cluster.add_job({"name": "a", "groups": [{"name": "map"}, {"name": "sum"}]}, "RUNNING")
    job["groups"][0]["reason"] = reason = json.loads(json.dumps(REASON))
    done = _explain(env, "1")
    assert done.returncode == 0
    for words in (
        "map: 4 tasks wait", "1. The queue root.a is at its maximum", "512 of 1,024", "1 job with 9 containers",
        "In 40 s at the earliest.", "would start it now", "at most 512 MiB",
    ):  # fmt: skip
        assert words in done.stdout, done.stdout
    assert "sum" not in done.stdout, "nothing is known of it"
    told = json.loads(_explain(env, "1", "-o", "json").stdout)
    assert told["groups"][0]["reason"]["limits"][0]["queue"] == "root.a"
    reason["limits"][0]["available"] = {}
    assert "of 1,024" not in _explain(env, "1").stdout, "who may not see what is left is told no number"
    job["groups"][0]["reason"] = None
    quiet = _explain(env, "1")
    assert (quiet.stdout, "nothing of it waits" in quiet.stderr) == ("", True)
    assert _explain(env, "99").returncode == 2


def test_what_waits_elsewhere_has_its_place_and_its_start_there(cluster: Any, env: dict[str, str]) -> None:
    job = cluster.add_job({"name": "a", "groups": [{"name": "map"}]}, "RUNNING")
    at = {"sub_cluster": "east", "waiting": 3, "since": "2026-01-02T03:04:05+00:00"}
    job["groups"][0]["elsewhere"] = [at | {"reason": REASON}, at | {"sub_cluster": "west", "reason": None}]
    lines = [" ".join(line.split()) for line in _explain(env, "1").stdout.splitlines()]
    east = lines.index(f"3 in east: {REASON['text']}")
    assert lines[east + 1 : east + 4] == [
        "ahead in its queue 1 job with 9 containers",
        "starts In 40 s at the earliest.",
        "would start it now Ask for at most 512 MiB of memory per container.",
    ]
    assert lines[-2:] == ["3 in west: its resource manager has not said why yet", ""]
