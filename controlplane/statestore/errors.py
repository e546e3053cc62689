"""How an action refuses: always with what was wrong and what to do about it."""

from contract.problems import FieldError


class Refused(Exception):
    """A change that is not made. ``status`` and ``slug`` are those of the problem document."""

    status = 400
    slug = "refused"
    title = "The request was refused"

    def __init__(self, detail: str, errors: list[FieldError] | None = None, retry_after_s: int = 0) -> None:
        super().__init__(detail)
        self.detail = detail
        self.errors = errors or []
        self.retry_after_s = retry_after_s


class Invalid(Refused):
    status, slug, title = 422, "invalid", "The request has errors"


class NotFound(Refused):
    status, slug, title = 404, "not-found", "There is no such thing, or it is not yours to see"


class Forbidden(Refused):
    status, slug, title = 403, "forbidden", "Your account may not do this"


class Conflict(Refused):
    status, slug, title = 409, "conflict", "The present state does not allow this"


class Gone(Refused):
    status, slug, title = 410, "decommissioned", "It has left the cluster"


class Stale(Refused):
    status, slug, title = 412, "stale", "It has changed since it was read"


class TooMany(Refused):
    status, slug, title = 429, "too-many", "Too much at once"


class TooLarge(Refused):
    status, slug, title = 413, "too-large", "The request is too large"


class Unavailable(Refused):
    status, slug, title = 503, "unavailable", "The control plane cannot do this right now"
