"""Kernels: the loops over arrays that Numba compiles.

A kernel is plain source. Until ``compile_all`` has been called in this process
it runs interpreted, slow and right, so that nobody waits for a compiler.
Kernels take arrays, numbers and named tuples of them, and call only kernels.
Compiled forms are kept on disk under a name that tells the sources and
constants they come from, those of the kernels they call included.
"""

from collections.abc import Callable
from hashlib import sha256
from types import FunctionType
from typing import Any, Generic, ParamSpec, TypeVar

import numpy as np

from scheduler.core.linked import into_callers

P = ParamSpec("P")
T = TypeVar("T")

_kernels: list["Kernel[Any, Any]"] = []
_in_callers: set[str] = set()  # qualified names of those that are compiled into their callers only


class Kernel(Generic[P, T]):
    """A function that is compiled once ``compile_all`` was called.

    kernels_only: nothing but kernels calls it. options: further ones of ``numba.njit``.
    """

    def __init__(self, function: Callable[P, T], kernels_only: bool = False, **options: Any):
        self.interpreted = function
        self.kernels_only = kernels_only
        self.options = options
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
            names = {name: value.prepare() for name, value in self._globals() if isinstance(value, Kernel)}
            copy = FunctionType(
                function.__code__, function.__globals__ | names, function.__name__, function.__defaults__
            )
            copy.__module__, copy.__qualname__ = function.__module__, f"{function.__qualname__}-{self.digest()}"
            if self.kernels_only and not self.options.get("cache", True):
                _in_callers.add(copy.__qualname__)
            self.dispatcher = njit(**(self._wrapping() | self.options))(copy)
        return self.dispatcher

    def _wrapping(self) -> dict[str, Any]:
        """What can call it, besides kernels: only Python, and only what is to. Each way takes the compiler time."""
        return {"cache": True, "nogil": True, "no_cfunc_wrapper": True, "no_cpython_wrapper": self.kernels_only}

    def _globals(self) -> list[tuple[str, Any]]:
        """The names it reads, other than builtins, and what they stand for."""
        known = self.interpreted.__globals__
        return [(name, known[name]) for name in self.interpreted.__code__.co_names if name in known]

    def digest(self) -> str:
        """Tells its code, the kernels it calls and the constants it reads."""
        code = self.interpreted.__code__
        said = [code.co_code.hex(), repr(code.co_consts), repr(code.co_names), repr(sorted(self.options.items()))]
        for name, value in self._globals():
            if isinstance(value, Kernel):
                said.append(f"{name}={value.digest()}")
            elif isinstance(value, (int, float, str, tuple, np.generic)):
                said.append(f"{name}={value!r}")
        return sha256("\n".join(said).encode()).hexdigest()[:16]


def kernel(function: Callable[P, T]) -> Kernel[P, T]:
    """Decorator: make ``function`` a kernel."""
    return Kernel(function)


def arrayless(function: Callable[P, T]) -> Kernel[P, T]:
    """Decorator: a kernel that creates no arrays, not even views, so that nothing need be counted."""
    return Kernel(function, _nrt=False)


def inlined(function: Callable[P, T]) -> Kernel[P, T]:
    """Decorator: an array-less kernel that is compiled into each of the kernels that call it."""
    return Kernel(function, kernels_only=True, cache=False, _nrt=False, forceinline=True)


def subroutine(function: Callable[P, T]) -> Kernel[P, T]:
    """Decorator: an array-less kernel for kernels, too large or too seldom called to be compiled into each."""
    return Kernel(function, kernels_only=True, cache=False, _nrt=False)


def contiguous(values: np.ndarray, dtype: type[np.generic]) -> np.ndarray:
    """The array in the one form that kernels are compiled for; copied only if it is not in it."""
    if values.dtype.type is dtype and values.flags.carray and values.dtype.isnative:
        return values  # ``require`` finds that out in thirty times the time
    return np.require(values, dtype, ("C", "A", "W"))


def compile_all(warm: Callable[[], object]) -> None:
    """Compile every kernel and switch to the compiled forms.

    ``warm`` must call each kernel with arguments of the types that rounds use.
    Its calls run interpreted and only tell those types, so that other threads
    are never made to wait; compiling uses the cache on disk.
    """
    from numba import typeof

    warm()  # once for nothing: what it imports tells of its kernels
    called = [k for k in _kernels if not k.kernels_only]
    seen: dict[Kernel[Any, Any], set[tuple[Any, ...]]] = {k: set() for k in called}

    def recording(k: Kernel[Any, Any]) -> Callable[..., Any]:
        def run(*args: Any) -> Any:
            seen[k].add(tuple(map(typeof, args)))
            return k.interpreted(*args)

        return run

    for k in called:
        k._run = recording(k)
    try:
        warm()
        with into_callers(_in_callers):
            for k, signatures in seen.items():
                for types in signatures:
                    k.prepare().compile(types)
    finally:
        for k in called:
            k._run = k.dispatcher if k.dispatcher is not None and k.dispatcher.signatures else k.interpreted


def compiled() -> dict[str, int]:
    """How many forms of each kernel are compiled in this process; a round that adds one has waited for it."""
    return {
        k.interpreted.__qualname__: len(k.dispatcher.signatures) if k.dispatcher else 0
        for k in _kernels
        if not k.kernels_only
    }


def interpret() -> None:
    """Run the interpreted forms again, as before ``compile_all``."""
    for k in _kernels:
        k._run = k.interpreted
