"""What travels between a person and a command that runs for them in a container: frames over WebSockets and Redis.

A frame is a byte that says its kind, and a payload. Kinds 0 to 4 are numbered as Kubernetes numbers the channels of its
remote commands. Nothing on the way keeps more than ``WINDOW`` of a direction: whoever sends waits until the far end
has taken some and says so by ``CREDIT``, as channels of SSH do (RFC 4254, 5.2).
"""

import json
import re
import struct
from dataclasses import asdict, dataclass, field
from enum import IntEnum
from typing import Any

DATA_MAX = 64 << 10  # bytes of data in one frame
FRAME_MAX = DATA_MAX + 1
WINDOW = 256 << 10  # bytes of a direction on their way at once, by what frames cost
OVERHEAD = 64  # what a frame costs beside its own bytes, so that many small ones are bounded too
COMMAND_MAX = 8 << 10  # bytes of a command's words together: a frame holds them however they are written
SIZE_MAX = 10_000  # rows and columns of a terminal
GRACE_S = 5.0  # of a command that nobody is connected to any more, between the polite signal and the kill
SOCKET = "/ws/v1/execs"  # a person's, below it the exec's number
_SIZE, _CREDIT = struct.Struct(">HH"), struct.Struct(">I")
_UNKEPT = re.compile("[\0\ud800-\udfff]")  # NUL, and half a character


class ExecError(ValueError):
    """What came is no frame, or more than its window allows."""


class Kind(IntEnum):
    """``STDIN`` without data ends it. ``START`` comes once from web to the node, ``BEGUN`` and ``END`` once from it."""

    STDIN = 0
    STDOUT = 1
    STDERR = 2
    END = 3
    RESIZE = 4
    CREDIT = 5
    START = 6
    BEGUN = 7


PERSONS = frozenset({Kind.STDIN, Kind.RESIZE, Kind.CREDIT})  # what a person may send
NODES = frozenset({Kind.STDOUT, Kind.STDERR, Kind.END, Kind.CREDIT, Kind.BEGUN})  # and what a node


@dataclass(frozen=True, slots=True)
class Start:
    """What a node is to run where. ``tty``: on a terminal of ``rows`` and ``columns``, of the type ``term``.

    ``ports``: instead of running a command, bring streams (``wire.streams``) to these ports of the container.
    """

    container: str
    command: list[str]
    tty: bool = False
    rows: int = 24
    columns: int = 80
    term: str = "xterm"
    ports: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class End:
    """How it ended: the command by itself (``code``), by a signal, or all of it for a reason in words.

    With both ``code`` and ``error`` it could not be started: 127 where there is no such program, else 126.
    """

    code: int | None = None
    signal: int | None = None
    error: str = ""

    @property
    def status(self) -> int:
        """As a shell says it."""
        return self.code if self.code is not None else 128 + self.signal if self.signal else 255


def frame(kind: Kind, payload: bytes = b"") -> bytes:
    return bytes([kind]) + payload


def parse(data: bytes) -> tuple[Kind, bytes]:
    """The kind and the payload; ``ExecError`` unless both are sound."""
    if not 1 <= len(data) <= FRAME_MAX:
        raise ExecError(f"a frame of {len(data)} bytes; 1 to {FRAME_MAX} are allowed")
    try:
        kind = Kind(data[0])
    except ValueError:
        raise ExecError(f"a frame of the unknown kind {data[0]}") from None
    return kind, data[1:]


def resize(rows: int, columns: int) -> bytes:
    return frame(Kind.RESIZE, _SIZE.pack(min(max(rows, 1), SIZE_MAX), min(max(columns, 1), SIZE_MAX)))


def size_of(payload: bytes) -> tuple[int, int]:
    """Rows and columns."""
    if len(payload) != _SIZE.size:
        raise ExecError("a terminal's size is two numbers of two bytes")
    rows, columns = _SIZE.unpack(payload)
    if not (0 < rows <= SIZE_MAX and 0 < columns <= SIZE_MAX):
        raise ExecError(f"a terminal has 1 to {SIZE_MAX} rows and columns")
    return rows, columns


