"""One number for all documents that say the same, however they write it."""

import hashlib
import json
from typing import Any

from controlplane.policy import documents


def digest(document: Any) -> str:
    """Of a document with every default filled in. ``Invalid`` where it has the wrong shape."""
    plain = documents.parse(document).model_dump()
    return hashlib.sha256(json.dumps(plain, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
