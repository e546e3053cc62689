"""What a tenant who does all at once costs the others: their latencies beside it, by those without it.

Windows of three kinds take turns, so that what else the machine does falls on all alike: without the greedy one, beside
it, and beside a process as nice that burns as much of the processor as its client did and asks for nothing: what the
client costs as a program on the same machine is no doing of Hydra's.
"""

import argparse
import json
import os
import secrets
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.greed import WISHES
from benchmarks.stack import REPO, BenchStack, cpu_s, job, percentile, stack
from client import Client, HydraError

GREEDY = "greedy"
PAUSE_S = 0.05  # with which the other tenant stays within its share of `web`
WARM_S = 3.0  # of each window before it counts
REST_S = 4.0
PARTS = ("web", "postgres", "worker-a", "worker-b")
BURN = """
import sys, time
share, began = float(sys.argv[1]), time.monotonic()
while True:
    if time.process_time() < share * (time.monotonic() - began):
        sum(range(10_000))
    else:
        time.sleep(0.002)
"""
PAGES = ("jobs", "overview", "queues", "me")


def main(argv: list[str]) -> dict[str, Any]:
    parser = argparse.ArgumentParser(prog="bench greedy-tenant")
    parser.add_argument("--windows", type=int, default=4, help="of each kind")
    parser.add_argument("--seconds", type=float, default=20.0, help="of one window")
    parser.add_argument("--wishes", nargs="+", choices=list(WISHES), default=list(WISHES))
    options = parser.parse_args(argv)
    took: dict[str, dict[str, list[float]]] = {kind: defaultdict(list) for kind in ("alone", "burning", "beside")}
    answers: Counter[str] = Counter()
    used: defaultdict[str, float] = defaultdict(float)
    with stack() as running, running.client("operator") as operator, running.client() as client:
        greedy = Greedy(running, operator, client, options)
        token = client.login("tenant", running.home.secrets()["tenant_password"]).token
        look(running.url, token, WARM_S, defaultdict(list))
        for _ in range(options.windows):
            with costs(running, "alone", used):
                look(running.url, token, options.seconds, took["alone"])
            share = greedy.window(token, took["beside"], answers, used)
            for wanted in operator.jobs(owner=GREEDY, state="live"):
                with suppress(HydraError):  # it has ended meanwhile
                    operator.kill(wanted.id)
            time.sleep(REST_S)
            burning(running, token, share, options.seconds, took["burning"])
    per_s = {part: round(s / options.windows / options.seconds, 2) for part, s in sorted(used.items())}
    return figures(took) | {"processors": per_s, "greedy_answers": dict(sorted(answers.items()))}


class Greedy:
    """The greedy tenant: signed in once, as its tokens that nobody has would keep out its own new one later."""

    def __init__(self, running: BenchStack, operator: Client, client: Client, options: argparse.Namespace) -> None:
        password = secrets.token_hex(16)
        operator.create_account(GREEDY, password)
        token = client.login(GREEDY, password).token
        with Client(running.url, token) as own:
            own.me()
        self.running, self.options = running, options
        self.environ = os.environ | {"GREED_PASSWORD": password, "GREED_TOKEN": token}

    def window(self, token: str, took: dict[str, list[float]], answers: Counter[str], used: dict[str, float]) -> float:
        """One window beside it. answers: gets what it was answered. The processors that its client has used."""
        seconds, url = self.options.seconds, self.running.url
        command = [sys.executable, "-m", "benchmarks.greed", "--url", url, "--user", GREEDY]
        command += ["--seconds", str(seconds + WARM_S + 1), "--wishes", *self.options.wishes]
        greed = nice(command, env=self.environ, stdout=subprocess.PIPE, text=True)
        try:
            look(url, token, WARM_S, defaultdict(list))
            process = [psutil.Process(greed.pid)]
            before = cpu_s(process)
            with costs(self.running, "beside", used):
                look(url, token, seconds, took)
            share: float = (cpu_s(process) - before) / seconds
            said, _ = greed.communicate(timeout=90)
        finally:
            greed.kill()
        answers.update(json.loads(said))
        used["beside: greedy client"] += share * seconds
        return share


def nice(command: list[str], **more: Any) -> subprocess.Popen[Any]:
    """A program that gives way to all others, as if it ran on another machine."""
    process = subprocess.Popen(["nice", "-n", "19", *command], cwd=REPO, start_new_session=True, **more)
    with suppress(OSError):  # where Linux groups sessions, niceness is among those of one, and this is the session's
        Path(f"/proc/{process.pid}/autogroup").write_text("19")
    return process


def burning(running: BenchStack, token: str, share: float, seconds: float, took: dict[str, list[float]]) -> None:
    """One window beside a process that burns this share of a processor."""
    burn = nice([sys.executable, "-c", BURN, str(share)])
    try:
        look(running.url, token, seconds, took)
    finally:
        burn.kill()
        burn.wait()


@contextmanager
def costs(running: BenchStack, kind: str, used: dict[str, float]) -> Iterator[None]:
    """Adds the seconds of the processor that each part of the stack uses meanwhile."""
    before = {name: cpu_s(group) for name, group in running.processes().items()}
    yield
    for name, group in running.processes().items():
        if name in PARTS:
            used[f"{kind}: {name}"] += cpu_s(group) - before.get(name, 0.0)


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


def figures(took: dict[str, dict[str, list[float]]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    every = {kind: [each for some in took[kind].values() for each in some] for kind in took}
    for share in (50, 99):
        for kind, each in every.items():
            found[f"{kind}_p{share}_ms"] = round(percentile(each, share / 100), 1)
        beside = percentile(every["beside"], share / 100)
        found[f"others_p{share}_ratio"] = round(beside / percentile(every["alone"], share / 100), 2)
        found[f"others_p{share}_ratio_to_burning"] = round(beside / percentile(every["burning"], share / 100), 2)
    by_kind = {page: [round(percentile(took[kind][page], 0.99), 1) for kind in took] for page in took["beside"]}
    return found | {"requests": sum(map(len, every.values())), "p99_ms_alone_burning_beside": by_kind}
