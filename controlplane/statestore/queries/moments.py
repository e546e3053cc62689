"""Times as addresses spell them."""

import datetime as dt


def read_moment(text: str) -> dt.datetime | None:
    """A time in ISO 8601, UTC where it names no zone; ``None`` when it is none that the StateStore could hold."""
    try:
        # In a query string a plus sign may have become a space.
        found = dt.datetime.fromisoformat(text.strip().replace(" ", "+") if "T" in text else text.strip())
        found = found if found.tzinfo else found.replace(tzinfo=dt.UTC)
        found = found.astimezone(dt.UTC)
    except (ValueError, OverflowError):
        return None
    return found if 1970 <= found.year <= 9000 else None
