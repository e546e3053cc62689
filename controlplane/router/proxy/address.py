"""``/proxy/<job>/<endpoint>/[~<ticket>/]<path>``, and ``/proxy/<job>/`` alone, taken apart."""

import re
from dataclasses import dataclass

from controlplane.router.proxy import PREFIX
from controlplane.router.proxy.tickets import MARK

_ADDRESS = re.compile(
    rf"{PREFIX}([1-9]\d{{0,17}})/([a-z0-9.-]{{1,128}})(?:/({MARK}[^/]+))?(/.*)?", re.ASCII | re.DOTALL
)
_JOB = re.compile(rf"{PREFIX}([1-9]\d{{0,17}})/?", re.ASCII)


@dataclass(frozen=True, slots=True)
class Address:
    """``path`` is the application's, as the browser spelt it; "" where not even its first ``/`` was given."""

    job_id: int
    endpoint: str
    ticket: str
    path: str

    @property
    def home(self) -> str:
        """What stands before the application's own paths; its cookies are kept to this."""
        return f"{PREFIX}{self.job_id}/{self.endpoint}"

    @property
    def prefix(self) -> str:
        """The same with the ticket, under which its pages see themselves."""
        return f"{self.home}/{self.ticket}" if self.ticket else self.home


def parse(raw_path: str) -> Address | None:
    """From the path as it was sent, still quoted; None when it is not one of the proxy's."""
    match = _ADDRESS.fullmatch(raw_path)
    return Address(int(match[1]), match[2], match[3] or "", match[4] or "") if match else None


def job_of(raw_path: str) -> int | None:
    """The job, where the path says no more than that."""
    match = _JOB.fullmatch(raw_path)
    return int(match[1]) if match else None
