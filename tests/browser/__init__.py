"""A package, so that its browser and its stack end with its last test: other tests want an event loop of their own."""
