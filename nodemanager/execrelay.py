"""A process for each command that somebody runs in a container: between a WebSocket to web and the command's ends.

It connects out to web, makes the pipes or the terminal, and has the supervisor start the command with them, so that
neither the agent nor the supervisor sees what is said. For who wants ports of the container instead, it makes the
connections itself, and asks the supervisor which processes may be at their other end. It is told by one line on stdin
where web is and who this node is; when that pipe ends the agent has gone, and so does the relay, and with its
connection the command.
"""

import fcntl
import json
import os
import queue
import socket
import ssl
import struct
import sys
import termios
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

from websockets.exceptions import ConnectionClosed, WebSocketException
from websockets.sync.client import ClientConnection, connect

from nodemanager import launch
from nodemanager.listening import Reachable
from wire import execs
from wire.execs import End, Kind, Start, Window
from wire.ids import parse_container
from wire.streams import Refused, Streams

CONNECT_S = 10.0
DRAIN_S = 2.0  # output that comes this long after the command's end, from what it has left running, is given up
END_OF_INPUT = b"\x04"  # as a terminal is told
AGENT_GONE = "the node's agent has stopped"


@dataclass(frozen=True, slots=True)
class Where:
    """What the agent says. ``url``: of the socket at web. ``entrance``: the supervisor's socket."""

    url: str
    authorization: str
    ca_file: str
    entrance: str


@dataclass(frozen=True, slots=True)
class Ends:
    """Descriptors. ``given``: the command's stdin, stdout and stderr; ``stdin``, ``outputs``: what is left here."""

    given: tuple[int, int, int]
    stdin: int
    outputs: dict[int, Kind]

    @property
    def terminal(self) -> bool:
        """Whether input and output are the two directions of one terminal."""
        return self.stdin in self.outputs


def make_ends(start: Start) -> Ends:
    """Pipes, or a terminal of the size that is asked for."""
    if start.tty:
        ours, theirs = os.openpty()
        set_size(ours, start.rows, start.columns)
        return Ends((theirs, theirs, theirs), ours, {ours: Kind.STDOUT})
    (stdin_r, stdin_w), (stdout_r, stdout_w), (stderr_r, stderr_w) = (os.pipe() for _ in range(3))
    return Ends((stdin_r, stdout_w, stderr_w), stdin_w, {stdout_r: Kind.STDOUT, stderr_r: Kind.STDERR})


