"""What the REST API and its users say to each other, as types; said here and nowhere else.

The router answers by it and validates requests with it, the OpenAPI schema and the front end's types are made from it,
the client reads answers with it. It uses ``wire`` for the words that all parts share.
"""
