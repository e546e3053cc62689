#!/usr/bin/env python3
"""One door to every role: ``python3 manage.py demo``, ``test``, ``up``, ``web``, ``worker``, ...

The first use makes ``.venv`` beside this file (or in ``HYDRA_VENV``), installs
the pinned requirements, and runs itself again inside it; until then only the
standard library is needed (``install`` stops there). Every other command is a Django command.
"""

import os
import sys

if sys.version_info < (3, 11):
    sys.exit("Hydra needs Python 3.11 or newer; this is %s. Run: python3.11 manage.py ..." % sys.version.split()[0])

from pathlib import Path

ROOT = Path(__file__).resolve().parent


def main(argv: list[str]) -> None:
    sys.path.insert(0, str(ROOT))
    from controlplane import heap
    from controlplane.embedded import home, venv

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "controlplane.settings")
    command = argv[1] if len(argv) > 1 else "help"
    try:
        venv.enter(ROOT, argv, with_dev=command == "test")
        venv.keep_bytecode()
        home.Home.from_environment().prepare(command)
    except (venv.InstallError, home.HomeError) as problem:
        sys.exit(f"manage.py {command}: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
    if command == "install":
        return  # that was all
    heap.relax()
    from django.core.management import execute_from_command_line

    execute_from_command_line(argv)


if __name__ == "__main__":
    main(sys.argv)
