"""Files on their way into a work folder: fetched once per digest, checked, cached, placed safely."""

import hashlib
import os
import shutil
import threading
from collections import OrderedDict
from pathlib import Path
from typing import Any

from nodemanager.http import Http, HttpError
from nodemanager.paths import PathError, open_parent
from nodemanager.persistence import persist
from wire import nodeapi
from wire.template import File, Template

DAMAGED_TRIES = 4  # of a file whose content is not what its digest says
LINK_BYTES = 1 << 20  # larger files are linked, not copied, where the tenant cannot change them
ENV_BYTES = 128 << 10  # of secrets in a task's environment, which the supervisor is told in one line
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
HEX = set("0123456789abcdef")


class LocalizeError(Exception):
    """A file could not be brought; the text names it."""


class SecretError(LocalizeError):
    """A secret that the task names could not be had; the text names it, and says why."""


class Damaged(Exception):
    """What came is not the file that was asked for."""


class Cache:
    """Artifacts by digest, newest use last; evicted by size. A file in use survives its eviction."""

    def __init__(self, folder: Path, limit_bytes: int) -> None:
        self.folder, self.limit_bytes = folder, limit_bytes
        self.lock = threading.Lock()
        self.sizes: OrderedDict[str, int] = OrderedDict()
        self.fetching: dict[str, threading.Lock] = {}
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._scan()

    def _scan(self) -> None:
        found = []
        for entry in os.scandir(self.folder):
            if len(entry.name) == 64:
                info = entry.stat()
                found.append((info.st_mtime, entry.name, info.st_size))
            else:
                os.unlink(entry.path)  # a download that was interrupted
        for _, name, size in sorted(found):
            self.sizes[name] = size

    def path(self, digest: str) -> Path:
        """Where an artifact lies, or would."""
        return self.folder / digest

    def touch(self, digest: str) -> bool:
        """Whether it is here; marks it as just used."""
        with self.lock:
            if digest not in self.sizes or not self.path(digest).exists():
                self.sizes.pop(digest, None)
                return False
            self.sizes.move_to_end(digest)
        os.utime(self.path(digest))
        return True

    def download_lock(self, digest: str) -> threading.Lock:
        """The lock under which ``digest`` is downloaded."""
        with self.lock:
            return self.fetching.setdefault(digest, threading.Lock())

    def add(self, digest: str, size: int) -> None:
        """It has been downloaded and checked; those not used for longest make room."""
        with self.lock:
            self.fetching.pop(digest, None)
            self.sizes[digest] = size
            total = sum(self.sizes.values())
            while total > self.limit_bytes and len(self.sizes) > 1:
                oldest, freed = self.sizes.popitem(last=False)
                total -= freed
                self.path(oldest).unlink(missing_ok=True)


