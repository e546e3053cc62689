"""When each topic of one socket is read and sent. Pure: times are given, nothing is read here."""

import json
from dataclasses import dataclass

from .snapshots import Refusal, Snapshot
from .topics import Topic

LEAST_S = 0.25  # between two snapshots of a topic
REFRESH_S = 2.0  # read again after this even without any hint
LEAST_BY_KIND = {"nodes": 1.0}  # long lists of slowly moving numbers


@dataclass(slots=True)
class Feed:
    """One topic on one socket."""

    topic: Topic
    seq: int = 0
    last_read: float = float("-inf")
    wanted: bool = True  # a hint came, or it was just subscribed
    force: bool = True  # send even if nothing changed
    digest: bytes = b""
    refused: Refusal | None = None

    def due_at(self) -> float:
        """When to read next, in the clock of the times given."""
        least = LEAST_BY_KIND.get(self.topic.kind, LEAST_S)
        return self.last_read + (least if self.wanted or self.force else REFRESH_S)

    def reading(self, now: float) -> None:
        """A read begins; hints that come from now on are about something newer."""
        self.last_read, self.wanted = now, False

    def took(self, result: Snapshot | Refusal) -> str | None:
        """The message to send for a result, or ``None`` when the browser already knows it."""
        if isinstance(result, Refusal):
            known = self.refused == result and not self.force
            self.refused = result
            self.force = False
            return None if known else refusal_message(self.topic.name, result)
        if result.digest == self.digest and not self.force and self.refused is None:
            return None
        self.digest, self.force, self.refused = result.digest, False, None
        self.seq += 1
        return snapshot_message(self.topic.name, self.seq, result.body)


def snapshot_message(topic: str, seq: int, body: str) -> str:
    """Put together by hand: the body is JSON text already and may be long."""
    return f'{{"topic":{dumps(topic)},"seq":{seq},"snapshot":{body}}}'


def refusal_message(topic: str, refusal: Refusal) -> str:
    return dumps({"topic": topic, "error": {"status": refusal.status, "detail": refusal.detail}})


def dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
