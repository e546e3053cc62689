"""What the deployables say to each other: frozen messages, codecs, key names.

Imports nothing of this project and nothing outside the standard library, so
that a node manager stays small and every side reads the same bytes.
"""
