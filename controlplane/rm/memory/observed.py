"""What preemption that only observes would take back: kept apart from what is, so that nothing else heeds it."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import numpy as np

from scheduler.core.snapshot import Memo


@dataclass(slots=True)
class Observed:
    """marks: by partition, container ids that would be under warning, and when (s) that would be over.

    notified: containers whose owners were told. gone: those that would have been stopped by now. stopped: how many
    that has been since this leader took over.
    """

    marks: dict[str, tuple[np.ndarray, np.ndarray]] = field(default_factory=dict)
    notified: set[int] = field(default_factory=set)
    gone: set[int] = field(default_factory=set)
    stopped: int = 0

    def with_marks(self, partition: str, memo: Memo) -> Memo:
        """The memo with the partition's marks, for a plan."""
        ids, due = self.marks.get(partition, (memo.warned, memo.warned_due))
        return replace(memo, warned=ids, warned_due=due)

    def store_marks(self, partition: str, memo: Memo) -> Memo:
        """The memo without its marks, which are kept here."""
        self.marks.pop(partition, None)
        if len(memo.warned):
            self.marks[partition] = memo.warned, memo.warned_due
        none = Memo()
        return replace(memo, warned=none.warned, warned_due=none.warned_due)

    def count(self) -> int:
        """Containers that would be under warning, or stopped already, and are still to go."""
        return sum(len(ids) for ids, _ in self.marks.values())

    def only(self, partitions: Iterable[str]) -> None:
        """There are no other partitions any more."""
        self.marks = {name: self.marks[name] for name in partitions if name in self.marks}

    def forget(self, ids: Iterable[int]) -> None:
        """These containers have ended."""
        self.notified.difference_update(ids)
        self.gone.difference_update(ids)

    def clear(self) -> None:
        """Nothing is observed any more; what was counted stays."""
        self.marks.clear()
        self.notified.clear()
        self.gone.clear()
