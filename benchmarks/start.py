"""From a clone to the example job's result, downloads included, and the time to a ready stack when all is there."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from controlplane.embedded.home import free_ports

REPO = Path(__file__).resolve().parent.parent
KEPT = ("PATH", "HOME", "LANG", "USER", "TMPDIR", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE")
KEPT_PREFIXES = ("PIP_", "HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy", "NO_PROXY", "no_proxy")
WARM_RUNS = 3


def main(argv: list[str]) -> dict[str, float]:
    """``argv``: none."""
    with tempfile.TemporaryDirectory(prefix="hydra-start-") as folder:
        clone = Path(folder) / "clone"
        environ = environment(Path(folder) / "home")
        base = str(Path(sys.base_prefix) / "bin" / "python3")
        began = time.monotonic()
        run(["git", "clone", "--quiet", str(REPO), str(clone)], environ, Path(folder))
        run([base, "manage.py", "demo", "--exit"], environ, clone)
        clone_to_result_s = time.monotonic() - began
        return {"clone_to_result_s": round(clone_to_result_s, 1), "warm_ready_s": round(warm(base, environ, clone), 2)}


def environment(home: Path) -> dict[str, str]:
    """As on a new machine: no cache of downloads, a folder and a port of our own."""
    kept = {k: v for k, v in os.environ.items() if k in KEPT or k.startswith(KEPT_PREFIXES)}
    return kept | {"HYDRA_HOME": str(home), "HYDRA_HTTP_PORT": str(free_ports(1)[0]), "PIP_NO_CACHE_DIR": "1"}


def warm(base: str, environ: dict[str, str], clone: Path) -> float:
    """Median seconds until ``up --detach`` returns, which is when every leader leads and every node is up."""
    times = []
    for _ in range(WARM_RUNS):
        began = time.monotonic()
        run([base, "manage.py", "up", "--detach"], environ, clone)
        times.append(time.monotonic() - began)
        run([base, "manage.py", "down"], environ, clone)
    return sorted(times)[WARM_RUNS // 2]


def run(command: list[str], environ: dict[str, str], folder: Path) -> None:
    done = subprocess.run(command, env=environ, cwd=folder, check=False)
    if done.returncode:
        sys.exit(f"bench start: {' '.join(command)} ended with status {done.returncode}")
