"""``python -m client`` is ``hydractl``. The launcher runs it as a file, so that missing packages are told in words."""

import gc
import sys
from pathlib import Path

gc.set_threshold(10_000, 10, 10)  # what is loaded stays: to look for garbage meanwhile takes a fifth of the start

try:
    from client.hydractl import app
except ModuleNotFoundError as missing:
    manage = Path(__file__).resolve().parents[1] / "manage.py"
    print(
        f"hydractl: {sys.executable} has no package {missing.name}. Name the environment that has the packages in "
        f"HYDRA_VENV, or install them: python3 {manage} install",
        file=sys.stderr,
    )
    sys.exit(2)

app(prog_name="hydractl")
