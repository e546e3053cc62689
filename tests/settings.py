"""The settings of tests, and of the web processes they fork: the product's, with passwords that are hashed quickly."""

from controlplane.settings import *  # noqa: F403

PASSWORD_HASHERS = ["tests.passwords.QuickHasher"]
