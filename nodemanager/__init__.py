"""The node manager: starts, watches, limits and stops containers on one node. Never listens."""

VERSION = "0.1.0"
