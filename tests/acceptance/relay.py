"""A network between nodes and the control plane that can be cut, node by node.

Nodes reach Redis and web through one relay each. The first bytes of every
connection say which node it is: its name as a Redis user, or its
``Authorization`` header. A node that is cut off keeps its connections and
nothing travels on them, as when a cable is pulled; once it is joined again,
what was under way arrives late.
"""

import contextlib
import re
import select
import socket
import threading

from tests.patience import let_pass

WHO = re.compile(rb"node-(\d+)|Authorization: Node (\d+):", re.IGNORECASE)
LOOK_S = 0.02
PIECE = 1 << 16


class Relay:
    """Listens on a port of its own, or as ``listener``, and carries each connection to ``target_port`` of 127.0.0.1."""

    def __init__(self, target_port: int, listener: socket.socket | None = None) -> None:
        self.target_port = target_port
        self.cut: set[int] = set()  # numbers of the nodes that are cut off
        self._open = True
        self._server = listener or socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._open = False
        with contextlib.suppress(OSError):
            self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()

    def _accept(self) -> None:
        while self._open:
            try:
                near, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._carry, args=(near,), daemon=True).start()

    def _carry(self, near: socket.socket) -> None:
        with near, contextlib.suppress(OSError):
            first = near.recv(PIECE)
            found = WHO.search(first)
            node = int(found[1] or found[2]) if found else 0
            self._while_cut(node)
            with socket.create_connection(("127.0.0.1", self.target_port)) as far:
                far.sendall(first)
                self._pump(near, far, node)

    def _pump(self, near: socket.socket, far: socket.socket, node: int) -> None:
        onward = {near: far, far: near}
        while onward and self._open:
            self._while_cut(node)
            for source in select.select(list(onward), [], [], LOOK_S * 10)[0]:
                self._while_cut(node)
                data = source.recv(PIECE)
                if not data:
                    return
                onward[source].sendall(data)

    def _while_cut(self, node: int) -> None:
        while node in self.cut and self._open:
            let_pass(LOOK_S)
