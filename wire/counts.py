"""Counted things in sentences."""


def counted(number: int, one: str, many: str = "") -> str:
    """``1 job``, ``1,200 jobs``. many: where it is not ``one`` with an s, such as a word with its verb."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"
