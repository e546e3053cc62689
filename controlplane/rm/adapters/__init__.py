"""The ports over the real world: the StateStore in Postgres, Redis, the database's clock."""
