"""Passwords of accounts that tests make."""

from django.contrib.auth.hashers import PBKDF2PasswordHasher


class QuickHasher(PBKDF2PasswordHasher):
    """The real algorithm with one iteration. Stacks, which are started as users start them, hash at full length."""

    iterations = 1
