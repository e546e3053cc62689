"""What a tenant who does all at once costs the others: their latencies beside it, by those without it.

Windows with and without the greedy one take turns, so that what else the machine does falls on both alike.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter, defaultdict
from typing import Any

import httpx

from benchmarks.greed import WISHES
from benchmarks.stack import REPO, BenchStack, job, percentile, stack

GREEDY = "greedy"
PAUSE_S = 0.01
WARM_S = 3.0  # of each window before it counts
REST_S = 4.0
PAGES = ("jobs", "overview", "queues", "me")


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench greedy-tenant")
    parser.add_argument("--windows", type=int, default=4, help="of each kind")
    parser.add_argument("--seconds", type=float, default=20.0, help="of one window")
    parser.add_argument("--wishes", nargs="+", choices=list(WISHES), default=list(WISHES))
    options = parser.parse_args(argv)
    took: dict[bool, dict[str, list[float]]] = {greedy: defaultdict(list) for greedy in (False, True)}
    answers: Counter[str] = Counter()
    with stack() as running, running.client("operator") as operator, running.client() as client:
        password = secrets.token_hex(16)
        operator.create_account(GREEDY, password)
        token = client.login("tenant", running.home.secrets()["tenant_password"]).token
        look(running.url, token, WARM_S, defaultdict(list))
        for _ in range(options.windows):
            look(running.url, token, options.seconds, took[False])
            answers += beside(running, password, token, options, took[True])
            for wanted in operator.jobs(owner=GREEDY, state="live"):
                operator.kill(wanted.id)
            time.sleep(REST_S)
    return figures(took) | {"greedy_answers": dict(sorted(answers.items()))}


def beside(
    running: BenchStack, password: str, token: str, options: argparse.Namespace, took: dict[str, list[float]]
) -> Counter[str]:
    """One window with the greedy tenant, and what that one was answered."""
    command = [sys.executable, "-m", "benchmarks.greed", "--url", running.url, "--user", GREEDY]
    command += ["--seconds", str(options.seconds + WARM_S + 1), "--wishes", *options.wishes]
    environ = os.environ | {"GREED_PASSWORD": password}
    greed = subprocess.Popen(["nice", "-n", "19", *command], cwd=REPO, env=environ, stdout=subprocess.PIPE, text=True)
    try:
        look(running.url, token, WARM_S, defaultdict(list))
        look(running.url, token, options.seconds, took)
        said, _ = greed.communicate(timeout=90)
    finally:
        greed.kill()
    return Counter(json.loads(said))


def look(url: str, token: str, seconds: float, took: dict[str, list[float]]) -> None:
    """Submit small jobs and read one's pages, one after another. took: by kind, in ms."""
    with httpx.Client(base_url=f"{url}/api/v1", headers={"Authorization": f"Token {token}"}, timeout=60) as http:
        until, number = time.monotonic() + seconds, 1
        while time.monotonic() < until:
            answer = timed(http, "submit", took, "POST", "/jobs", json=job("small", ["true"]))
            number = answer.json()["id"]
            for page in (*PAGES, f"jobs/{number}"):
                timed(http, page.partition("/")[0] if "/" not in page else "job", took, "GET", f"/{page}")


def timed(http: httpx.Client, kind: str, took: dict[str, list[float]], method: str, path: str, **more: Any) -> Any:
    began = time.monotonic()
    answer = http.request(method, path, **more)
    took[kind].append((time.monotonic() - began) * 1000)
    answer.raise_for_status()
    time.sleep(PAUSE_S)
    return answer


def figures(took: dict[bool, dict[str, list[float]]]) -> dict[str, Any]:
    alone, beside_greed = ([each for kind in took[greedy].values() for each in kind] for greedy in (False, True))
    found: dict[str, Any] = {}
    for share in (50, 99):
        before, after = percentile(alone, share / 100), percentile(beside_greed, share / 100)
        found |= {f"alone_p{share}_ms": round(before, 1), f"beside_p{share}_ms": round(after, 1)}
        found[f"others_p{share}_ratio"] = round(after / before, 2)
    by_kind = {kind: [round(percentile(took[g][kind], 0.99), 1) for g in (False, True)] for kind in took[True]}
    return found | {"requests": len(alone) + len(beside_greed), "p99_ms_alone_and_beside": by_kind}
