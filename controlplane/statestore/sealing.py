"""How secrets are kept: Fernet (AES and HMAC, with several keys at a time), under a key for each owner and name.

A row that is put under another name, or another account, opens no more.
"""

from base64 import urlsafe_b64encode

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class Unreadable(Exception):
    """It was sealed with a key that is not among ``HYDRA_SECRETS_KEYS``, or for another owner or name."""


def _fernet(owner_id: int, name: str) -> MultiFernet:
    """The first key seals, all of them open."""
    info = f"hydra secret {owner_id} {name}".encode()
    derived = (HKDF(SHA256(), 32, None, info).derive(key.encode()) for key in settings.SECRETS_KEYS)
    return MultiFernet([Fernet(urlsafe_b64encode(key)) for key in derived])


def seal(owner_id: int, name: str, value: str) -> str:
    """The value as it may be stored."""
    return _fernet(owner_id, name).encrypt(value.encode()).decode()


def unseal(owner_id: int, name: str, sealed: str) -> str:
    """The value; ``Unreadable``."""
    try:
        return _fernet(owner_id, name).decrypt(sealed).decode()
    except InvalidToken:
        raise Unreadable(name) from None


def reseal(owner_id: int, name: str, sealed: str) -> str:
    """The same value under the first key; ``Unreadable``."""
    try:
        return _fernet(owner_id, name).rotate(sealed).decode()
    except InvalidToken:
        raise Unreadable(name) from None
