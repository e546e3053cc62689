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
