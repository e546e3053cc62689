"""When the agent's local state is written: before anything is told that a restart would not know."""

from nodemanager import session
from nodemanager.core import Core
from nodemanager.log import note
from nodemanager.membership import Membership
from nodemanager.state import SEQ_RESERVE, StateFile


class Checkpoint:
    """Writes of one state file, gathered until ``save``. ``seq``: the last status's, by which readers order them."""

    def __init__(self, file: StateFile, core: Core, membership: Membership, seq: int) -> None:
        self.file, self.core, self.membership, self.seq = file, core, membership, seq
        self.seq_reserved = 0
        self.dirty = self.durable = False

    def mark_dirty(self, durable: bool) -> None:
        """Something is new. ``durable``: it must survive a power cut."""
        self.dirty = True
        self.durable |= durable

    def next_seq(self) -> int:
        """A sequence number that no earlier or later agent of this node uses, with all that is new on disk."""
        self.seq += 1
        self.dirty |= self.seq >= self.seq_reserved
        self.save()
        return self.seq

    def save(self) -> None:
        """Write what is new, if anything is. A disk that refuses is told of, and asked again the next time."""
        if not self.dirty:
            return
        self.seq_reserved = self.seq + SEQ_RESERVE
        config = self.membership.config
        value = session.to_json(self.membership.session, config, self.membership.isolation)
        try:
            self.file.save(value, config.control_plane, self.core, self.seq_reserved, self.durable)
        except OSError as error:
            note("error", "local state could not be written", why=error.strerror)
            return
        self.dirty = self.durable = False
