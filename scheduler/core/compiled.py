"""Kernels: the loops over arrays that Numba compiles.

A kernel is plain source. Until ``compile_all`` has been called in this process
it runs interpreted, slow and right, so that nobody waits for a compiler.
Kernels take arrays, numbers and named tuples of them, and call only kernels.
"""

from collections.abc import Callable
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_kernels: list["Kernel[Any, Any]"] = []


class Kernel(Generic[P, T]):
    """A function that is compiled once ``compile_all`` was called."""

    def __init__(self, function: Callable[P, T]):
        self.interpreted = function
        self.dispatcher: Any = None  # compiles at its first call
        self._run: Callable[P, T] = function
        _kernels.append(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        return self._run(*args, **kwargs)

    def prepare(self) -> Any:
        """Its dispatcher, over a copy of the source whose kernels are dispatchers too."""
        if self.dispatcher is None:
            from numba import njit  # imported late: it costs half a second and a hundred MiB

            function = self.interpreted
            names = {
                name: value.prepare() for name, value in function.__globals__.items() if name in _names(function)
                and isinstance(value, Kernel)
            }  # fmt: skip
            copy = FunctionType(
                function.__code__, function.__globals__ | names, function.__name__, function.__defaults__
            )
            copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
            self.dispatcher = njit(cache=True, nogil=True)(copy)
        return self.dispatcher


def _names(function: Callable[..., Any]) -> tuple[str, ...]:
    names: tuple[str, ...] = function.__code__.co_names
    return names


def kernel(function: Callable[P, T]) -> Kernel[P, T]:
    """Decorator: make ``function`` a kernel."""
    return Kernel(function)


def compile_all(warm: Callable[[], None]) -> None:
    """Compile every kernel and switch to the compiled forms.

    ``warm`` must call each kernel with arguments of the types that rounds use.
    Its calls run interpreted and only tell those types, so that other threads
    are never made to wait; compiling uses the cache on disk.
    """
    from numba import typeof

    seen: dict[Kernel[Any, Any], set[tuple[Any, ...]]] = {k: set() for k in _kernels}

    def telling(k: Kernel[Any, Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            seen[k].add(tuple(map(typeof, args)))
            return k.interpreted(*args)

        return run

    for k in _kernels:
        k._run = telling(k)
    try:
        warm()
        for k, signatures in seen.items():
            for types in signatures:
                k.prepare().compile(types)
    finally:
        for k in _kernels:
            k._run = k.dispatcher if k.dispatcher is not None and k.dispatcher.signatures else k.interpreted


def compiled() -> dict[str, int]:
    """How many forms of each kernel are compiled in this process; a round that adds one has waited for it."""
    return {k.interpreted.__qualname__: len(k.dispatcher.signatures) if k.dispatcher else 0 for k in _kernels}
