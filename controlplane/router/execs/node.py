"""The node's end of an exec: the socket of its relay on one side, the line to the person's on the other."""

import asyncio

from controlplane.router.execs.line import PULSE_S, Line, LineDown
from controlplane.router.execs.paying import pay
from controlplane.router.execs.socket import FrameSocket, Left, first_of
from controlplane.router.nodeauth import node_behind
from controlplane.statestore.actions import execs as actions
from controlplane.statestore.models import Exec
from wire import execs, keys
from wire.execs import Kind, Start
from wire.ids import format_container

LOST = "the node has cut the connection"


def join(header: bytes, number: int) -> Exec | None:
    """The exec that waits for the node with this credential; None when none does. ``AuthenticationFailed``."""
    node = node_behind(header)
    return actions.join(node.node_id, number) if node else None


async def serve(socket: FrameSocket, joined: Exec) -> None:
    """Until the command has ended, or the person's end has."""
    try:
        async with Line(keys.exec_to_node(joined.pk), keys.exec_to_person(joined.pk)) as line:
            await socket.say(execs.start(Start(format_container(joined.container_id), **joined.order)))
            windows = execs.Windows()
            try:
                await first_of(_inwards(line, socket, windows, joined), _outwards(line, socket, windows, joined), _pulse(line))
            except Left:
                await line.say(execs.failed(LOST))
            except execs.ExecError as error:
                await line.say(execs.failed(f"the node has said what it may not: {error}"))
    except (LineDown, Left):
        pass  # the person's end is gone: what runs ends with the relay's socket
    finally:
        await socket.close()


async def _inwards(line: Line, socket: FrameSocket, windows: execs.Windows, joined: Exec) -> None:
    """From the person; the end of their end is no frame of theirs."""
    while True:
        data = await line.hear()
        if data[0] == Kind.END:
            return
        windows.from_person(data)
        await pay(joined.user_id, data)
        await socket.say(data)


async def _outwards(line: Line, socket: FrameSocket, windows: execs.Windows, joined: Exec) -> None:
    while True:
        data = await socket.frame()
        kind = windows.from_node(data)
        await pay(joined.user_id, data)
        await line.say(data)
        if kind is Kind.END:
            return


async def _pulse(line: Line) -> None:
    while True:
        await line.say()
        await asyncio.sleep(PULSE_S)
