"""What time the control plane thinks it is, whatever this machine's clock does."""

import threading
import time


class Clock:
    """Unix time carried forward on the monotonic clock from the control plane's last word.

    Leases expire by the control plane's clock. Before the first word, and only
    then, this machine's own clock has to do.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.offset: float | None = None  # unix minus monotonic

    def synchronize(self, unix: float, at: float) -> None:
        """``unix``: what a server said when the monotonic clock stood at ``at``."""
        with self.lock:
            self.offset = unix - at

    def unix(self) -> float:
        """Seconds since 1970 by the control plane; by this machine until it has been heard."""
        with self.lock:
            return time.time() if self.offset is None else time.monotonic() + self.offset