def credit(cost: int) -> bytes:
    return frame(Kind.CREDIT, _CREDIT.pack(cost))


def credit_of(payload: bytes) -> int:
    """By how much the window opens again."""
    if len(payload) != _CREDIT.size:
        raise ExecError("credit is a number of four bytes")
    cost: int = _CREDIT.unpack(payload)[0]
    if not cost:
        raise ExecError("credit of nothing")
    return cost


def cost_of(data: bytes) -> int:
    """What a frame takes of its direction's window; credit takes nothing, there is none without what it is for."""
    return 0 if data[0] == Kind.CREDIT else len(data) + OVERHEAD


def start(what: Start) -> bytes:
    fields = {name: value for name, value in asdict(what).items() if name != "ports" or value}  # older nodes know none
    return frame(Kind.START, json.dumps(fields, ensure_ascii=False).encode())


def start_of(payload: bytes) -> Start:
    said = _fields(payload, Start)
    if not said.keys() >= {"container", "command"}:
        raise ExecError("a start says which command in which container")
    return Start(**said)


def end(how: End) -> bytes:
    return frame(Kind.END, json.dumps({k: v for k, v in asdict(how).items() if v not in (None, "")}).encode())


def end_of(payload: bytes) -> End:
    """As it was sent; numbers and texts of any other form are refused, and such as no database keeps."""
    said = _fields(payload, End)
    numbers = [said.get(name) for name in ("code", "signal")]
    error = said.get("error", "")
    sound = all(n is None or (type(n) is int and 0 <= n < 256) for n in numbers)
    if not (sound and isinstance(error, str) and len(error) <= 1000 and not _UNKEPT.search(error)):
        raise ExecError("an end is a code or a signal below 256, or a short text")
    return End(**said)


def failed(why: str) -> bytes:
    """The end for a reason in words."""
    return end(End(error=why[:1000]))


def _fields(payload: bytes, shape: type) -> dict[str, Any]:
    try:
        said = json.loads(payload)
    except (ValueError, RecursionError):
        raise ExecError(f"{shape.__name__.lower()} is not JSON") from None
    if not isinstance(said, dict) or not said.keys() <= shape.__dataclass_fields__.keys():  # type: ignore[attr-defined]
        raise ExecError(f"{shape.__name__.lower()} has not its own fields")
    return said


class Window:
    """How much of one direction may still be sent before the far end has taken some."""

    def __init__(self, size: int = WINDOW) -> None:
        self.size = self.room = size

    def send(self, cost: int) -> None:
        """So much is on its way; ``ExecError`` when that is more than may be."""
        if cost > self.room:
            raise ExecError("more was sent than the other end has room for")
        self.room -= cost

    def credit(self, cost: int) -> None:
        """The far end has taken so much; ``ExecError`` when that is more than was sent."""
        if cost > self.size - self.room:
            raise ExecError("more was taken than was sent")
        self.room += cost


class Windows:
    """Both directions of an exec, as whoever passes frames on holds the two ends to them."""

    def __init__(self) -> None:
        self.inwards, self.outwards = Window(), Window()

    def from_person(self, data: bytes) -> Kind:
        """The frame's kind; ``ExecError`` unless a person may send it now."""
        return self._passed(data, PERSONS, self.inwards, self.outwards)

    def from_node(self, data: bytes) -> Kind:
        """The same of the node's."""
        return self._passed(data, NODES, self.outwards, self.inwards)

    def _passed(self, data: bytes, may: frozenset[Kind], own: Window, other: Window) -> Kind:
        kind, payload = parse(data)
        if kind not in may:
            raise ExecError(f"a frame of kind {kind.name}, which comes from the other end alone")
        if kind is Kind.CREDIT:
            other.credit(credit_of(payload))
        else:
            own.send(cost_of(data))
        if kind is Kind.RESIZE:
            size_of(payload)
        elif kind is Kind.END:
            end_of(payload)
        return kind
