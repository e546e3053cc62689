"""Counted things in sentences."""


def counted(number: int, one: str, many: str = "") -> str:
    """``1 job``, ``1,200 jobs``. many: where it is not ``one`` with an s, such as a word with its verb."""
    return f"{number:,} {one if number == 1 else many or f'{one}s'}"


def mean(amount: float) -> str:
    """``3``, ``1,200``, or with a digit more where it is no whole number, as means over several runs are."""
    return f"{amount:,.0f}" if abs(amount - round(amount)) < 0.05 else f"{amount:,.1f}"


def mean_of(amount: float, one: str) -> str:
    """``1 job``, ``2.5 jobs``."""
    said = mean(amount)
    return f"{said} {one if said == '1' else f'{one}s'}"
