"""The resources that nodes have and containers ask for, in the order of every vector of amounts."""

AXES = ("memory_mib", "vcores_milli", "gpus")  # MiB; thousandths of a core; whole devices
