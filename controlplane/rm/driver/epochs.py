"""Which epochs may have been given out already, although the lease's row does not say so. Pure.

A database that was restored, or failed over to a replica that was behind, has
an older row. Redis, and the nodes, may hold later epochs: ids of containers and
documents are numbered by them, so none may be given out twice.

Redis' own record is the RM's word. A node says what it likes: what at least
half of them have reached is believed, and of single ones what lies close to
that. So one of them can neither use the numbers up nor hide what others say.
"""

import numpy as np

from wire.ids import EPOCH_MAX

NEAR = 8  # leaders in a row that only some of the nodes have heard of
LEAP = 10_000  # of the nodes together, beyond what is known otherwise; no backup is so old
STEP_ASIDE_EVERY_S = 600.0  # so often at most a leader goes because nodes say something


def believed(known: int, told: np.ndarray) -> int:
    """The highest epoch that may have been given out.

    known: by the row and Redis. told: (n,) which one each node obeys, 0 for none.
    """
    told = told[(told > 0) & (told <= min(known + LEAP, EPOCH_MAX - 1))]
    if not len(told):
        return known
    common = int(np.sort(told)[(len(told) - 1) // 2])
    base = max(known, common)
    return max(base, int(told[told <= base + NEAR].max(initial=0)))
