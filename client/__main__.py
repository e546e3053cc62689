"""``python -m client`` is ``hydractl``."""

import gc

gc.set_threshold(10_000, 10, 10)  # what is loaded stays: to look for garbage meanwhile takes a fifth of the start

from client.hydractl import app  # noqa: E402

app(prog_name="hydractl")
