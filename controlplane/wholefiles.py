"""Artifacts in a folder. What has its name there is whole and on the disk, whatever stopped while it was written."""

import errno
import os
import shutil
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage

PARTS = "parts"  # the folder of what is being written, or was when its writer died


class WholeFiles(FileSystemStorage):
    """Names tell the bytes, so that who writes a file again replaces it by the same."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name

    def room(self) -> int:
        """Bytes that may still be written, so that what is to stay free of the disk does; fewer than none of a fuller
        one. ``OSError`` where it cannot be looked at."""
        there = Path(self.location)
        there = next(each for each in (there, *there.parents) if each.exists())
        return shutil.disk_usage(there).free - int(settings.HYDRA["artifacts_free_mib"] * (1 << 20))

    def _save(self, name: str, content: File) -> str:
        """``OSError`` when the disk has no room for it, or would have less left than is to stay free."""
        part = f"{PARTS}/{uuid4().hex}"
        Path(self.location).mkdir(parents=True, exist_ok=True)
        if self.room() < content.size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        try:
            super()._save(part, content)
            _to_disk(self.path(part))
            whole = Path(self.path(name))
            whole.parent.mkdir(parents=True, exist_ok=True)
            Path(self.path(part)).replace(whole)
            _to_disk(whole.parent)
        except BaseException:
            self.delete(part)
            raise
        return name


def _to_disk(path: Any) -> None:
    opened = os.open(path, os.O_RDONLY)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
