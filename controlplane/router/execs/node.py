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


class NodeEnd:
    """One exec from the coming of the node's relay until the person's end says that it is over."""

    def __init__(self, socket: FrameSocket, joined: Exec) -> None:
        self.socket, self.joined = socket, joined
        self.windows = execs.Windows()
        self.over = False  # the node has said all

    async def serve(self) -> None:
        number = self.joined.pk
        start = Start(format_container(self.joined.container_id), **self.joined.order)
        try:
            async with Line(keys.exec_to_node(number), keys.exec_to_person(number)) as line:
                await self.socket.say(execs.start(start))
                await first_of(self._inwards(line), self._outwards(line), _pulse(line))
        except (LineDown, Left):
            pass  # the person's end is gone: what runs ends with the relay's socket
        finally:
            await self.socket.close()

    async def _inwards(self, line: Line) -> None:
        """From the person, until their end has heard all."""
        while (data := await line.hear())[0] != Kind.END:
            self.windows.from_person(data)
            await pay(self.joined.user_id, data)
            if not self.over:
                try:
                    await self.socket.say(data)
                except Left:
                    continue  # the other direction says so

    async def _outwards(self, line: Line) -> None:
        while not self.over:
            data = await self._said()
            await pay(self.joined.user_id, data)
            await line.say(data)
        await asyncio.Future()  # the person's end may still have much to read

    async def _said(self) -> bytes:
        """What the node says next; its end, where it is gone or says what it may not."""
        try:
            data = await self.socket.frame()
            self.over = self.windows.from_node(data) is Kind.END
        except Left:
            data, self.over = execs.failed(LOST), True
        except execs.ExecError as error:
            data, self.over = execs.failed(f"the node has said what it may not: {error}"), True
        return data


async def _pulse(line: Line) -> None:
    while True:
        await line.say()
        await asyncio.sleep(PULSE_S)
