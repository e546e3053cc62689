"""State folders whose database is made already."""

from pathlib import Path

from controlplane.embedded.home import Home
from tests import made
from tests.stores import bare_environment


def ready_made(folder: Path) -> Path:
    """Fill a folder that does not exist yet with a database that holds the sub-cluster ``east`` and nothing else."""
    home = Home(folder.absolute())
    home.create()
    made.copy_secrets(home)
    made.copy_database(home, bare_environment())
    return folder
