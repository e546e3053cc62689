"""How much one account, address or tenant holds open at once."""

from collections import Counter
from collections.abc import Hashable


class Places:
    """No more than ``most`` for each; for use on one thread, as an event loop's."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.held: Counter[Hashable] = Counter()

    def has_room(self, who: Hashable) -> bool:
        """Whether ``take`` would grant one more."""
        return self.held.get(who, 0) < self.most

    def take(self, who: Hashable) -> bool:
        """Whether one more is granted; it is then to be given back."""
        if not self.has_room(who):
            return False
        self.held[who] += 1
        return True

    def give_back(self, who: Hashable) -> None:
        """What ``take`` granted."""
        self.held[who] -= 1
        if self.held[who] <= 0:
            del self.held[who]


class PartyPlaces:
    """The same for parties: ``known`` for each that is known, ``address`` for each address (a text) of others.

    An empty address has no bound: a Unix socket's other end is a proxy, and not one that asks.
    """

    def __init__(self, known: int, address: int) -> None:
        self.known, self.addresses = Places(known), Places(address)

    def take(self, who: Hashable) -> bool:
        """Whether one more is granted; it is then to be given back."""
        return who == "" or self._of(who).take(who)

    def give_back(self, who: Hashable) -> None:
        """What ``take`` granted."""
        if who != "":
            self._of(who).give_back(who)

    def _of(self, who: Hashable) -> Places:
        return self.addresses if isinstance(who, str) else self.known
