"""Accounts, their tokens, what they used, and the audit log."""