def set_size(terminal: int, rows: int, columns: int) -> None:
    """Tell a terminal's programs how large it is; they get SIGWINCH."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


# Users of tasks have no name, as shells would show. bash's own start-up files set another prompt after PS1 was read.
_TASK = "$HYDRA_JOB_ID/$HYDRA_GROUP/$HYDRA_TASK_INDEX"
_PROMPT = {"PS1": f"{_TASK}$ ", "PROMPT_COMMAND": f"PS1='{_TASK}:\\w\\$ '; unset PROMPT_COMMAND"}


class Sender:
    """Frames to web; what may be on its way at once is bounded. Safe for several threads."""

    def __init__(self, connection: ClientConnection) -> None:
        self._connection, self._window = connection, Window()
        self._condition = threading.Condition()
        self._over = False

    def say(self, frame: bytes) -> bool:
        """Send it once the far end has room; False, and nothing more, once the end has been said."""
        with self._condition:
            self._condition.wait_for(lambda: self._over or execs.cost_of(frame) <= self._window.room)
            if self._over:
                return False
            self._window.send(execs.cost_of(frame))
            try:
                self._connection.send(frame)
            except (ConnectionClosed, OSError):
                self._over = True
            return not self._over

    def credit(self, cost: int) -> None:
        """The far end has taken so much; whoever waits for room goes on."""
        with self._condition:
            self._window.credit(cost)
            self._condition.notify_all()

    def end(self, frame: bytes) -> None:
        """The last word, which whatever waits for room does not keep waiting."""
        with self._condition:
            if not self._over:
                self._over = True
                self._condition.notify_all()
                try:
                    self._connection.send(frame)
                except (ConnectionClosed, OSError):
                    pass


class Relay:
    """One command: a thread for each of its outputs, its input and the supervisor's word; what web says is main's."""

    def __init__(self, connection: ClientConnection, entrance: str) -> None:
        self.connection, self.entrance = connection, entrance
        self.sender = Sender(connection)
        self.reads_since: dict[int, float] = {}  # of each output: since when it has been waited for; s, monotonic
        self.input: queue.SimpleQueue[bytes] = queue.SimpleQueue()  # bounded by the window

    def run(self) -> None:
        """Until web closes the connection, or the command has ended and web has been told."""
        kind, payload = execs.parse(self._received())
        if kind is not Kind.START:
            raise execs.ExecError(f"web began with a frame of kind {kind.name}")
        start = execs.start_of(payload)
        try:
            if start.ports:
                self._forward(start)
            else:
                self._command(start)
        except OSError as error:
            self.sender.end(execs.failed(f"the node's supervisor cannot be asked ({error.strerror}); try again"))

    def _command(self, start: Start) -> None:
        ends = make_ends(start)
        try:
            supervisor = self._ordered(start, ends)
        finally:
            for end in set(ends.given):
                os.close(end)
        readers = {
            end: threading.Thread(target=self._read, args=(end, kind), daemon=True)
            for end, kind in ends.outputs.items()
        }
        for thread in readers.values():
            thread.start()
        threading.Thread(target=self._write, args=(ends,), daemon=True).start()
        threading.Thread(target=self._supervised, args=(supervisor, readers), daemon=True).start()
        self._listen(ends)

    def _forward(self, start: Start) -> None:
        """Streams to ports of the container, as long as web is there. Raises OSError before the first of them."""
        container = parse_container(start.container)
        members = partial(members_of, container, self.entrance)
        try:
            members()
        except Refused as error:
            self.sender.end(execs.failed(str(error)))
            return
        reachable = Reachable(start.ports, members)
        streams = Streams(lambda data: self.sender.say(execs.frame(Kind.STDOUT, data)), reachable.connect)
        self.sender.say(execs.frame(Kind.BEGUN))
        while True:
            data = self._received()
            kind, payload = execs.parse(data)
            if kind is Kind.CREDIT:
                self.sender.credit(execs.credit_of(payload))
            elif kind is Kind.STDIN:
                streams.hear(payload)
                self.sender.say(execs.credit(execs.cost_of(data)))

    def _received(self) -> bytes:
        data = self.connection.recv()
        return data if isinstance(data, bytes) else data.encode()

    def _ordered(self, start: Start, ends: Ends) -> socket.socket:
        """The connection to the supervisor, which has been told what to start. Raises OSError."""
        supervisor = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        supervisor.connect(self.entrance)
        order = {"container": parse_container(start.container), "command": start.command}
        order |= {"env": {"TERM": start.term}, "unless_set": _PROMPT} if start.tty else {"env": {}}
        socket.send_fds(supervisor, [json.dumps(order).encode()], list(ends.given))
        return supervisor

    def _listen(self, ends: Ends) -> None:
        """What comes from web. Raises ``ConnectionClosed`` when it is over, ``ExecError`` of what is no frame."""
        while True:
            data = self._received()
            kind, payload = execs.parse(data)
            if kind is Kind.CREDIT:
                self.sender.credit(execs.credit_of(payload))
            elif kind is Kind.RESIZE:
                if ends.terminal:
                    set_size(ends.stdin, *execs.size_of(payload))
                self.sender.say(execs.credit(execs.cost_of(data)))
            elif kind is Kind.STDIN:
                self.input.put(data)

    def _write(self, ends: Ends) -> None:
        """The command's input. What it does not take waits here, and the person's end stops sending."""
        open_ = True
        while True:
            data = self.input.get()
            try:
                if open_ and (len(data) > 1 or ends.terminal):
                    _write_all(ends.stdin, memoryview(data)[1:] or memoryview(END_OF_INPUT))
                elif open_:
                    os.close(ends.stdin)
                    open_ = False
            except OSError:  # it has closed its input, or ended; the rest is for nobody
                open_ = False
            self.sender.say(execs.credit(execs.cost_of(data)))

    def _read(self, end: int, kind: Kind) -> None:
        while True:
            self.reads_since[end] = time.monotonic()
            try:
                data = os.read(end, execs.DATA_MAX)
            except OSError:  # a terminal that nobody has open any more
                return
            if not data:
                return
            self.reads_since[end] = float("inf")
            self.sender.say(execs.frame(kind, data))

    def _supervised(self, supervisor: socket.socket, readers: dict[int, threading.Thread]) -> None:
        """What the supervisor says of the command, and, when its output has been read, how it ended."""
        how = End(error="the node's supervisor has stopped")
        while packet := _packet(supervisor):
            said: dict[str, Any] = json.loads(packet)
            if not said.pop("begun", None):
                how = End(**said)
                break
            self.sender.say(execs.frame(Kind.BEGUN))
        ended = time.monotonic()
        for end, thread in readers.items():
            while thread.is_alive() and time.monotonic() - max(ended, self.reads_since.get(end, ended)) < DRAIN_S:
                thread.join(0.02)
        self.sender.end(execs.end(how))
        self.connection.close()

    def stop(self, why: str) -> None:
        """End it now, and say why."""
        self.sender.end(execs.failed(why))
        self.connection.close()


def members_of(container: int, entrance: str) -> set[int]:
    """The processes of a container, as the supervisor knows them. Raises OSError, and ``Refused`` when it has ended."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as supervisor:
        supervisor.connect(entrance)
        supervisor.send(json.dumps({"container": container, "members": True}).encode())
        said = json.loads(supervisor.recv(execs.FRAME_MAX) or b"{}")
    if "pids" not in said:
        raise Refused(said.get("error", "the node's supervisor has stopped"))
    return set(said["pids"])


