"""What a job's attempts used beside what they asked for."""

from contract.base import Answer


class GroupUsage(Answer):
    """Of a group's attempts that have ended, what they used, beside what each asks for now.

    attempts: those that were looked at; measured: of these, those whose peak of memory is known. ``*_vcores_milli``:
    cores that an attempt was busy with on average while it ran, in thousandths; ``p95``: what 95 % did not exceed.
    ``better_*``: a size that would do, null where the one asked for may stay. hint: that size in words, or why none is
    given.
    """

    group: str
    attempts: int
    measured: int
    memory_mib: int  # asked for
    peak_memory_mib: int
    p95_memory_mib: int
    vcores_milli: int  # asked for
    mean_vcores_milli: int
    p95_vcores_milli: int
    better_memory_mib: int | None
    better_vcores_milli: int | None
    hint: str

    @property
    def fits(self) -> bool:
        """Whether no other size is known to be better."""
        return self.better_memory_mib is None and self.better_vcores_milli is None


class JobUsage(Answer):
    """Each group of a job, in its order. ``complete``: whether all attempts that have ended were looked at."""

    results: list[GroupUsage]
    complete: bool
