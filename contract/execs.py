"""Commands that people run in live containers, and connections to their ports."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from contract.atmost import AtMost
from contract.base import Answer, Request
from contract.fields import NO_NUL, Whole
from wire.execs import COMMAND_MAX, SIZE_MAX

WORDS_MAX = 256
PORTS_MAX = 16
_Word = Annotated[str, Field(max_length=COMMAND_MAX, pattern=NO_NUL)]


class ExecRequest(Request):
    """``tty``: on a terminal of this size and type; without one, stdout and stderr come apart."""

    command: Annotated[list[_Word], AtMost(WORDS_MAX, 1)]
    tty: bool = False
    rows: Whole = Field(default=24, ge=1, le=SIZE_MAX)
    columns: Whole = Field(default=80, ge=1, le=SIZE_MAX)
    term: str = Field(default="xterm", max_length=32, pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]*$")

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if not self.command[0]:
            raise ValueError("command: its first word is the program; say which")
        if sum(len(word.encode(errors="replace")) for word in self.command) > COMMAND_MAX:
            raise ValueError(f"command: is longer than {COMMAND_MAX} bytes; send a script through stdin instead")
        return self


class ForwardRequest(Request):
    """``ports``: of the container, that streams of the exec are to be brought to."""

    ports: Annotated[list[Annotated[int, Field(ge=1, le=65_535)]], AtMost(PORTS_MAX, 1)]


class ExecBegun(Answer):
    """``socket``: the path of the WebSocket to open within half a minute; frames are those of ``wire.execs``."""

    id: int
    container: str
    node: str
    socket: str
