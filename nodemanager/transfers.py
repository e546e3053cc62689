"""Work on files that takes a while, off the loop: bring what a task needs, send what it leaves, clean up."""

import os
from collections.abc import Callable
from pathlib import Path

from nodemanager import folders, jsonfiles, outputs
from nodemanager.capture import Writer
from nodemanager.launchcontext import Confidential
from nodemanager.leftovers import Leftovers
from nodemanager.localize import LocalizeError, Localizer, SecretError
from nodemanager.log import note
from nodemanager.mailbox import Background
from nodemanager.masking import sought
from nodemanager.paths import remove_tree
from nodemanager.persistence import Unreachable
from wire.ids import format_container, parse_container
from wire.states import ContainerReason
from wire.template import Template

Ended = Callable[[int, str, ContainerReason], None]
WORDS_BYTES = 64 << 10  # of what the node itself says in a container's log


class Transfers:
    """``localized`` and ``collected`` are called on the loop.

    With a container, what went wrong ("" for nothing), and the reason for which
    it ends then.
    """

    def __init__(
        self,
        containers: Path,
        localizer: Localizer,
        background: Background,
        leftovers: Leftovers,
        localized: Ended,
        collected: Ended,
    ) -> None:
        self.containers, self.localizer, self.background = containers, localizer, background
        self.leftovers = leftovers
        self.localized, self.collected = localized, collected
        self.localizing: set[int] = set()
        self.confidential: dict[int, Confidential] = {}  # of tasks that are about to start; never on disk

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
        if not (template.files or template.inputs or template.master or template.secrets):
            self.localized(cid, *_outcome(lambda: self._prepare(cid, uid), ContainerReason.LOCALIZATION))
            return
        self.localizing.add(cid)
        name, work_folder = format_container(cid), str(self.folder(cid) / "work")

        def bring() -> None:
            self._prepare(cid, uid)
            self.localizer.localize(name, template, work_folder, uid)
            token = self.localizer.token(name) if template.master else ""
            values = self.localizer.secrets(name, template, work_folder, uid) if template.secrets else {}
            env = {each.env: values[each.name] for each in template.secrets if each.env}
            self.confidential[cid] = Confidential(token, env, sought([token, *values.values()]))

        def work() -> None:
            error, reason = _outcome(bring, ContainerReason.LOCALIZATION)
            self.background.post(lambda: self._localized(cid, error, reason))

        self.background.pool.submit(work)

    def _localized(self, cid: int, error: str, reason: ContainerReason) -> None:
        self.localizing.discard(cid)
        self.localized(cid, error, reason)

    def tell(self, cid: int, text: str) -> None:
        """A line in the container's stderr, where its owner looks, of one whose command never ran."""
        writer = Writer(str(self.folder(cid) / "logs"), "stderr", WORDS_BYTES)
        writer.write(f"hydra: {text}\n".encode(errors="replace"))
        writer.close()

    def _prepare(self, cid: int, uid: int) -> None:
        try:
            folders.make(self.folder(cid), uid)
        except OSError as error:
            raise LocalizeError(f"the work folder: {error.strerror}") from None
        if uid >= 0:
            self.leftovers.begins(uid)

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
            error, reason = _outcome(send, ContainerReason.OUTPUT)
            if not stopping.is_set():  # else the next agent collects
                self.background.post(lambda: self.collected(cid, error, reason))

        self.background.pool.submit(work)

    def remove(self, cid: int) -> None:
        """Delete the container's folder, unless files are still coming into it."""
        self.confidential.pop(cid, None)
        if cid not in self.localizing and not self.background.stopping.is_set():
            self.background.pool.submit(self._remove_now, self.folder(cid))

    def user_of(self, cid: int) -> int | None:
        """Whose tasks its folder is for; None where they run as the agent's own user, or it is gone."""
        return _user_of(self.folder(cid))

    def _remove_now(self, folder: Path) -> None:
        user = _user_of(folder)
        try:
            remove_tree(str(folder))
        except OSError as error:
            note("warning", "a folder could not be removed", folder=str(folder), why=str(error))
        if user is not None:
            self.leftovers.ended(user)


def _user_of(folder: Path) -> int | None:
    try:
        owner = (folder / "work").lstat().st_uid
    except OSError:
        return None
    return owner if os.geteuid() == 0 != owner else None


def _outcome(work: Callable[[], None], otherwise: ContainerReason) -> tuple[str, ContainerReason]:
    """What went wrong, "" for nothing, and the reason it is. Nothing leaves a container waiting."""
    try:
        work()
    except Unreachable as failed:
        return f"the control plane does not answer: {failed}", ContainerReason.UNREACHABLE
    except SecretError as failed:
        return str(failed), ContainerReason.SECRET
    except (LocalizeError, outputs.OutputError) as failed:
        return str(failed), otherwise
    except Exception as failed:
        return f"{type(failed).__name__}: {failed}", otherwise
    return "", ContainerReason.NONE
