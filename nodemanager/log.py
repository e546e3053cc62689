"""The node manager's own log: one JSON object per line on stderr."""

import json
import sys
import time


def note(level: str, text: str, **fields: object) -> None:
    """Write one line. Values that JSON does not know are written as text."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime()) + f".{int(time.time() * 1000) % 1000:03d}Z"
    line = json.dumps({"at": stamp, "level": level, "event": text, **fields}, default=str)
    try:
        print(line, file=sys.stderr, flush=True)
    except OSError:
        pass  # nobody reads any more
