"""Runs a batch of joblib's calls in a task and keeps what they return, or raise.

``client.joblib`` starts it as ``python batch.py`` beside ``calls.pkl``. Unlike
the rest of this package it needs ``joblib`` and ``cloudpickle`` where it runs.
"""

import pickle
from pathlib import Path
from typing import Any

CALLS, RESULT = "calls.pkl", "result.pkl"


def main() -> None:
    """What a call raises is a result like any other: it would do so again, so that no retry is spent on it."""
    import cloudpickle

    found: tuple[bool, Any]
    try:
        found = True, pickle.loads(Path(CALLS).read_bytes())()  # noqa: S301 - what the task's owner has sent
    except Exception as error:
        found = False, error
    Path(RESULT).write_bytes(cloudpickle.dumps(found))


if __name__ == "__main__":
    main()
