"""Containers that serve, on the agent's side: finds their ports, asks how they are, tells where they are."""

import ipaddress
import selectors
import socket
from collections.abc import Callable
from concurrent.futures import Executor

from nodemanager import events as ev
from nodemanager.announcer import Announcer
from nodemanager.config import Config, advertised_host
from nodemanager.core import Core
from nodemanager.http import Http
from nodemanager.listening import Listening
from nodemanager.ports import NoPort, Ports
from nodemanager.prober import Prober
from wire.ids import format_container
from wire.nodeapi import Serving

LOOPBACK = "127.0.0.1"
STRANGER = "a process of another user listens on its port"


class Endpoints:
    """Does what the core's instructions about ports and health say. ``dispatch`` takes events for the core.

    user_of: number of the user whose processes a container's are; None where they are the agent's own user's.
    """

    def __init__(
        self,
        config: Config,
        user_of: Callable[[int], int | None],
        core: Core,
        selector: selectors.BaseSelector,
        http: Http,
        dispatch: Callable[[ev.Event], None],
        clock: Callable[[], float],
    ) -> None:
        self.user_of = user_of
        self.core, self.dispatch, self.clock = core, dispatch, clock
        self.listening = Listening()
        self.ports = Ports(*config.ports)
        self.prober = Prober(selector, self._on_probe_result)
        self.announcer = Announcer(http)
        self.host = advertised_host(config)
        self.address = LOOPBACK

    def start(self, pool: Executor) -> None:
        """Find out, apart from the loop, at which address this machine itself reaches what others are told."""
        pool.submit(self._resolve)

    def _resolve(self) -> None:
        self.address = own_address(self.host)

    def find_ports(self, instruction: ev.FindPorts) -> None:
        """Claim ports for a container; the core hears them, or why there are none."""
        try:
            found, error = self.ports.find(instruction.count, instruction.taken), ""
        except NoPort as none:
            found, error = [], str(none)
        self.dispatch(ev.PortsFound(instruction.container_id, found, error))

    def announce(self, instruction: ev.Announce) -> None:
        """Tell the control plane the container's ports and health, and keep other node managers off the ports."""
        container = self.core.containers[instruction.container_id]
        for port in container.ports.values():
            self.ports.claim(port)  # after a restart of the agent
        serving = Serving(dict(container.ports), container.check.healthy if container.check else None)
        self.announcer.announce(format_container(container.container_id), serving)

    def withdraw(self, instruction: ev.Withdraw) -> None:
        """Its ports may be given to others, and it is not asked any more."""
        self.prober.drop(instruction.container_id)
        self.announcer.withdraw(format_container(instruction.container_id))
        for port in instruction.ports:
            self.ports.release(port)

    def probe(self, i: ev.Probe) -> None:
        """Ask a container how it is; the core hears the answer, a silent one by its time limit.

        A port is free until the task binds it: whoever listens there in its place answers for it no more than silence.
        Who listens on the port of another address is not in its place.
        """
        user = self.user_of(i.container_id)
        if user is not None and self.listening.users(i.port, self.address) - {user}:
            self._on_probe_result(i.container_id, STRANGER)
            return
        self.prober.probe(i.container_id, self.address, i.port, i.path, i.timeout_s)

    def _on_probe_result(self, container_id: int, wrong: str) -> None:
        self.dispatch(ev.Probed(container_id, wrong, self.clock()))

    def close(self) -> None:
        """The containers serve on; the claims of their ports go with this process."""
        self.prober.close()
        self.announcer.close()


def own_address(host: str) -> str:
    """An address of ``host`` if this machine has it, else the loopback one: behind a forwarder it does not."""
    try:
        found = [str(info[4][0]) for info in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)]
    except OSError:
        return LOOPBACK
    for address in found:
        family = socket.AF_INET6 if ipaddress.ip_address(address.partition("%")[0]).version == 6 else socket.AF_INET
        try:
            with socket.socket(family, socket.SOCK_STREAM) as probe:
                probe.bind((address, 0))
        except OSError:
            continue
        return address
    return LOOPBACK
