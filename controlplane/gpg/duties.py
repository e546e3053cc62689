"""What the GPG does, by name and interval. A duty may be doubled, late or cut short and is right the next time."""

from collections.abc import Callable
from dataclasses import dataclass

from controlplane.gpg.shares import ShareDuty
from controlplane.gpg.starving import StarvingDuty
from controlplane.statestore.membership import Post


@dataclass(frozen=True, slots=True)
class Duty:
    """every_s: asked before each wait. run: called with the post.

    What ``run`` writes ends with ``post.fence``; it takes well under a lease's time.
    """

    name: str
    every_s: Callable[[], float]
    run: Callable[[Post], None]


def duties(lease_s: float) -> list[Duty]:
    """Every duty, in the order in which they run when several are due. Made anew for each time in the post."""
    shares, starving = ShareDuty(lease_s), StarvingDuty(lease_s)
    return [Duty("shares", shares.every_s, shares.run), Duty("starving", starving.every_s, starving.run)]
