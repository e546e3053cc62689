"""How much one account has the StateStore write down: what it submits, changes and asks for, an hour.

Other limits bound what is there at a time, and rates how often is asked. Neither bounds what is left behind by who
submits and kills, or changes a priority back and forth, a thousand jobs a request: rows of history and of the audit
log. State is per process, as that of rates.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from django.conf import settings

from controlplane.accounts.models import User
from controlplane.accounts.rights import is_operator
from controlplane.statestore.errors import TooMany

MOST = 10_000  # accounts that are remembered; a forgotten one begins anew
PIECE_BYTES = 16 << 10  # of what a job says, that counts as one thing more


@dataclass(slots=True)
class _Written:
    """left: how much more may be written, as of ``at``."""

    left: float
    at: float


class Writes:
    """A token bucket for each account, which an hour fills. per_hour: things; 0 for any number."""

    def __init__(self, per_hour: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_hour, self._clock = per_hour, clock
        self._of: OrderedDict[int, _Written] = OrderedDict()
        self._lock = threading.Lock()

    def claim(self, account: int, things: int, size: int = 0) -> None:
        """``TooMany`` where the account has done so much within the hour that this would be too much, or nothing.

        things: jobs, changes of jobs, or another thing that is written. size: bytes of what jobs say. Who has had
        nothing written for an hour may have anything written: other limits say how much that can be.
        """
        if not self._per_hour:
            return
        cost = things + size // PIECE_BYTES
        with self._lock:
            now = self._clock()
            mine = self._of.setdefault(account, _Written(self._per_hour, now))
            self._of.move_to_end(account)
            while len(self._of) > MOST:
                self._of.popitem(last=False)
            mine.left = min(self._per_hour, mine.left + (now - mine.at) * self._per_hour / 3600)
            mine.at = now
            if (lacking := min(cost, self._per_hour - 1) - mine.left) > 0:  # the request itself has been counted
                raise self._too_many(lacking)
            mine.left -= cost

    def _too_many(self, lacking: float) -> TooMany:
        wait_s = int(lacking * 3600 / self._per_hour) + 1
        text = (
            f"your account may submit and change {self._per_hour:,.0f} jobs and other things an hour "
            f"(HYDRA_WRITES_PER_HOUR), and has; wait {wait_s} s"
        )
        return TooMany(text, retry_after_s=wait_s)


_writes = Writes(settings.HYDRA["writes_per_hour"])


def claim(user: User, things: int, size: int = 0) -> None:
    """As ``Writes.claim``, in this process. Operators have written what they want."""
    if not is_operator(user):
        _writes.claim(user.pk, things, size)
