"""What lies below a folder in which others work meanwhile."""

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path


def files(root: Path) -> Iterator[tuple[Path, bytes]]:
    """Each file with what it holds; what goes while one looks is left out."""
    for folder, _, names in os.walk(root):
        for path in (Path(folder) / name for name in names):
            with suppress(OSError):
                if path.is_file():
                    yield path, path.read_bytes()
