"""What is said where Dask, joblib or Airflow is missing, and what a Dask cluster asks of its containers."""

import subprocess
import sys
from pathlib import Path

from hydra.dask import Settings, worker_command

ROOT = Path(__file__).parents[3]
EXTRAS = {"dask": "distributed", "joblib": "joblib", "airflow": "airflow"}
MISSING = f"""
import importlib, sys
for extra, package in {EXTRAS!r}.items():
    sys.modules[package] = None
    try:
        importlib.import_module("client." + extra)
    except ImportError as error:
        print(error)
import client, hydra.am
"""


def test_without_an_extra_it_says_what_to_install_and_the_rest_works() -> None:
    done = subprocess.run([sys.executable, "-c", MISSING], cwd=ROOT, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    assert [line.partition("in a clone of this project: ")[2] for line in said] == [
        f"pip install '.[{e}]'" for e in EXTRAS
    ]


def test_workers_are_named_by_their_container_and_encrypt() -> None:
    settings = Settings(python="/opt/python3", nthreads=2, memory_mib=900, tls=True)
    command = worker_command(settings, "tls://n1:20000")
    for part in (
        "exec /opt/python3 -m distributed.cli.dask_worker tls://n1:20000 ",
        '--name "$HYDRA_CONTAINER_ID"', '--contact-address "tls://$HYDRA_HOST:$HYDRA_PORT_WORKER"',
        "--nthreads 2 --memory-limit 900MiB", "--tls-ca-file tls/certificate.pem",
    ):  # fmt: skip
        assert part in command
    assert "tls" not in worker_command(Settings("p", 1, 1), "tcp://n1:20000")
