"""The StateStore: Postgres rows with epochs, the only truth.

``models/`` says what is stored and who writes it; ``actions/`` holds the only
writers outside the RM's round (transaction, audit row, event on commit);
``membership`` is who leads and who is alive. Nothing here imports another app.
"""
