"""The person's end of an exec: their socket on one side, the line to the node's on the other."""

import asyncio
import time

import structlog
from django.conf import settings
from django.db import DatabaseError, InterfaceError

from controlplane.accounts.turns import turns
from controlplane.router.execs.line import PULSE_S, Line, LineDown
from controlplane.router.execs.paying import pay
from controlplane.router.execs.socket import FrameSocket, Left, first_of
from controlplane.router.proxy.access import by_token
from controlplane.router.threads import Threads
from controlplane.statestore.actions import execs as actions
from controlplane.statestore.actions.audit import Actor
from controlplane.statestore.models import Exec
from controlplane.statestore.queries.jobs import execs as queries
from wire import execs, keys
from wire.execs import End, Kind

log = structlog.get_logger(__name__)

CALL_S = 1.0  # how often the node is told, until it has come
NODE_S = 20.0  # how long it may take to begin the command
LOOK_S = 10.0  # how often rights are looked at again, and the row is renewed
LEFT = "the person has left"


def attach(header: str, number: int) -> Exec | None:
    """The exec that waits for whoever has this token; None when there is none."""
    user = by_token(header)
    return actions.attach(user.pk, number) if user else None


class Person:
    """One exec from the person's coming to its end. threads: for looks into the StateStore."""

    def __init__(self, socket: FrameSocket, begun: Exec, header: str, address: str, threads: Threads) -> None:
        self.socket, self.begun, self.header, self.threads = socket, begun, header, threads
        self.actor = Actor(begun.user_id, address or None)
        self.windows = execs.Windows()
        self.runs = asyncio.Event()  # the node says that the command has begun
        self.active_at = time.monotonic()

    async def serve(self) -> None:
        """Until the command has ended, or something ends it; whoever is still there hears why."""
        turns.asks(self.begun.user_id)
        how = ""
        try:
            async with Line(keys.exec_to_person(self.begun.pk), keys.exec_to_node(self.begun.pk)) as line:
                try:
                    how = await self._until_the_end(line)
                finally:
                    await self._leave(line)
        except LineDown as error:
            how = await self._say_why(str(error))
        finally:
            await self.socket.close()
            await self._note_end(how or "cut off")

    async def _note_end(self, how: str) -> None:
        try:
            await self.threads.start(actions.end, self.actor, self.begun, how)
        except (DatabaseError, InterfaceError):
            pass  # nobody renews its row, so that it is over soon

    async def _until_the_end(self, line: Line) -> str:
        try:
            ends = self._outwards(line), self._inwards(line), self._calls(), self._looks(), _pulse(line, self.runs)
            return await first_of(*ends)
        except Left:
            return LEFT
        except (execs.ExecError, LineDown) as error:
            return await self._say_why(str(error))

    async def _leave(self, line: Line) -> None:
        try:
            await line.say(execs.failed(LEFT))
        except LineDown:
            pass  # nobody is there who would have to know

    async def _say_why(self, why: str) -> str:
        try:
            await self.socket.say(execs.failed(why))
        except Left:
            pass
        return why

    async def _inwards(self, line: Line) -> str:
        while True:
            data = await self.socket.frame()
            kind = self.windows.from_person(data)
            await self.runs.wait()
            self._moved(kind)
            await pay(self.begun.user_id, data)
            await line.say(data)

    async def _outwards(self, line: Line) -> str:
        while True:
            data = await line.hear(self._silence_s())
            kind = self.windows.from_node(data)
            self._moved(kind)
            if kind is Kind.BEGUN:
                self.runs.set()
            await pay(self.begun.user_id, data)
            await self.socket.say(data)
            if kind is Kind.END:
                return _words(execs.end_of(data[1:]))

    def _silence_s(self) -> float:
        return NODE_S + 2 * CALL_S if not self.runs.is_set() else 3 * PULSE_S

    def _moved(self, kind: Kind) -> None:
        if kind is not Kind.CREDIT:
            self.active_at = time.monotonic()

    async def _calls(self) -> str:
        """Tell the node until it has come; then nothing more."""
        until = time.monotonic() + NODE_S
        while not self.runs.is_set():
            if time.monotonic() > until:
                why = "its node did not begin the command in time; it may be cut off, or of an older version"
                return await self._say_why(why)
            await self.threads.start(actions.call, self.begun)
            try:
                await asyncio.wait_for(self.runs.wait(), CALL_S)
            except TimeoutError:
                continue
        return await asyncio.Future()  # the others decide

    async def _looks(self) -> str:
        """Until it may not go on: its right, its container or its time has ended. A store that is away ends nothing."""
        idle_s = settings.HYDRA["exec_idle_s"]
        while True:
            await asyncio.sleep(min(LOOK_S, idle_s))
            why = ""
            if time.monotonic() - self.active_at > idle_s:
                why = f"nothing was said for {idle_s:g} s"
            else:
                try:
                    why = await self.threads.start(self._why_not)
                except (DatabaseError, InterfaceError):
                    log.debug("no look at an exec", exec=self.begun.pk)
            if why:
                return await self._say_why(why)

    def _why_not(self) -> str:
        user = by_token(self.header)
        if user is None or user.pk != self.begun.user_id:
            return "you are signed out"
        why = queries.why_not(self.begun)
        if not why:
            actions.seen(self.begun.pk)
        return why


async def _pulse(line: Line, begins: asyncio.Event) -> str:
    await begins.wait()
    while True:
        await line.say()
        await asyncio.sleep(PULSE_S)


def _words(how: End) -> str:
    """For the audit log."""
    if how.error:
        return how.error
    return f"signal {how.signal}" if how.signal else f"status {how.code}"
