"""``manage.py web``: the Router's API, the dashboard's sockets and the front end, by uvicorn."""

import asyncio
import os
import resource
import socket
import sys
import threading
from argparse import ArgumentParser
from email.utils import formatdate
from typing import Any

import uvicorn
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import connections

from controlplane import clock, heap, liveness, shutdown
from controlplane.embedded import notify, slices
from controlplane.embedded.home import HomeError, http_host, http_port
from controlplane.policy.following import Follower
from controlplane.router import cluster, handshake
from controlplane.router.aside import Aside
from controlplane.router.connection import BoundedHttp
from controlplane.router.websocket import BoundedWebSocket

GRACE_S = 2
BACKLOG = 2048

# Threads that read the store give the processor up this soon: the loop that serves everybody waits no longer for it.
SWITCH_S = 0.0005


class Command(BaseCommand):
    help = "Serve HTTP and WebSockets on HYDRA_HTTP_HOST:HYDRA_HTTP_PORT (TLS with HYDRA_TLS_CERT and HYDRA_TLS_KEY)."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--access-log", action="store_true", help="log every request")

    def handle(self, *args: Any, **options: Any) -> None:
        open_files()
        beside = begin_beside()
        slices.ask_for_short()
        _forget_traces()
        listener = listen()
        config = configuration(options["access_log"])
        name = f"{socket.gethostname()}:{http_port()}"
        liveness.start("web", name)
        Follower("router", name, cluster.take_in).start()
        threading.Thread(target=_learn_the_time, name="time", daemon=True).start()
        sys.setswitchinterval(SWITCH_S)
        server = Server(config)
        try:
            server.run(sockets=[listener])
        finally:
            shutdown.requested.set()
            beside.end()


def configuration(access_log: bool) -> uvicorn.Config:
    """How uvicorn serves, by the settings."""
    return uvicorn.Config(
        "controlplane.asgi:application",
        loop="uvloop",
        http=BoundedHttp,
        ws=BoundedWebSocket,
        ws_per_message_deflate=os.environ.get("HYDRA_SOCKET_COMPRESSION") == "1",
        lifespan="off",
        log_config=None,  # controlplane.logs says how
        access_log=access_log,
        server_header=False,
        date_header=False,  # by this machine's clock; see Server
        proxy_headers=bool(settings.TRUSTED_PROXIES),
        forwarded_allow_ips=settings.TRUSTED_PROXIES,
        timeout_graceful_shutdown=GRACE_S,
        timeout_keep_alive=30,
        ssl_certfile=os.environ.get("HYDRA_TLS_CERT") or None,
        ssl_keyfile=os.environ.get("HYDRA_TLS_KEY") or None,
    )


def begin_beside() -> Aside:
    """What answers large requests: a copy of this process that has loaded all that answers, and nothing else yet."""
    from controlplane.asgi import http  # loads Django's views

    connections.close_all()
    heap.settle()
    return http.begin_beside()


def _learn_the_time() -> None:
    """Before the first request does, so that it is dated well, too."""
    clock.known()
    connections.close_all()


def _forget_traces() -> None:
    """What an earlier web process that was killed has left behind."""
    from controlplane.router import handedin  # loads Django's views

    handedin.remove_left()


class Server(uvicorn.Server):
    """Says when it serves, and dates its answers by the database's clock: clients that count back count from then."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await self.listen_on(sockets or [])
        heap.settle()
        notify.ready()

    async def on_tick(self, counter: int) -> bool:
        over = await super().on_tick(counter)
        date = formatdate(clock.carried(), usegmt=True)
        self.server_state.default_headers = [(b"date", date.encode()), *self.config.encoded_headers]
        return over

    async def listen_on(self, sockets: list[socket.socket]) -> None:
        """By TLS, where the settings name a certificate."""
        context = self.config.ssl
        await super().startup(sockets=[] if context else sockets)
        loop = asyncio.get_running_loop()
        self.accepting = [loop.create_task(handshake.accept(s, context, self._protocol)) for s in sockets if context]

    def _protocol(self) -> BoundedHttp:
        return BoundedHttp(config=self.config, server_state=self.server_state, app_state=self.lifespan.state)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self.accepting:
            task.cancel()
        await super().shutdown(sockets=sockets)


def open_files() -> None:
    """Open as many files as the host allows: each browser's tab is one, and a job's page two."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def listen() -> socket.socket:
    """The listening socket; a taken port or a bad address is said plainly."""
    try:
        host, port = http_host(), http_port()
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host, port), family=family, backlog=BACKLOG)
    except HomeError as problem:
        raise CommandError(str(problem)) from None
    except OSError as error:
        raise CommandError(f"cannot listen on {host} port {port} ({error.strerror}): set HYDRA_HTTP_PORT") from None
