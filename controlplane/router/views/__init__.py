"""Thin views: read the request, ask a right, call a query or an action, answer with a plain dictionary."""
