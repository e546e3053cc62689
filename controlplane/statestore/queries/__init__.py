"""What screens and programs read, as plain dictionaries in the shapes the API promises.

Reads only. Every function takes the account it reads for where the answer
depends on it, and costs a number of queries that no table's size changes.
"""
