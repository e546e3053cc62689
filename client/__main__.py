"""``python -m client`` is ``hydractl``."""

from client.hydractl import app

app(prog_name="hydractl")
