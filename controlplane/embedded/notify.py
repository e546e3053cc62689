"""Telling whoever started this process that it is ready: systemd's notification protocol, so that works too."""

import os
import socket
import struct
from pathlib import Path

CREDENTIALS = struct.Struct("3i")  # pid, uid, gid of the sender, as the kernel says


def ready() -> None:
    """Say that this process serves. Does nothing when nobody listens."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address:
        return
    if address.startswith("@"):
        address = "\0" + address[1:]
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as out:
        try:
            out.connect(address)
            out.send(b"READY=1")
        except OSError:
            pass  # a supervisor that has gone needs no answer


def listen(path: str) -> socket.socket:
    Path(path).unlink(missing_ok=True)
    inbox = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    inbox.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    inbox.bind(path)
    inbox.setblocking(False)
    return inbox


def senders(inbox: socket.socket) -> list[int]:
    """Process ids that have said they are ready since the last call."""
    found: list[int] = []
    while True:
        try:
            data, extra, _, _ = inbox.recvmsg(256, socket.CMSG_SPACE(CREDENTIALS.size))
        except BlockingIOError:
            return found
        if b"READY=1" in data:
            found += [CREDENTIALS.unpack(c)[0] for _, kind, c in extra if kind == socket.SCM_CREDENTIALS]
