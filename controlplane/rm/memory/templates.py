"""Which container templates somebody still needs: those that nobody does are taken from Redis.

Templates are named by what they say, so equal groups share one.
"""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True)
class Templates:
    """By digest. unneeded: what Redis may still hold of those that nobody needs."""

    unneeded: set[bytes] = field(default_factory=set)
    _needed: Counter[bytes] = field(default_factory=Counter)

    def enter(self, digest: bytes) -> None:
        """A group, or a launched container, needs it from now on."""
        self._needed[digest] += 1
        self.unneeded.discard(digest)

    def leave(self, digest: bytes) -> None:
        """One of those that entered needs it no more."""
        self._needed[digest] -= 1
        if not self._needed[digest]:
            del self._needed[digest]
            self.unneeded.add(digest)
