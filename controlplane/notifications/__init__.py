"""Tells people and programs how jobs go: from rows that are to be told to webhooks and mail."""
