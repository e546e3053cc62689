"""What becomes of a batch of logs that the control plane does not take."""

from pathlib import Path
from typing import Any

import pytest

from nodemanager.http import HttpError
from nodemanager.logs import LogPusher


class Refusing:
    """A control plane that answers every batch with one status. asked: how often."""

    def __init__(self, status: int) -> None:
        self.status, self.asked = status, 0

    def request(self, *_: Any) -> None:
        self.asked += 1
        raise HttpError(self.status, "refused")


@pytest.mark.parametrize(
    ("status", "again"), [(401, True), (503, True), (0, True), (408, True), (403, False), (422, False)]
)
def test_what_is_refused_for_good_is_not_sent_for_ever(tmp_path: Path, status: int, again: bool) -> None:
    notes: list[str] = []
    http = Refusing(status)
    pusher = LogPusher(http, lambda _, text, **__: notes.append(text))  # type: ignore[arg-type]
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "stdout.0").write_bytes(b"hello")
    pusher.follow("c-1-1-1", str(tmp_path))
    for _ in range(3):
        pusher._push_all()
    assert http.asked == (3 if again else 1)
    assert bool(pusher.backoff_s) is again and bool(notes) is not again
