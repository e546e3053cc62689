"""A package, so that its clusters end with its last test and do not run on beside all others."""
