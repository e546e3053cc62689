"""What the compiler wants of kernels beyond what Python does."""

import dis

from scheduler.core import compiled
from scheduler.core.compiled import Kernel
from scheduler.warm import warm


def test_no_attribute_that_a_kernel_reads_is_called_as_a_kernel_beside_it():
    """It would be taken for a call of that kernel, by some kernels of themselves."""
    warm()  # imports them all
    wrong = []
    for kernel in compiled._kernels:
        function = kernel.interpreted
        read = {step.argval for step in dis.get_instructions(function) if step.opname == "LOAD_GLOBAL"}
        attributes = set(function.__code__.co_names) - read
        known = function.__globals__
        wrong += [f"{function.__qualname__}: {name}" for name in attributes if isinstance(known.get(name), Kernel)]
    assert compiled._kernels and not wrong
