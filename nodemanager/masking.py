"""Values of a task's secrets are kept out of what it prints: ``***`` in their place, before anybody keeps it."""

from collections.abc import Iterable, Sequence

MASK = b"***"
LEAST, LONGEST = 6, 2048  # bytes of a line that is looked for: shorter ones are anywhere, and longer ones are data
LINES, BYTES = 64, 16 << 10  # of a container: what a task prints is looked through for each


def sought(values: Iterable[str]) -> list[str]:
    """What is looked for: each line of the values, of very many the longest."""
    lines = {line.strip() for value in values for line in value.splitlines()}
    found, room = list[str](), BYTES
    for line in sorted(lines, key=lambda line: (-len(line), line)):
        size = len(line.encode())
        if LEAST <= size <= min(LONGEST, room) and len(found) < LINES:
            found.append(line)
            room -= size
    return found


class Mask:
    """Of one stream, which comes in pieces that end anywhere."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._sought = [line.encode() for line in lines]
        self.held = b""  # perhaps the beginning of a value, whose rest has not come

    def take(self, data: bytes) -> bytes:
        """What may be kept by now, of this piece and what was held of those before."""
        data = self.held + data
        for value in self._sought:
            data = data.replace(value, MASK)
        begun = max((_begun(data, value) for value in self._sought), default=0)
        keep = len(data) - begun
        self.held = data[keep:]
        return data[:keep]

    def give_up(self) -> bytes:
        """What was held: nothing follows it."""
        held, self.held = self.held, b""
        return held


def _begun(data: bytes, value: bytes) -> int:
    """How many bytes at the end of ``data`` are the beginning of ``value``: the most that it may be."""
    at = data.find(value[:1], max(0, len(data) - len(value) + 1))
    while at >= 0:
        if value.startswith(data[at:]):
            return len(data) - at
        at = data.find(value[:1], at + 1)
    return 0
