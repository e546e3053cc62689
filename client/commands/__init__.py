"""hydractl's commands, by what they are about. Each module offers ``register(app)``."""
