"""WebSockets as web speaks them: uvicorn's, of which messages to our own addresses are as short as they have to be.

What is not whole yet lies in memory; pages of jobs may send messages of the size that notebooks send.
"""

from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.http11 import Request

from controlplane.router.proxy import PREFIX

MESSAGE_MAX = 128 << 10  # bytes; a browser's wishes and an exec's frames are shorter


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """One connection. A longer message closes it with 1009."""

    def handle_connect(self, event: Request) -> None:
        if not event.path.startswith(PREFIX):
            self.conn.max_message_size = MESSAGE_MAX
        super().handle_connect(event)
