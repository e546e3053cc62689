"""When a topic is read for an account. Pure: times are given."""

from dataclasses import dataclass

LEAST_S = 0.25  # between two reads of a topic
REFRESH_S = 1.5  # read again after this even without any hint: with every hint lost a change shows within 2 s
SLOTS = 6  # of that time: accounts are spread over them, and those of one look at the stores together
# Long lists of slowly moving numbers: seconds between two reads, and at least so many times as long as the last one
# took with its wait, so that many who ask are told of these less often.
SLOW = {
    "overview": (LEAST_S, 3.0),
    "fleet": (1.0, 1.0),
    "queues": (1.0, 1.0),
    "queueuse": (1.0, 1.0),
    "queuematrix": (1.0, 1.0),
}
_QUICK = (LEAST_S, 0.25)


@dataclass(slots=True)
class Schedule:
    """Of one topic of one account."""

    kind: str
    user_id: int
    last_read: float = float("-inf")
    took_s: float = 0.0  # the last read, with what it had to wait
    hinted: bool = False  # it may have changed
    asked: bool = False  # somebody has nothing of it yet

    def due_at(self) -> float:
        """When to read next, in the clock of the times given."""
        least_s, rest = SLOW.get(self.kind, _QUICK)
        if self.asked:
            least_s = LEAST_S
        rested = self.last_read + rest * self.took_s
        if self.asked or self.hinted:
            return max(self.last_read + least_s, rested)
        return max(self._moment(self.last_read) + REFRESH_S, rested)

    def begin(self, now: float) -> float:
        """A read begins; what is said from now on is about something newer. By when it should be done."""
        late_s = 0.0 if self.asked else SLOW.get(self.kind, _QUICK)[0] if self.hinted else REFRESH_S
        self.last_read, self.hinted, self.asked = now, False, False
        return now + late_s

    def _moment(self, now: float) -> float:
        """The last one at which it was to be read without a hint.

        The same for all that an account follows, so that its topics share reads, and not for all accounts, so that
        these are spread over time.
        """
        phase = self.user_id % SLOTS / SLOTS * REFRESH_S
        return (now - phase) // REFRESH_S * REFRESH_S + phase
