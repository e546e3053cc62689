"""Runs a batch of joblib's calls in a task and keeps what they return, or raise.

``client.joblib`` starts it as ``python batch.py`` beside ``calls.pkl``. Unlike
the rest of this package it needs ``joblib`` and ``cloudpickle`` where it runs.
"""

import pickle
import sys
from pathlib import Path
from typing import Any

CALLS, RESULT = "calls.pkl", "result.pkl"  # the caller's Python version and the calls; whether they returned, and what
VERSION = sys.version_info[:2]
REMEDY = "name another Python of the containers with python=, or its packages with env={'PYTHONPATH': ...}"


def main() -> None:
    """What a call raises is a result like any other: it would do so again, so that no retry is spent on it."""
    found = result()
    try:
        import cloudpickle as writer
    except ImportError:  # which is what it says
        writer = pickle
    Path(RESULT).write_bytes(writer.dumps(found))


def result() -> tuple[bool, Any]:
    """Whether the calls returned, and what; else what was raised."""
    with Path(CALLS).open("rb") as file:
        theirs = pickle.load(file)  # noqa: S301 - what the task's owner has sent, as below
        if theirs != VERSION:
            here, there = (".".join(map(str, version)) for version in (VERSION, theirs))
            return False, RuntimeError(f"the calls are of Python {there}, and {sys.executable} is {here}; {REMEDY}")
        try:
            import cloudpickle  # noqa: F401 - to read what it has written

            calls = pickle.load(file)  # noqa: S301
        except ImportError as error:
            return False, ImportError(f"{error} (by {sys.executable} in the container); {REMEDY}")
    try:
        return True, calls()
    except Exception as error:
        return False, error


if __name__ == "__main__":
    main()