class Localizer:
    """Prepares one container's work folder; called on transfer threads, whose number bounds the downloads."""

    def __init__(self, http: Http, cache: Cache, stopping: threading.Event) -> None:
        self.http, self.cache, self.stopping = http, cache, stopping

    def localize(self, container: str, template: Template, work: str, uid: int) -> None:
        """Place the template's files and inputs below ``work``. Raises ``LocalizeError`` or ``Unreachable``."""
        files = list(template.files)
        if template.inputs:
            files += self._inputs(container)
        for file in files:
            try:
                self._place(self._fetch(container, file), file, work, uid)
            except (OSError, PathError, HttpError, Damaged) as error:
                raise LocalizeError(f"{file.path}: {error}") from None

    def token(self, container: str) -> str:
        """What the application master in this container speaks to the API with.

        Raises ``LocalizeError`` or ``Unreachable``.
        """
        try:
            answer = self._ask(f"containers/{container}/token")
            return str(answer["token"])
        except (HttpError, KeyError, TypeError) as error:
            raise LocalizeError(f"the application master's token: {error}") from None

    def secrets(self, container: str, template: Template, work: str, uid: int) -> dict[str, str]:
        """The values by name; those that the task wants as files are placed below ``work``.

        Raises ``SecretError``, ``LocalizeError`` or ``Unreachable``.
        """
        try:
            answer = self._ask(f"containers/{container}/secrets")
            values, wrong = dict(answer["secrets"]), dict(answer["wrong"])
        except HttpError as error:
            raise LocalizeError(f"the secrets: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise LocalizeError("the list of secrets is malformed") from None
        wrong |= {each.name: "was not given" for each in template.secrets if each.name not in values | wrong}
        if wrong:
            raise SecretError("; ".join(f"the secret {name} {why}" for name, why in wrong.items()))
        given = {each.name: str(values[each.name]) for each in template.secrets}
        if (size := sum(len(given[each.name].encode()) for each in template.secrets if each.env)) > ENV_BYTES:
            most = f"come to {size:,} bytes, and may come to {ENV_BYTES:,}: take some as files"
            raise SecretError(f"the secrets in its environment {most}")
        for each in template.secrets:
            if each.path:
                self._write(given[each.name], each.path, work, uid)
        return given

    def _write(self, value: str, path: str, work: str, uid: int) -> None:
        """A file that the task's user alone may read."""
        try:
            parent, name = open_parent(work, path, create=True, uid=uid)
            try:
                fd = os.open(name, NEW_FILE, 0o600, dir_fd=parent)
            finally:
                os.close(parent)
            with os.fdopen(fd, "wb") as out:
                out.write(value.encode())
                if uid >= 0:
                    os.fchown(out.fileno(), uid, uid)
        except (OSError, PathError) as error:
            raise LocalizeError(f"{path}: {error}") from None

    def _inputs(self, container: str) -> list[File]:
        try:
            raw = self._ask(f"containers/{container}/inputs")
            return [File(str(i["path"]), str(i["digest"]), int(i["size"])) for i in raw["inputs"]]
        except HttpError as error:
            raise LocalizeError(f"the list of inputs: {error}") from None
        except (KeyError, TypeError, ValueError):
            raise LocalizeError("the list of inputs is malformed") from None

    def _ask(self, path: str) -> Any:
        return persist(lambda: self.http.request("GET", f"{nodeapi.PREFIX}/{path}"), self.stopping)

    def _fetch(self, container: str, file: File) -> Path:
        """The file in the cache, downloaded by whoever comes first."""
        if len(file.digest) != 64 or not set(file.digest) <= HEX:
            raise PathError(f"{file.digest[:80]!r} is not a digest")
        with self.cache.download_lock(file.digest):
            if not self.cache.touch(file.digest):
                self.cache.add(file.digest, self._undamaged(container, file))
        return self.cache.path(file.digest)

    def _undamaged(self, container: str, file: File) -> int:
        for left in reversed(range(DAMAGED_TRIES)):
            try:
                return persist(lambda: self._download(container, file), self.stopping)
            except Damaged:
                if not left:
                    raise
        raise AssertionError("not reached")

    def _download(self, container: str, file: File) -> int:
        target = self.cache.path(file.digest)
        temporary = target.with_suffix(".part")
        sha, size = hashlib.sha256(), 0
        try:
            with open(temporary, "wb") as out:
                for block in self.http.download(f"{nodeapi.PREFIX}/artifacts/{file.digest}?container={container}"):
                    size += len(block)
                    if size > file.size:
                        raise Damaged(f"longer than the {file.size} bytes it should have")
                    sha.update(block)
                    out.write(block)
            if sha.hexdigest() != file.digest:
                raise Damaged("what came does not match the digest")
            os.chmod(temporary, 0o444)
            os.replace(temporary, target)
        finally:
            temporary.unlink(missing_ok=True)
        return size

    def _place(self, source: Path, file: File, work: str, uid: int) -> None:
        """Put a cached file at its path: its owner's own copy, or a link when large and not writable anyway."""
        parent, name = open_parent(work, file.path, create=True, uid=uid)
        mode = file.mode & 0o777
        try:
            if uid >= 0 and file.size >= LINK_BYTES and mode == 0o444:
                os.link(source, name, dst_dir_fd=parent)
                return
            target = os.open(name, NEW_FILE, 0o600, dir_fd=parent)
            with open(source, "rb") as cached, os.fdopen(target, "wb") as out:
                shutil.copyfileobj(cached, out, 1 << 18)
                os.fchmod(out.fileno(), mode)
                if uid >= 0:
                    os.fchown(out.fileno(), uid, uid)
        finally:
            os.close(parent)
