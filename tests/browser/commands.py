"""The commands that pages show: each is one that hydractl takes, so that a renamed option turns a test red."""

import functools
import re
import shlex
from collections.abc import Iterable

import typer.main
from playwright.sync_api import BrowserContext

from client.hydractl import app

_TELL = "tellShown"
# What is said for a shell, whenever it appears or changes: beside a page's parts, in dialogs, in running text.
_WATCH = f"""(() => {{
    const told = new Set()
    const look = () => document.querySelectorAll(".command code, .mono").forEach(element => {{
        const text = element.textContent
        if (told.has(text) || !/^(hydractl|for job in) /.test(text)) return
        told.add(text)
        window.{_TELL}(text)
    }})
    new MutationObserver(look).observe(document, {{ subtree: true, childList: true, characterData: true }})
}})()"""
_LOOP = re.compile(r"for job in [\d ]+; do (?P<command>.*); done")
_OPEN = re.compile(r"…|\bNaN\b|''|\b[A-Z]{4,}\b")  # a place that somebody has yet to fill in


class Shown:
    """Texts of the commands that the pages of a context have shown."""

    def __init__(self) -> None:
        self.texts: set[str] = set()

    def add(self, text: str) -> None:
        self.texts.add(text)

    def forget(self, texts: Iterable[str]) -> None:
        """Those that are wrong because a test has typed something wrong."""
        self.texts.difference_update(texts)

    def watch(self, context: BrowserContext) -> None:
        context.expose_function(_TELL, self.add)
        context.add_init_script(_WATCH)

    def wrong(self) -> dict[str, str]:
        """What hydractl says against those that it does not take."""
        return {text: why for text in sorted(self.texts) if (why := mistake(text))}


def mistake(text: str) -> str:
    """What hydractl says against a command; empty when it takes it. What is yet to be filled in may be wrong."""
    loop = _LOOP.fullmatch(text)
    name, *words = shlex.split(loop["command"].replace("$job", "1") if loop else text)
    if name != "hydractl":
        return "it is no command of hydractl"
    try:
        _parse(words)
    except Exception as error:  # typer keeps its errors' classes to itself
        kind = type(error).__name__
        return "" if kind == "BadParameter" and _OPEN.search(text) else f"{kind}: {getattr(error, 'message', error)}"
    return ""


_command = functools.cache(lambda: typer.main.get_command(app))  # which takes as long as many commands


def _parse(words: list[str]) -> None:
    """As ``hydractl`` does before it runs anything."""
    command, context = _command(), None
    while True:
        context = command.make_context(command.name, words, parent=context)
        if not isinstance(command, typer.core.TyperGroup):
            return
        # What a group leaves over: the name of its command, and that one's words.
        _, command, words = command.resolve_command(context, [*context._protected_args, *context.args])
