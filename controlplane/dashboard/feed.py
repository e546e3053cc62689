"""What one socket knows of one topic, and the messages that tell it more. Pure: nothing is read here."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from controlplane.statestore.queries.nodes.fleet import Fleet

from .snapshots import Result, TopicRefusal
from .topics import Topic


@dataclass(slots=True, eq=False)
class Feed:
    """One topic on one socket. wake: called when there is something to send."""

    topic: Topic
    wake: Callable[[], None]
    seq: int = 0
    force: bool = True  # send even if nothing changed
    digest: bytes = b""
    refused: TopicRefusal | None = None
    heard: tuple[int, int] = (0, -1)  # of a topic told in steps: line and look that its browser heard of last
    offered: Result | None = None  # the last that was read, if the browser does not know it: never a queue of old ones

    def offer(self, result: Result) -> None:
        """This is how it stands now."""
        self.offered = result if self._is_news(result) else None
        if self.offered is not None:
            self.wake()

    def message(self) -> str | None:
        """What there is to send, once; ``None`` when there is nothing."""
        result, self.offered = self.offered, None
        if result is None:
            return None
        if isinstance(result, TopicRefusal):
            self.refused, self.force = result, False
            return refusal_message(self.topic.name, result)
        if isinstance(result, Fleet):
            return self._step(result)
        self.digest, self.force, self.refused = result.digest, False, None
        self.seq += 1
        return snapshot_message(self.topic.name, self.seq, result.body)

    def _is_news(self, result: Result) -> bool:
        if self.force or isinstance(result, TopicRefusal) or self.refused is not None:
            return self.force or self.refused != result
        if isinstance(result, Fleet):
            return self.heard != (result.line, result.look)
        return self.digest != result.digest

    def _step(self, fleet: Fleet) -> str | None:
        """Everything at first and when asked for anew; then what changed since the last message of this socket."""
        whole = self.force or self.refused is not None or self.heard[0] != fleet.line
        body = fleet.whole() if whole else fleet.after(self.heard[1])
        self.heard, self.force, self.refused = (fleet.line, fleet.look), False, None
        if body is None:
            return None
        self.seq += 1
        return snapshot_message(self.topic.name, self.seq, body, "snapshot" if whole else "delta")


def snapshot_message(topic: str, seq: int, body: str, what: str = "snapshot") -> str:
    """Put together by hand: the body is JSON text already and may be long."""
    return f'{{"topic":{dumps(topic)},"seq":{seq},"{what}":{body}}}'


def refusal_message(topic: str, refusal: TopicRefusal) -> str:
    return dumps({"topic": topic, "error": {"status": refusal.status, "detail": refusal.detail}})


def dumps(value: object) -> str:
    return json.dumps(value, separators=(",", ":"))
