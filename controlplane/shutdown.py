"""Whether this process has been told to end. Long duties wait on it instead of sleeping."""

import threading

requested = threading.Event()
