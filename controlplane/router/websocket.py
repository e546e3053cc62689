"""WebSockets as web speaks them: uvicorn's, and what one connection makes web keep or do is bounded.

Messages to our own addresses are as short as they have to be: what is not whole yet lies in memory. Pages of jobs may
send messages of the size that notebooks send. What came is looked at in small pieces, as fast as it is taken. Who reads
nothing is kept no answers for, and who sends much that says nothing is cut off: nobody would pay for it.
"""

from typing import Any

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.http11 import Request
from websockets.protocol import OPEN

from controlplane.router.proxy import PREFIX

MESSAGE_MAX = 128 << 10  # bytes; a browser's wishes and an exec's frames are shorter
PIECE = 8 << 10  # bytes that are looked at before whoever else has something to do has his turn
PART_MIN = 256  # bytes; a shorter part of a message says nothing by itself
IDLE_MOST, IDLE_EACH_S = 500, 20.0  # frames that say nothing: at once, and in each second after that
GONE_S = 15.0  # how long a connection that is over has to take what it was sent
POLICY_VIOLATION = 1008


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """One connection. A longer message closes it with 1009, too many frames that say nothing with 1008."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.came = bytearray()  # and was not looked at yet
        self.pong = b""  # the last, for when there is room
        self.idle, self.idle_at = 0.0, 0.0  # frames that said nothing, fewer with time

    def handle_connect(self, event: Request) -> None:
        if not event.path.startswith(PREFIX):
            self.conn.max_message_size = MESSAGE_MAX
        super().handle_connect(event)

    def data_received(self, data: bytes) -> None:
        self.came += data
        self._look()

    async def receive(self) -> Any:
        message = await super().receive()
        self._look()
        return message

    async def send(self, message: Any) -> None:
        await super().send(message)
        if self.close_sent:
            self._look()  # the other end's word that it has closed may be among it

    def _look(self) -> None:
        """Until the application has something to take, or there is nothing more."""
        while self.came and not self.read_paused and not self.transport.is_closing():
            piece = bytes(self.came[:PIECE])
            del self.came[:PIECE]
            super().data_received(piece)

    def handle_ping(self) -> None:
        """Who does not read is sent the last pong alone, once there is room, as RFC 6455 (5.5.3) allows."""
        if self.writable.is_set():
            super().handle_ping()
        elif answers := self.conn.data_to_send():
            self.pong = answers[-1]
        self._said_nothing()

    def handle_pong(self, event: Frame) -> None:
        super().handle_pong(event)
        self._said_nothing()

    def handle_cont(self, event: Frame) -> None:
        """Parts become one at once: many short ones would take more memory than they have bytes."""
        if not isinstance(self.frames[0], bytearray):
            self.frames = [bytearray(self.frames[0])]  # type: ignore[list-item]
        self.frames[0] += event.data
        if len(event.data) < PART_MIN:
            self._said_nothing()
        if event.fin:
            self.frames = [bytes(self.frames[0])]
            self.send_receive_event_to_app()

    def resume_writing(self) -> None:
        super().resume_writing()
        pong, self.pong = self.pong, b""
        if pong and not self.transport.is_closing():
            self.transport.write(pong)

    def keepalive_timeout(self) -> None:
        super().keepalive_timeout()
        self._go()

    def on_task_complete(self, task: Any) -> None:
        super().on_task_complete(task)
        self._go()

    def _go(self) -> None:
        """What was sent may never be taken, and a connection that closes would wait for that without end."""
        self.loop.call_later(GONE_S, self.transport.abort)

    def _said_nothing(self) -> None:
        now = self.loop.time()
        self.idle = max(0.0, self.idle - (now - self.idle_at) * IDLE_EACH_S) + 1
        self.idle_at = now
        if self.idle > IDLE_MOST and self.conn.state is OPEN:
            self.conn.fail(POLICY_VIOLATION, "too many frames that say nothing")
            self.handle_parser_exception()
