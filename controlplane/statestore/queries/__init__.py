"""What screens and programs read, as plain dictionaries in the shapes the API promises.

Reads only. Every function takes the account it reads for where the answer
depends on it, and costs a number of queries that no table's size changes.

There is a room for each aggregate, and none knows another. ``drains`` and
``federation`` look across them. Below all: paging, statements, moments, what
looks share, and an account's own part of what runs and waits.
"""
