"""Schedules: when they are due, what they start, and how people change them."""
