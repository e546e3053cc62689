"""Kernels that only kernels call are compiled into their callers, and not by themselves as well.

Numba makes machine code of every function, and once more of all that it calls
within each that calls it. What Python never calls needs the latter only: a third of the compiler's work is left out.
This reaches into numba's own classes, whose version is pinned.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def into_callers(names: Collection[str]) -> Iterator[None]:
    """Meanwhile functions of these qualified names, some of which may become known later, get no machine code."""
    from numba.core import codegen as numbas

    libraries: Any = numbas.JITCodeLibrary
    codegens: Any = numbas.JITCPUCodegen
    optimise, finish = libraries._optimize_final_module, libraries._finalize_final_module
    set_env = codegens.set_env

    def optimise_some(library: Any) -> None:
        if library.name not in names:
            optimise(library)

    def finish_some(library: Any) -> None:
        if library.name not in names:
            finish(library)
            return
        library._finalize_dynamic_globals()
        library._finalized = True

    def set_env_where_there_is_code(codegen: Any, name: str, env: Any) -> None:
        if codegen._engine.get_global_value_address(name):
            set_env(codegen, name, env)

    libraries._optimize_final_module, libraries._finalize_final_module = optimise_some, finish_some
    codegens.set_env = set_env_where_there_is_code
    try:
        yield
    finally:
        libraries._optimize_final_module, libraries._finalize_final_module = optimise, finish
        codegens.set_env = set_env
