"""Work on files that takes a while, off the loop: bring what a task needs, send what it leaves, clean up."""

from collections.abc import Callable
from pathlib import Path

from nodemanager import folders, jsonfiles, outputs
from nodemanager.localize import LocalizeError, Localizer
from nodemanager.log import note
from nodemanager.mailbox import Background
from nodemanager.paths import remove_tree
from nodemanager.persistence import Unreachable
from wire.ids import format_container, parse_container
from wire.template import Template

Ended = Callable[[int, str, bool], None]


class Transfers:
    """``localized`` and ``collected`` are called on the loop.

    With a container, what went wrong ("" for nothing), and whether it was the
    control plane that did not answer.
    """

    def __init__(
        self,
        containers: Path,
        localizer: Localizer,
        background: Background,
        localized: Ended,
        collected: Ended,
    ) -> None:
        self.containers, self.localizer, self.background = containers, localizer, background
        self.localized, self.collected = localized, collected
        self.localizing: set[int] = set()
        self.tokens: dict[int, str] = {}  # of application masters that are about to start

    def folder(self, cid: int) -> Path:
        """The container's own, whether it is there or not."""
        return self.containers / format_container(cid)

    def container_ids(self) -> set[int]:
        """Containers that have a folder."""
        found = set()
        for path in self.containers.iterdir():
            try:
                found.add(parse_container(path.name))
            except ValueError:
                continue
        return found

    def localize(self, cid: int, template: Template, uid: int) -> None:
        """Prepare the container's folder; without files to bring that is done at once."""
        if not (template.files or template.inputs or template.master):
            self.localized(cid, *_outcome(lambda: self._prepare(cid, uid)))
            return
        self.localizing.add(cid)

        def bring() -> None:
            self._prepare(cid, uid)
            self.localizer.localize(format_container(cid), template, str(self.folder(cid) / "work"), uid)
            if template.master:
                self.tokens[cid] = self.localizer.token(format_container(cid))

        def work() -> None:
            error, unreachable = _outcome(bring)
            self.background.post(lambda: self._localized(cid, error, unreachable))

        self.background.pool.submit(work)

    def _localized(self, cid: int, error: str, unreachable: bool) -> None:
        self.localizing.discard(cid)
        self.localized(cid, error, unreachable)

    def _prepare(self, cid: int, uid: int) -> None:
        try:
            folders.make(self.folder(cid), uid)
        except OSError as error:
            raise LocalizeError(f"the work folder: {error.strerror}") from None

    def collect(self, cid: int) -> None:
        """Send the outputs its launch context named."""
        folder = self.folder(cid)
        spec = jsonfiles.read_json(str(folder / "spec.json"))
        stopping = self.background.stopping

        def send() -> None:
            if spec is None:
                raise outputs.OutputError("what it should leave behind is no longer known")
            wanted = [(str(n), str(p), bool(o)) for n, p, o in spec["order"]["meta"]["outputs"]]
            outputs.collect(self.localizer.http, format_container(cid), str(folder / "work"), wanted, stopping)

        def work() -> None:
            error, unreachable = _outcome(send)
            if not stopping.is_set():  # else the next agent collects
                self.background.post(lambda: self.collected(cid, error, unreachable))

        self.background.pool.submit(work)

    def remove(self, cid: int) -> None:
        """Delete the container's folder, unless files are still coming into it."""
        if cid not in self.localizing and not self.background.stopping.is_set():
            self.background.pool.submit(self._remove_now, self.folder(cid))

    def _remove_now(self, folder: Path) -> None:
        try:
            remove_tree(str(folder))
        except OSError as error:
            note("warning", "a folder could not be removed", folder=str(folder), why=str(error))


def _outcome(work: Callable[[], None]) -> tuple[str, bool]:
    """What went wrong, "" for nothing; whether the control plane did not answer. Nothing leaves a container waiting."""
    try:
        work()
    except Unreachable as failed:
        return f"the control plane does not answer: {failed}", True
    except (LocalizeError, outputs.OutputError) as failed:
        return str(failed), False
    except Exception as failed:
        return f"{type(failed).__name__}: {failed}", False
    return "", False
