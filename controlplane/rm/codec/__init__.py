"""What nodes and the log say, as bytes: read and written in one pass over many."""
