"""Where the system's chromium is and how it is started."""

import os
import shutil

ARGUMENTS = [
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    *(["--no-sandbox"] if os.geteuid() == 0 else []),  # chromium's sandbox refuses root
]


def chromium() -> str | None:
    """Path of the system's chromium, or of the one HYDRA_CHROMIUM names; ``None`` without one."""
    found = (shutil.which(name) for name in ("chromium", "chromium-browser", "google-chrome"))
    return os.environ.get("HYDRA_CHROMIUM") or next((path for path in found if path), None)
