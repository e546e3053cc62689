"""How a bug is planted: a real function is another one for a while."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

Real = Callable[..., Any]
SEEDS = 600  # most are found within ten


@dataclass(frozen=True, slots=True)
class Bug:
    """what: the mistake, as its author would confess it. place: the function's owner (or a table) and its name there.
    seeds: within so many it is found."""

    name: str
    what: str
    place: tuple[Any, Any]
    wrong: Callable[[Real], Real]
    seeds: int

    @contextmanager
    def planted(self) -> Iterator[None]:
        owner, name = self.place
        if isinstance(owner, dict):
            real = owner[name]
            put: Callable[[Any], None] = partial(owner.__setitem__, name)
        else:
            real = getattr(owner, name)
            put = partial(setattr, owner, name)
        put(self.wrong(real))
        try:
            yield
        finally:
            put(real)


BUGS: dict[str, Bug] = {}


def plant(name: str, owner: Any, function: Any, seeds: int = SEEDS) -> Callable[[Callable[[Real], Real]], Bug]:
    """Make a bug of a function that gives the wrong one for the real one; its docstring is the confession."""

    def made(wrong: Callable[[Real], Real]) -> Bug:
        found = BUGS[name] = Bug(name, (wrong.__doc__ or "").strip(), (owner, function), wrong, seeds)
        return found

    return made


def nothing(*args: Any, **kwargs: Any) -> None:
    """Does nothing at all."""