def _write_all(end: int, data: memoryview) -> None:
    while data:
        data = data[os.write(end, data) :]


def _packet(supervisor: socket.socket) -> bytes:
    """The supervisor's next word; empty when it is gone."""
    try:
        return supervisor.recv(execs.FRAME_MAX)
    except OSError:
        return b""


def _stop_with_agent(relay: Relay) -> None:
    """The agent holds the other end of stdin for as long as it lives."""
    while os.read(sys.stdin.fileno(), 1):  # unbuffered: a thread that holds the buffer's lock would abort our end
        pass
    relay.stop(AGENT_GONE)
    os._exit(0)


def main() -> None:
    """One line of JSON on stdin (``Where``); a line on stderr, where the agent's log is, of what fails."""
    launch.prctl(launch.PR_SET_DUMPABLE, 0)  # tasks that share its user do not read the credential out of its memory
    where = Where(**json.loads(sys.stdin.buffer.readline()))
    tls = ssl.create_default_context(cafile=where.ca_file or None) if where.url.startswith("wss:") else None
    headers = {"Authorization": where.authorization}
    try:
        with connect(
            where.url, additional_headers=headers, ssl=tls, proxy=None, compression=None, user_agent_header=None,
            open_timeout=CONNECT_S, max_size=execs.FRAME_MAX,
        ) as connection:  # fmt: skip
            relay = Relay(connection, where.entrance)
            threading.Thread(target=_stop_with_agent, args=(relay,), daemon=True).start()
            relay.run()
    except ConnectionClosed:
        pass  # it is over
    except (OSError, WebSocketException, execs.ExecError) as error:
        print(f"node manager: a command in a container: {type(error).__name__}: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
