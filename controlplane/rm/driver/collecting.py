"""Python's garbage collector and a leader's memory, of which nothing is garbage until the leader ends.

A look for garbage takes a second per hundred thousand jobs, and while a memory is made one follows the other.
"""

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_lock = threading.Lock()
_making: list[int] = []  # by thread, memories that are being made


@contextmanager
def paused() -> Iterator[None]:
    """Nothing is looked at meanwhile, whoever else pauses it too; what there is by then, never again.

    What a leader before has left is looked at once more after it.
    """
    with _lock:
        _making.append(threading.get_ident())
        gc.disable()
        gc.unfreeze()
    try:
        yield
    finally:
        with _lock:
            _making.remove(threading.get_ident())
            if not _making:
                gc.freeze()
                gc.enable()


def settle() -> None:
    """What was made since then is to stay, too."""
    with _lock:
        if not _making:
            gc.collect()
            gc.freeze()
