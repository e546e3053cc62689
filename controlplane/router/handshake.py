"""TLS as web speaks it: who connects and does not finish the handshake is bounded like who says nothing afterwards.

A server of the event loop's tells of a connection once its handshake is over, and waits for any number of them. So
where web speaks TLS it accepts connections itself.
"""

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from controlplane.router.connection import BoundedHttp, Waiting

PAUSE_S = 1.0  # after a connection that could not be accepted: there are no more files to open

log = logging.getLogger(__name__)


async def accept(listener: socket.socket, context: ssl.SSLContext, protocol: Callable[[], BoundedHttp]) -> None:
    """Have each connection that comes go on with a ``protocol`` of its own; until it is cancelled."""
    listener.setblocking(False)
    loop, shaking = asyncio.get_running_loop(), set[asyncio.Task[None]]()
    while True:
        try:
            there, peer = await loop.sock_accept(listener)
        except OSError as error:
            log.error("no connection can be accepted: %s", error)
            await asyncio.sleep(PAUSE_S)
            continue
        task = loop.create_task(_shake(there, str(peer[0]), context, protocol))
        shaking.add(task)
        task.add_done_callback(shaking.discard)


async def _shake(
    there: socket.socket, address: str, context: ssl.SSLContext, protocol: Callable[[], BoundedHttp]
) -> None:
    made = protocol()
    made.waiting = waiting = Waiting(address, partial(_cut, there))
    try:
        await asyncio.get_running_loop().connect_accepted_socket(lambda: made, there, ssl=context)
    except OSError:  # errors of TLS are such as well
        there.close()
    finally:
        waiting.end()


def _cut(there: socket.socket) -> None:
    with suppress(OSError):
        there.shutdown(socket.SHUT_RDWR)
