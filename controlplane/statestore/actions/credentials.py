"""Secrets that are stored hashed. They are random and long, so a plain SHA-256 is enough."""

import hashlib
import secrets


def new_secret() -> str:
    """32 random bytes as URL-safe text."""
    return secrets.token_urlsafe(32)


def hashed(secret: str) -> str:
    """SHA-256 in hex, as stored and as Redis takes it for an ACL password."""
    return hashlib.sha256(secret.encode()).hexdigest()
