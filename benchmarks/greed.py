"""A tenant who does all at once: ``python -m benchmarks.greed``, with its account; ends when it is told to.

Each line of ``WISHES`` is something that costs, wished again as soon as it was answered, under ever new addresses.
"""

import argparse
import asyncio
import hashlib
import json
import os
import random
import secrets
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import httpx
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

API = "/api/v1"
PAGES = [
    "jobs?page_size=1000",
    "overview",
    "queues/tree",
    "queues",
    "queues/use",
    "fleet",
    "nodes",
    "usage/hours",
    "series/instant",
]
TOPICS = ["overview", "fleet", "queues", "queueuse", "jobs", *(f"jobs?name=a{n}" for n in range(26))]
FAT = {"name": "fat", "command": ["true"], "env": {f"V{n}": "x" * 1000 for n in range(100)}, "count": 1000,
       "resources": {"memory_mib": 1_000_000}}  # fmt: skip
FLOOD = {"name": "flood", "count": 2, "command": ["sh", "-c", "timeout 20 yes a line that somebody wants kept"],
         "resources": {"memory_mib": 32, "vcores_milli": 10}}  # fmt: skip
BODY = b'{"jobs":"' + b"x" * (30 << 20) + b'"}'
LITTLE_S = 0.002  # so that one process wishes for all of it


class Greed:
    """One account's wishes. answers: by wish and status, how many."""

    def __init__(self, url: str, user: str, password: str, token: str) -> None:
        self.url, self.user, self.password, self.token = url, user, password, token
        limits = httpx.Limits(max_connections=200)
        self.http = httpx.AsyncClient(base_url=url + API, timeout=60, limits=limits)
        self.answers: Counter[str] = Counter()
        self.artifact = os.urandom(8 << 20)
        self.cookie = ""

    async def sign_in(self) -> None:
        csrf = (await self.http.get("/auth/csrf")).json()["csrf_token"]
        said = {"username": self.user, "password": self.password}
        (await self.http.post("/auth/session", json=said, headers={"X-CSRFToken": csrf})).raise_for_status()
        self.cookie = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        self.http.cookies.clear()
        self.http.headers["Authorization"] = f"Token {self.token}"

    async def ask(self, what: str, method: str, path: str, **more: Any) -> httpx.Response:
        """From somewhere else each time, as it says."""
        headers = {"X-Forwarded-For": f"10.{random.randrange(256)}.{random.randrange(256)}.1"} | more.pop("headers", {})
        answer = await self.http.request(method, path, headers=headers, **more)
        self.answers[f"{what} {answer.status_code}"] += 1
        return answer

    async def pages(self) -> None:
        await self.ask("pages", "GET", random.choice(PAGES))

    async def templates(self) -> None:
        jobs = [{"name": f"fat-{n}", "groups": [FAT | {"name": f"g{k}"} for k in range(3)]} for n in range(20)]
        await self.ask("templates", "POST", "jobs/bulk", json={"jobs": jobs})

    async def bodies(self) -> None:
        for path in ("jobs/bulk", "jobs"):
            await self.ask("bodies", "POST", path, content=BODY, headers={"Content-Type": "application/json"})

    async def floods(self) -> None:
        await self.ask("floods", "POST", "jobs", json={"name": "flood", "groups": [FLOOD]})
        await asyncio.sleep(20)

    async def followers(self) -> None:
        jobs = (await self.ask("followers", "GET", "jobs?state=RUNNING")).json().get("results") or [{"id": 1}]
        found = (await self.ask("followers", "GET", f"jobs/{jobs[0]['id']}/containers")).json().get("results") or []
        for container in found[:1]:
            await self.ask("followers", "GET", f"containers/{container['id']}/logs?follow=1&offset={1 << 40}")

    async def artifacts(self) -> None:
        digest = hashlib.sha256(self.artifact).hexdigest()
        if (await self.ask("artifacts", "GET", f"artifacts/{digest}")).status_code == 404:
            await self.ask("artifacts", "PUT", f"artifacts/{digest}", content=self.artifact)

    async def tokens(self) -> None:
        await self.ask("tokens", "GET", "me", headers={"Authorization": f"Token {secrets.token_hex(32)}"})

    async def sockets(self) -> None:
        where = self.url.replace("http", "ws") + "/ws/v1"
        async with connect(where, origin=self.url, additional_headers={"Cookie": self.cookie}, max_size=None) as socket:  # type: ignore[arg-type]
            self.answers["sockets open"] += 1
            while True:
                await socket.send(json.dumps({"subscribe": TOPICS, "resync": TOPICS}))
                await socket.recv()

    async def forever(self, wish: Callable[[], Awaitable[None]]) -> None:
        while True:
            try:
                await wish()
            except (httpx.HTTPError, WebSocketException, OSError, ValueError) as problem:
                self.answers[f"{wish.__name__} {type(problem).__name__}"] += 1
                await asyncio.sleep(0.2)
            await asyncio.sleep(LITTLE_S)


WISHES = {
    "pages": 8,
    "templates": 2,
    "bodies": 2,
    "floods": 1,
    "followers": 40,
    "artifacts": 3,
    "tokens": 4,
    "sockets": 40,
}


async def run(options: argparse.Namespace) -> None:
    greed = Greed(options.url, options.user, os.environ["GREED_PASSWORD"], os.environ["GREED_TOKEN"])
    await greed.sign_in()
    wishes = [
        getattr(greed, name) for name, at_once in WISHES.items() for _ in range(at_once) if name in options.wishes
    ]
    try:
        async with asyncio.timeout(options.seconds):
            await asyncio.gather(*(greed.forever(wish) for wish in wishes))
    except TimeoutError:
        print(json.dumps(greed.answers))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="benchmarks.greed")
    parser.add_argument("--url", required=True)
    parser.add_argument("--user", required=True)
    parser.add_argument("--seconds", type=float, required=True)
    parser.add_argument("--wishes", nargs="+", choices=list(WISHES), default=list(WISHES))
    asyncio.run(run(parser.parse_args()))
